/* Columns become records: write/encode.py says what is made, and does the same in NumPy.

   The numbers of the caller are checked before they are used: no byte outside the given buffers is touched.
*/

#include "../_python.h"

#include <stdint.h>
#include <string.h>

#define WORTH_RELEASING (1 << 15) /* bytes to write */
#define MOST_LEVELS 8
#define MOST_PREFIX 96

/* One slot of all records. */
typedef struct {
    Py_buffer data, edges, sequences, start, tail; /* edges and sequences may be missing */
    Py_buffer levels[MOST_LEVELS];
    Py_ssize_t row_size, height; /* the height of every record where there are no edges */
    Py_ssize_t count;            /* of levels */
    int single;                  /* each record is one sequence of its level */
    int64_t rows;                /* in the data */
    int64_t size;                /* of every tensor, or 0 */
    uint8_t prefix[MOST_PREFIX]; /* of every tensor that has a size */
    size_t prefix_size;
} Column;

static inline void put32(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
}

static inline void put64(uint8_t *at, uint64_t value) {
    put32(at, (uint32_t)value);
    put32(at + 4, (uint32_t)(value >> 32));
}

/* memcpy, quicker for the few bytes that numbers and prefixes have. */
static inline uint8_t *put_bytes(uint8_t *at, const uint8_t *from, size_t size) {
    if (size >= 8 && size <= 32) {
        for (size_t i = 0; i + 8 <= size; i += 8)
            memcpy(at + i, from + i, 8);
        memcpy(at + size - 8, from + size - 8, 8);
    } else if (size < 8) {
        for (size_t i = 0; i < size; i++)
            at[i] = from[i];
    } else {
        memcpy(at, from, size);
    }
    return at + size;
}

static inline size_t varint_size(uint64_t value) {
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static void release(Py_buffer *view) {
    if (view->obj != NULL)
        PyBuffer_Release(view);
}

/* Get a list of int64; a missing one stays empty. */
static int get_numbers(PyObject *object, Py_buffer *view) {
    if (object == Py_None)
        return 1;
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS) < 0)
        return 0;
    if (view->itemsize != 8 || view->len < 8) {
        PyErr_SetString(PyExc_ValueError, "edges must be numbers of 8 bytes");
        return 0;
    }
    return 1;
}

static int get_column(PyObject *given, Column *column, Py_ssize_t records) {
    PyObject *edges, *sequences, *levels;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a column is a tuple");
        return 0;
    }
    if (!PyArg_ParseTuple(given, "y*nnOOO!y*y*", &column->data, &column->row_size, &column->height, &edges, &sequences,
                          &PyTuple_Type, &levels, &column->start, &column->tail))
        return 0;
    column->count = PyTuple_Size(levels);
    int fits = column->row_size >= 0 && column->height >= 0 && column->count <= MOST_LEVELS;
    column->single = column->count == 1 && sequences == Py_None;
    fits = fits && (column->count == 0 || column->single || sequences != Py_None);
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "a column that cannot be");
    if (!fits || !get_numbers(edges, &column->edges) || !get_numbers(sequences, &column->sequences))
        return 0;
    for (Py_ssize_t i = 0; i < column->count; i++)
        if (!get_numbers(PyTuple_GetItem(levels, i), &column->levels[i]))
            return 0;
    const Py_buffer *lists[] = {&column->edges, &column->sequences};
    for (int i = 0; i < 2; i++)
        fits = fits && (lists[i]->obj == NULL || lists[i]->len / 8 - 1 == records);
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "edges are one more than records");
    return fits;
}

/* Whether the data hold the rows of all records, where those have one height. */
static int has_all(Column *column, Py_ssize_t records) {
    column->rows = column->row_size ? column->data.len / column->row_size : INT64_MAX / 2;
    if (column->edges.obj != NULL || !column->height || records <= column->rows / column->height)
        return 1;
    PyErr_SetString(PyExc_ValueError, "the data have less rows than the records");
    return 0;
}

static void free_columns(Column *columns, Py_ssize_t count) {
    for (Py_ssize_t i = 0; columns != NULL && i < count; i++) {
        Column *column = &columns[i];
        Py_buffer *views[] = {&column->data, &column->edges, &column->sequences, &column->start, &column->tail};
        for (size_t j = 0; j < sizeof views / sizeof *views; j++)
            release(views[j]);
        for (int j = 0; j < MOST_LEVELS; j++)
            release(&column->levels[j]);
    }
    PyMem_Free(columns);
}

/* The rows of a record: 0 when they are not in the data. */
static inline int rows_of(const Column *column, Py_ssize_t record, int64_t *first, int64_t *last) {
    if (column->edges.obj != NULL) {
        const int64_t *edges = column->edges.buf;
        *first = edges[record];
        *last = edges[record + 1];
        return *first >= 0 && *first <= *last && *last <= column->rows;
    }
    *first = record * column->height;
    *last = *first + column->height;
    return 1; /* get_column looked */
}

/* The sequences first..last of a level: 0 when the level has not so many. */
static inline int is_inside(const Py_buffer *level, int64_t first, int64_t last) {
    return first >= 0 && first <= last && last < level->len / 8;
}

/* The size of one tensor, -1 when the numbers cannot be. */
static inline int64_t tensor_size(const Column *column, Py_ssize_t record) {
    int64_t first, last, size = 20;
    if (column->size)
        return column->size;
    if (!rows_of(column, record, &first, &last))
        return -1;
    size += column->start.len + (int64_t)varint_size((uint64_t)(last - first)) + column->tail.len;
    size += (last - first) * column->row_size;
    if (column->count) {
        const int64_t *sequences = column->sequences.buf;
        int64_t low = column->single ? record : sequences[record];
        int64_t high = column->single ? record + 1 : sequences[record + 1];
        for (Py_ssize_t i = 0; i < column->count; i++) {
            const int64_t *level = column->levels[i].buf;
            if (!is_inside(&column->levels[i], low, high))
                return -1;
            size += 8 + 8 * (high - low + 1);
            low = level[low];
            high = level[high];
        }
    }
    return size;
}

static int64_t record_size(const Column *columns, Py_ssize_t count, Py_ssize_t record) {
    int64_t size = 4;
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t more = tensor_size(&columns[i], record);
        if (more < 0)
            return -1;
        size += more;
    }
    return size;
}

/* Write a tensor whose size was taken before. */
static inline uint8_t *put_tensor(uint8_t *at, const Column *column, Py_ssize_t record) {
    int64_t first = 0, last = 0;
    rows_of(column, record, &first, &last);
    const uint8_t *data = (const uint8_t *)column->data.buf + first * column->row_size;
    size_t size = (size_t)((last - first) * column->row_size);
    if (column->size)
        return put_bytes(put_bytes(at, column->prefix, column->prefix_size), data, size);
    put32(at, 0);
    put64(at + 4, (uint64_t)column->count);
    at += 12;
    if (column->count) {
        const int64_t *sequences = column->sequences.buf;
        int64_t low = column->single ? record : sequences[record];
        int64_t high = column->single ? record + 1 : sequences[record + 1];
        for (Py_ssize_t i = 0; i < column->count; i++) {
            const int64_t *level = column->levels[i].buf;
            put64(at, 8 * (uint64_t)(high - low + 1));
            at += 8;
            for (int64_t j = low; j <= high; j++, at += 8)
                put64(at, (uint64_t)level[j] - (uint64_t)level[low]);
            int64_t next = level[low];
            high = level[high];
            low = next;
        }
    }
    put32(at, 0);
    uint8_t *desc = at + 8;
    uint8_t *end = put_bytes(desc, column->start.buf, (size_t)column->start.len);
    end = put_bytes(put_varint(end, (uint64_t)(last - first)), column->tail.buf, (size_t)column->tail.len);
    put32(at + 4, (uint32_t)(end - desc));
    return put_bytes(end, data, size);
}

/* Make the bytes before the data, where they are the same in all records. */
static void set_prefix(Column *column) {
    if (column->edges.obj != NULL || column->count || 30 + column->start.len + column->tail.len > MOST_PREFIX)
        return;
    Column empty = *column;
    empty.row_size = 0;
    column->prefix_size = (size_t)(put_tensor(column->prefix, &empty, 0) - column->prefix);
    column->size = (int64_t)column->prefix_size + column->height * column->row_size;
}

static Column *get_columns(PyObject *given, Py_ssize_t records) {
    Py_ssize_t count = PyTuple_Size(given);
    Column *columns = PyMem_Calloc((size_t)count + 1, sizeof *columns);
    if (columns == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!get_column(PyTuple_GetItem(given, i), &columns[i], records) || !has_all(&columns[i], records)) {
            free_columns(columns, count);
            return NULL;
        }
        set_prefix(&columns[i]);
    }
    return columns;
}

static PyObject *impossible(void) {
    PyErr_SetString(PyExc_ValueError, "edges do not fit the data");
    return NULL;
}

/* sizes(records, columns, sizes): sizes[i] becomes the length of record i. */
static PyObject *sizes(PyObject *module, PyObject *args) {
    PyObject *given;
    Py_buffer found;
    Py_ssize_t records, index = 0;
    if (!PyArg_ParseTuple(args, "nO!w*", &records, &PyTuple_Type, &given, &found))
        return NULL;
    Column *columns = get_columns(given, records);
    Py_ssize_t count = PyTuple_Size(given);
    int fits = found.itemsize == 8 && records >= 0 && found.len / 8 == records;
    if (columns != NULL && fits) {
        int64_t *size = found.buf;
        while (index < records && (size[index] = record_size(columns, count, index)) >= 0)
            index++;
    }
    if (columns != NULL && (!fits || index < records))
        impossible();
    free_columns(columns, count);
    PyBuffer_Release(&found);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static int encode_all(const Column *columns, Py_ssize_t count, Py_ssize_t records, const Py_buffer *target) {
    uint8_t *at = target->buf, *end = at + target->len;
    for (Py_ssize_t record = 0; record < records; record++) {
        int64_t size = record_size(columns, count, record);
        if (size < 0 || size > UINT32_MAX || size + 4 > end - at)
            return 0;
        put32(at, (uint32_t)size);
        put32(at + 4, (uint32_t)count);
        at += 8;
        for (Py_ssize_t i = 0; i < count; i++)
            at = put_tensor(at, &columns[i], record);
    }
    return at == end;
}

/* encode(records, columns, target): the records, each behind its length, fill the target. */
static PyObject *encode(PyObject *module, PyObject *args) {
    PyObject *given;
    Py_buffer target;
    Py_ssize_t records;
    if (!PyArg_ParseTuple(args, "nO!w*", &records, &PyTuple_Type, &given, &target))
        return NULL;
    Column *columns = get_columns(given, records);
    Py_ssize_t count = PyTuple_Size(given);
    if (columns != NULL) {
        PyThreadState *state = target.len >= WORTH_RELEASING ? PyEval_SaveThread() : NULL;
        int done = encode_all(columns, count, records, &target);
        if (state != NULL)
            PyEval_RestoreThread(state);
        if (!done)
            impossible();
    }
    free_columns(columns, count);
    PyBuffer_Release(&target);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"sizes", sizes, METH_VARARGS, NULL}, {"encode", encode, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_records", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__records(void) { return PyModuleDef_Init(&definition); }
