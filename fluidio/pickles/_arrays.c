/* Read the pickles that hold nothing but arrays of numbers, numbers, text and plain containers, as picklers of Python 3
   write them: quick.py says how it is used.

   The opcodes were scanned before, so lengths, depth and memo are sound; they are checked again where memory depends on
   them. No name is looked up and nothing is called that the pickle chooses: five names are known, and what becomes of
   them is made from codes and lengths that are checked here. Whatever else a pickle asks for, and whatever is wrong with
   it, is left to the stand-ins: `give up` is always right.
*/

#include "../_python.h"

#include <stdint.h>
#include <string.h>

#define MOST_MEMO 65536
#define MOST_MAKINGS 65536
#define MOST_VALUES (1 << 20) /* on the stack */
#define MOST_ARGUMENTS 9
#define MOST_DIMS 32

/* What a value is: a Python object; a name; something that is being made, whose `number` says where it is. */
enum { OBJECT, MARK, NAME, DTYPE, ARRAY, ARGUMENTS };
enum { RECONSTRUCT, NDARRAY, DTYPE_TYPE, FROM_BUFFER, ENCODE, NAMES };

typedef struct {
    PyObject *object; /* owned */
    uint32_t kind, number;
} Value;

typedef struct {
    PyObject *code, *real; /* of a dtype: its code, and the entry of the table once it is complete; of an array: real */
    uint32_t count;
    Value arguments[MOST_ARGUMENTS];
} Making;

typedef struct {
    const uint8_t *at, *end;
    Value *stack, *memo;
    size_t depth, stack_room, memo_count, memo_room;
    Making *makings;
    size_t making_count, making_room;
    PyObject *dtypes, *ndarray; /* {(code, order): (dtype, size of an item, whether it is native)} and the type */
    PyObject *zero, *c, *fortran, *copy, *keep; /* 0, "C", "F", "copy", "K" */
    int64_t budget;                             /* of bytes that may be copied */
} Machine;

static void *grown(void *items, size_t *room, size_t count, size_t size) {
    if (count < *room)
        return items;
    size_t more = *room ? 2 * *room : 32;
    void *found = more <= PY_SSIZE_T_MAX / size ? PyMem_Realloc(items, more * size) : NULL;
    if (found != NULL)
        *room = more;
    return found;
}

/* ---- the stack: each returns 0 to give up; references are taken over ---------------------------------------------- */

static int push(Machine *m, PyObject *object, uint32_t kind, uint32_t number) {
    int fits = (kind != OBJECT || object != NULL) && m->depth < MOST_VALUES;
    Value *stack = fits ? grown(m->stack, &m->stack_room, m->depth, sizeof *stack) : NULL;
    if (stack == NULL) {
        Py_XDECREF(object);
        return 0;
    }
    m->stack = stack;
    m->stack[m->depth++] = (Value){object, kind, number};
    return 1;
}

static int push_object(Machine *m, PyObject *object) { return push(m, object, OBJECT, 0); }

/* The Python object of a value, borrowed; NULL for what is no plain value, or not yet. */
static PyObject *plain(const Machine *m, const Value *value) {
    if (value->kind == OBJECT)
        return value->object;
    return value->kind == ARRAY ? m->makings[value->number].real : NULL;
}

static void drop(Machine *m, size_t depth) {
    while (m->depth > depth)
        Py_XDECREF(m->stack[--m->depth].object);
}

/* Where the items behind the last mark begin; 0 when there is none. */
static size_t marked(const Machine *m) {
    size_t at = m->depth;
    while (at && m->stack[at - 1].kind != MARK)
        at--;
    return at;
}

static Making *make(Machine *m) {
    int fits = m->making_count < MOST_MAKINGS;
    Making *makings = fits ? grown(m->makings, &m->making_room, m->making_count, sizeof *makings) : NULL;
    if (makings == NULL)
        return NULL;
    m->makings = makings;
    return memset(&m->makings[m->making_count++], 0, sizeof(Making));
}

/* ---- containers --------------------------------------------------------------------------------------------------- */

/* The values from `first` on become a tuple, or arguments where one of them is no plain value. */
static int make_tuple(Machine *m, size_t first, size_t bottom) {
    size_t count = m->depth - first;
    int all = 1;
    for (size_t i = first; i < m->depth; i++) {
        all = all && plain(m, &m->stack[i]) != NULL;
        if (m->stack[i].kind == MARK || m->stack[i].kind == ARGUMENTS)
            return 0;
    }
    if (!all) {
        Making *making = count <= MOST_ARGUMENTS ? make(m) : NULL;
        if (making == NULL)
            return 0;
        making->count = (uint32_t)count;
        memcpy(making->arguments, &m->stack[first], count * sizeof(Value));
        m->depth = first; /* the arguments own them now */
        drop(m, bottom);
        return push(m, NULL, ARGUMENTS, (uint32_t)m->making_count - 1);
    }
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple != NULL && i < count; i++)
        PyTuple_SetItem(tuple, (Py_ssize_t)i, Py_NewRef(plain(m, &m->stack[first + i])));
    drop(m, bottom);
    return push_object(m, tuple);
}

static int append_items(Machine *m, size_t first, size_t bottom) {
    PyObject *list = bottom ? plain(m, &m->stack[bottom - 1]) : NULL;
    if (list == NULL || Py_TYPE(list) != &PyList_Type)
        return 0;
    for (size_t i = first; i < m->depth; i++) {
        PyObject *item = plain(m, &m->stack[i]);
        if (item == NULL || PyList_Append(list, item) < 0)
            return 0;
    }
    drop(m, bottom);
    return 1;
}

static int set_items(Machine *m, size_t first, size_t bottom) {
    PyObject *dict = bottom ? plain(m, &m->stack[bottom - 1]) : NULL;
    if (dict == NULL || Py_TYPE(dict) != &PyDict_Type || (m->depth - first) % 2)
        return 0;
    for (size_t i = first; i < m->depth; i += 2) {
        PyObject *key = plain(m, &m->stack[i]), *item = plain(m, &m->stack[i + 1]);
        if (key == NULL || item == NULL || (Py_TYPE(key) != &PyUnicode_Type && Py_TYPE(key) != &PyLong_Type))
            return 0;
        if (PyDict_SetItem(dict, key, item) < 0)
            return 0;
    }
    drop(m, bottom);
    return 1;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

/* Whether `raw` has the bytes of an array of this shape and dtype. */
static int is_sound(Machine *m, PyObject *shape, PyObject *entry, PyObject *raw) {
    int is_bytes = Py_TYPE(raw) == &PyBytes_Type;
    if (Py_TYPE(shape) != &PyTuple_Type || (!is_bytes && Py_TYPE(raw) != &PyByteArray_Type))
        return 0;
    Py_ssize_t dims = PyTuple_Size(shape), size = is_bytes ? PyBytes_Size(raw) : PyByteArray_Size(raw);
    long long wanted = PyLong_AsLongLong(PyTuple_GetItem(entry, 1));
    if (dims > MOST_DIMS || wanted <= 0)
        return 0;
    for (Py_ssize_t i = 0; i < dims; i++) {
        PyObject *dim = PyTuple_GetItem(shape, i);
        int overflow = 0;
        long long number = Py_TYPE(dim) == &PyLong_Type ? PyLong_AsLongLongAndOverflow(dim, &overflow) : 0;
        if (overflow || number <= 0 || number > size || wanted > size / number)
            return 0;
        wanted *= number;
    }
    m->budget -= size;
    return wanted == size && m->budget >= 0;
}

/* The arguments of a value, where it has just so many. */
static Value *arguments_of(const Machine *m, const Value *value, uint32_t least, uint32_t most) {
    if (value->kind != ARGUMENTS)
        return NULL;
    Making *making = &m->makings[value->number];
    return making->count >= least && making->count <= most ? making->arguments : NULL;
}

static PyObject *complete_dtype(const Machine *m, const Value *value) {
    return value->kind == DTYPE ? m->makings[value->number].real : NULL;
}

static PyObject *ndarray_of(const Machine *m, PyObject *shape, PyObject *entry, PyObject *raw, PyObject *order) {
    return PyObject_CallFunctionObjArgs(m->ndarray, shape, PyTuple_GetItem(entry, 0), raw, m->zero, Py_None, order,
                                        NULL);
}

static PyObject *from_buffer(Machine *m, const Value *given) {
    Value *args = arguments_of(m, given, 4, 5);
    PyObject *entry = args == NULL ? NULL : complete_dtype(m, &args[1]);
    if (entry == NULL || args[0].kind != OBJECT || args[2].kind != OBJECT || args[3].kind != OBJECT)
        return NULL;
    PyObject *raw = args[0].object, *shape = args[2].object, *order = args[3].object;
    if (m->makings[given->number].count == 5 && args[4].object != Py_None)
        return NULL;
    if (Py_TYPE(order) != &PyUnicode_Type || PyUnicode_GetLength(order) != 1)
        return NULL;
    Py_UCS4 letter = PyUnicode_ReadChar(order, 0);
    if ((letter != 'C' && letter != 'F') || !is_sound(m, shape, entry, raw))
        return NULL;
    return ndarray_of(m, shape, entry, raw, order);
}

static PyObject *from_state(Machine *m, const Value *given) {
    Value *args = arguments_of(m, given, 5, 5);
    PyObject *entry = args == NULL ? NULL : complete_dtype(m, &args[2]);
    for (int i = 0; entry != NULL && i < 5; i++)
        if (i != 2 && args[i].kind != OBJECT)
            return NULL;
    if (entry == NULL)
        return NULL;
    PyObject *shape = args[1].object, *fortran = args[3].object, *raw = args[4].object;
    if ((fortran != Py_True && fortran != Py_False) || !is_sound(m, shape, entry, raw))
        return NULL;
    if (PyTuple_GetItem(entry, 2) == Py_True) {
        PyObject *order = fortran == Py_True ? m->fortran : m->c;
        PyObject *view = ndarray_of(m, shape, entry, raw, order);
        PyObject *copied = view == NULL ? NULL : PyObject_CallMethodObjArgs(view, m->copy, m->keep, NULL);
        Py_XDECREF(view);
        return copied;
    }
    PyObject *array = PyObject_CallFunction(m->ndarray, "is", 0, "i1"); /* whose state NumPy makes native */
    if (array == NULL)
        return NULL;
    PyObject *done = PyObject_CallMethod(array, "__setstate__", "((iOOOO))", 1, shape, PyTuple_GetItem(entry, 0), fortran,
                                         raw);
    if (done == NULL)
        Py_CLEAR(array);
    Py_XDECREF(done);
    return array;
}

static int reduce(Machine *m) {
    if (m->depth < 2)
        return 0;
    Value *name = &m->stack[m->depth - 2], *given = name + 1;
    size_t bottom = m->depth - 2;
    if (name->kind != NAME)
        return 0;
    if (name->number == RECONSTRUCT) {
        Value *args = arguments_of(m, given, 3, 3);
        int sound = args != NULL && args[0].kind == NAME && args[0].number == NDARRAY;
        if (!sound || args[1].kind != OBJECT || args[2].kind != OBJECT || make(m) == NULL)
            return 0;
        drop(m, bottom);
        return push(m, NULL, ARRAY, (uint32_t)m->making_count - 1);
    }
    if (name->number == FROM_BUFFER) {
        PyObject *array = from_buffer(m, given);
        drop(m, bottom);
        return push_object(m, array);
    }
    if (given->kind != OBJECT || Py_TYPE(given->object) != &PyTuple_Type)
        return 0;
    Py_ssize_t count = PyTuple_Size(given->object);
    PyObject *first = count ? PyTuple_GetItem(given->object, 0) : NULL;
    if (first == NULL || Py_TYPE(first) != &PyUnicode_Type)
        return 0;
    if (name->number == ENCODE) {
        PyObject *codec = count == 2 ? PyTuple_GetItem(given->object, 1) : NULL;
        m->budget -= PyUnicode_GetLength(first);
        if (codec == NULL || Py_TYPE(codec) != &PyUnicode_Type || m->budget < 0 ||
            PyUnicode_CompareWithASCIIString(codec, "latin1") != 0)
            return 0;
        PyObject *bytes = PyUnicode_AsLatin1String(first);
        drop(m, bottom);
        return push_object(m, bytes);
    }
    Making *making = name->number == DTYPE_TYPE ? make(m) : NULL;
    if (making == NULL)
        return 0;
    making->code = Py_NewRef(first);
    drop(m, bottom);
    return push(m, NULL, DTYPE, (uint32_t)m->making_count - 1);
}

static int build(Machine *m) {
    if (m->depth < 2)
        return 0;
    Value *value = &m->stack[m->depth - 2], *state = value + 1;
    if ((value->kind != ARRAY && value->kind != DTYPE) || m->makings[value->number].real != NULL)
        return 0;
    PyObject *real = NULL;
    if (value->kind == ARRAY) {
        real = from_state(m, state);
    } else if (state->kind == OBJECT && Py_TYPE(state->object) == &PyTuple_Type && PyTuple_Size(state->object) >= 7) {
        for (int i = 2; i < 5; i++)
            if (PyTuple_GetItem(state->object, i) != Py_None)
                return 0;
        if (Py_TYPE(PyTuple_GetItem(state->object, 1)) != &PyUnicode_Type || PyTuple_Size(state->object) > 8)
            return 0;
        PyObject *key = PyTuple_Pack(2, m->makings[value->number].code, PyTuple_GetItem(state->object, 1));
        real = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(m->dtypes, key));
        Py_XDECREF(key);
    }
    m->makings[value->number].real = real;
    drop(m, m->depth - 1);
    return real != NULL;
}

#include "_opcodes.h"

static void clear_values(Value *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        Py_XDECREF(values[i].object);
}

/* read(data, dtypes, ndarray, (0, "C", "F", "copy", "K")) -> (value,), or None to give up */
static PyObject *read_plain(PyObject *module, PyObject *args) {
    Py_buffer data;
    Machine m = {0};
    if (!PyArg_ParseTuple(args, "y*O!O(OOOOO)", &data, &PyDict_Type, &m.dtypes, &m.ndarray, &m.zero, &m.c, &m.fortran,
                          &m.copy, &m.keep))
        return NULL;
    m.at = data.buf;
    m.end = m.at + data.len;
    m.budget = 3 * (int64_t)data.len + 64;
    PyObject *value = run(&m), *found = value == NULL ? NULL : PyTuple_Pack(1, value);
    Py_XDECREF(value);
    clear_values(m.stack, m.depth);
    clear_values(m.memo, m.memo_count);
    for (size_t i = 0; i < m.making_count; i++) {
        Py_XDECREF(m.makings[i].code);
        Py_XDECREF(m.makings[i].real);
        clear_values(m.makings[i].arguments, m.makings[i].count);
    }
    PyMem_Free(m.stack);
    PyMem_Free(m.memo);
    PyMem_Free(m.makings);
    PyBuffer_Release(&data);
    PyErr_Clear(); /* the stand-ins will say what is wrong */
    return found != NULL ? found : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {{"read", read_plain, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_arrays", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__arrays(void) { return PyModuleDef_Init(&definition); }
