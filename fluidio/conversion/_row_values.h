/* The values of one slot of rows, in memory that grows. Included by _row_records.h alone.

   `put` takes a value of exactly the expected type that fits. Whatever else it sees is ODD, and its beginning may have
   been taken: `cut` takes it back.
*/

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { ERROR = -1, ODD = 0, DONE = 1 };

/* A bytearray that grows; `data` is its memory. */
typedef struct {
    PyObject *array;
    char *data;
    Py_ssize_t size, room;
} Bytes;

static int make_room(Bytes *bytes, Py_ssize_t more) {
    if (more > PY_SSIZE_T_MAX / 2 - bytes->size) {
        PyErr_NoMemory();
        return ERROR;
    }
    Py_ssize_t room = bytes->room < 1024 ? 1024 : bytes->room;
    while (room < bytes->size + more)
        room += room / 2;
    if (bytes->array == NULL) {
        bytes->array = PyByteArray_FromStringAndSize(NULL, room);
        if (bytes->array == NULL)
            return ERROR;
    } else if (PyByteArray_Resize(bytes->array, room) < 0) {
        return ERROR;
    }
    bytes->data = PyByteArray_AsString(bytes->array);
    bytes->room = room;
    return DONE;
}

static inline int append(Bytes *bytes, const void *from, Py_ssize_t size) {
    if ((bytes->array == NULL || size > bytes->room - bytes->size) && make_room(bytes, size) < 0)
        return ERROR;
    if (size)
        memcpy(bytes->data + bytes->size, from, (size_t)size);
    bytes->size += size;
    return DONE;
}

static inline int append_number(Bytes *bytes, int64_t number) { return append(bytes, &number, sizeof number); }

/* Give the bytearray away, and begin another when there is more. */
static PyObject *give(Bytes *bytes) {
    if (bytes->array == NULL && make_room(bytes, 0) < 0)
        return NULL;
    if (PyByteArray_Resize(bytes->array, bytes->size) < 0)
        return NULL;
    PyObject *array = bytes->array;
    bytes->array = NULL;
    bytes->data = NULL;
    bytes->size = 0;
    return array; /* `room` stays: the next one will be about as large */
}

typedef struct {
    PyObject *name, *otherwise;
    PyObject *exact[2];  /* the types of arrays that are taken as they are */
    Py_buffer like;      /* an array of the expected type and shape, or nothing */
    char element;        /* b h i q B f d ? as in module struct; s str, y bytes, 0 none of them */
    int depth;           /* 0 one value, 1 a list of them (or a text), 2 a list of lists (or of texts) */
    Py_ssize_t item;     /* the bytes of an item of a list */
    Py_ssize_t fixed;    /* the bytes of a record of depth 0 */
    Py_ssize_t counted;  /* what a record of depth 0 counts towards the limit */
    Bytes data, outer, inner; /* values; where each record ends, in items or lists; where each list ends, in items */
    Bytes *to;                /* where values go: `data`, or the records, see _row_records.h */
    Py_ssize_t data_mark, inner_mark; /* where the value of the current row began */
    uint8_t *head;                    /* what stands before the values in a record; nothing if they go to columns */
    Py_ssize_t tail, tail_size;       /* where its part behind the number of rows begins */
    Py_ssize_t digits;                /* of that number, in the last row */
} Slot;

static int put_whole(Slot *slot, PyObject *value) {
    int overflow = 0;
    if (Py_TYPE(value) != &PyLong_Type)
        return ODD;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || (number == -1 && PyErr_Occurred()))
        return PyErr_Occurred() ? ERROR : ODD;
    switch (slot->element) {
    case 'q':
        return append_number(slot->to, number);
    case 'i': {
        int32_t narrow = (int32_t)number;
        return narrow == number ? append(slot->to, &narrow, 4) : ODD;
    }
    case 'h': {
        int16_t narrow = (int16_t)number;
        return narrow == number ? append(slot->to, &narrow, 2) : ODD;
    }
    case 'b': {
        int8_t narrow = (int8_t)number;
        return narrow == number ? append(slot->to, &narrow, 1) : ODD;
    }
    default: {
        uint8_t narrow = (uint8_t)number;
        return narrow == number ? append(slot->to, &narrow, 1) : ODD;
    }
    }
}

static int put_number(Slot *slot, PyObject *value) {
    if (slot->element == '?') {
        uint8_t truth = value == Py_True;
        return truth || value == Py_False ? append(slot->to, &truth, 1) : ODD;
    }
    if (slot->element != 'd' && slot->element != 'f')
        return put_whole(slot, value);
    if (Py_TYPE(value) != &PyFloat_Type)
        return ODD;
    double wide = PyFloat_AsDouble(value);
    if (slot->element == 'd')
        return append(slot->to, &wide, 8);
    float narrow = (float)wide;
    return isinf(narrow) && !isinf(wide) ? ODD : append(slot->to, &narrow, 4);
}

static int put_text(Slot *slot, PyObject *value) {
    Py_ssize_t size;
    if (slot->element == 's') {
        if (Py_TYPE(value) != &PyUnicode_Type)
            return ODD;
        const char *text = PyUnicode_AsUTF8AndSize(value, &size);
        if (text == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeError))
                return ERROR;
            PyErr_Clear();
            return ODD;
        }
        return append(slot->to, text, size);
    }
    if (Py_TYPE(value) != &PyBytes_Type)
        return ODD;
    char *text;
    if (PyBytes_AsStringAndSize(value, &text, &size) < 0)
        return ERROR;
    return append(slot->to, text, size);
}

/* An array of the type and shape of `like`; for lists any number of rows of that shape. */
static int put_array(Slot *slot, PyObject *value) {
    const Py_buffer *like = &slot->like;
    if (like->obj == NULL || ((PyObject *)Py_TYPE(value) != slot->exact[0] && (PyObject *)Py_TYPE(value) != slot->exact[1]))
        return ODD;
    Py_buffer view;
    if (PyObject_GetBuffer(value, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
        PyErr_Clear(); /* not contiguous, or of a type that has no buffers */
        return ODD;
    }
    int first = slot->depth ? 1 : 0;
    int numbers = like->ndim == first + 1 && like->shape[first] == 1 && view.ndim == first; /* no dim of one */
    int alike = view.itemsize == like->itemsize && view.format != NULL && strcmp(view.format, like->format) == 0;
    alike = alike && (numbers || view.ndim == like->ndim);
    for (int i = first; alike && !numbers && i < view.ndim; i++)
        alike = view.shape[i] == like->shape[i];
    int done = alike && (slot->depth || view.len == slot->fixed) ? append(slot->to, view.buf, view.len) : ODD;
    PyBuffer_Release(&view);
    return done;
}

static int put_list(Slot *slot, PyObject *value, int depth);

/* One item of a list, or the whole value. */
static inline int put(Slot *slot, PyObject *value, int depth) {
    switch (slot->element) {
    case 0:
        return ODD;
    case 's':
    case 'y':
        return depth > 1 ? put_list(slot, value, depth) : put_text(slot, value);
    default:
        return depth ? put_list(slot, value, depth) : put_number(slot, value);
    }
}

/* The item of a list or tuple, as a new reference: whatever runs meanwhile may change the list. */
static PyObject *item_of(PyObject *list, int is_list, Py_ssize_t index) {
#ifdef Py_GIL_DISABLED
    if (is_list)
        return PyList_GetItemRef(list, index);
#endif
    PyObject *item = is_list ? PyList_GetItem(list, index) : PyTuple_GetItem(list, index);
    Py_XINCREF(item);
    return item;
}

static int put_list(Slot *slot, PyObject *value, int depth) {
    int is_list = Py_TYPE(value) == &PyList_Type;
    if (!is_list && Py_TYPE(value) != &PyTuple_Type)
        return ODD;
    Py_ssize_t count = is_list ? PyList_Size(value) : PyTuple_Size(value);
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *item = item_of(value, is_list, index);
        if (item == NULL)
            return ERROR;
        int done = put(slot, item, depth - 1);
        Py_DECREF(item);
        if (done == DONE && depth == 2)
            done = append_number(&slot->inner, slot->to->size / slot->item);
        if (done != DONE)
            return done;
    }
    return DONE;
}

/* Remember where a value begins, to take it back if it does not end well. */
static inline void mark(Slot *slot) {
    slot->data_mark = slot->to->size;
    slot->inner_mark = slot->inner.size;
}

static inline void cut(Slot *slot) {
    slot->to->size = slot->data_mark;
    slot->inner.size = slot->inner_mark;
}
