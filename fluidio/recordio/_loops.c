/* The loops over records that NumPy has no operation for: loops.py says what each of them does.

   Everything that is read from a file is checked before it is used: no byte outside the given buffers is touched,
   whatever the numbers say. The interpreter lock is released where the work is worth it.
*/

#include "../_python.h"

#include "_prefix.h"

#define WORTH_RELEASING (1 << 15) /* bytes to go through */
#define MANY_RECORDS (1 << 11)    /* to look at: for fewer, getting the lock back would take longer */

/* A list of int64 that the caller made: NULL and an exception when it has not `count` of them. */
static int64_t *numbers(const Py_buffer *buffer, Py_ssize_t count, const char *what) {
    if (buffer->itemsize != 8 || buffer->len != count * 8) {
        PyErr_Format(PyExc_ValueError, "%s must be %zd numbers of 8 bytes", what, count);
        return NULL;
    }
    return buffer->buf;
}

/* walk(payload, edges) -> records: edges[i] becomes where record i begins; stops at the first that would begin past
   the payload. The last edge is where they end. */
static PyObject *walk(PyObject *module, PyObject *args) {
    Py_buffer payload, edges;
    if (!PyArg_ParseTuple(args, "y*w*", &payload, &edges))
        return NULL;
    Py_ssize_t count = edges.len / 8 - 1, index = 0;
    int64_t *edge = numbers(&edges, count + 1, "edges");
    if (edge != NULL && count >= 0) {
        const uint8_t *bytes = payload.buf;
        uint64_t size = (uint64_t)payload.len, at = 0;
        PyThreadState *state = count >= MANY_RECORDS ? PyEval_SaveThread() : NULL;
        for (; index < count && size >= 4 && at <= size - 4; index++) {
            edge[index] = (int64_t)at;
            at += 4 + (uint64_t)little32(bytes + at);
        }
        edge[index] = (int64_t)at;
        if (state != NULL)
            PyEval_RestoreThread(state);
    }
    PyBuffer_Release(&payload);
    PyBuffer_Release(&edges);
    return edge == NULL ? NULL : PyLong_FromSsize_t(index);
}

/* prefixes(payload, at, ends, before, has_lod, start, tail, row_size, rows, firsts, lasts) -> whether all look alike.
   rows become the heights, firsts and lasts where the data begin and end. */
static PyObject *prefixes(PyObject *module, PyObject *args) {
    Py_buffer payload, at, ends, before, start, tail, rows, firsts, lasts;
    int has_lod;
    Py_ssize_t row_size;
    if (!PyArg_ParseTuple(args, "y*y*y*y*py*y*nw*w*w*", &payload, &at, &ends, &before, &has_lod, &start, &tail,
                          &row_size, &rows, &firsts, &lasts))
        return NULL;
    Py_ssize_t count = at.len / 8, index = 0;
    const int64_t *from = numbers(&at, count, "at"), *to = numbers(&ends, count, "ends");
    int64_t *height = numbers(&rows, count, "rows"), *first = numbers(&firsts, count, "firsts");
    int64_t *last = numbers(&lasts, count, "lasts");
    PyObject *result = NULL;
    if (from && to && height && first && last && row_size > 0) {
        Pattern like = {before.buf, (uint64_t)before.len, has_lod,           start.buf, (uint64_t)start.len,
                        tail.buf,   (uint64_t)tail.len,   (uint64_t)row_size};
        PyThreadState *state = count >= MANY_RECORDS ? PyEval_SaveThread() : NULL;
        for (; index < count; index++) {
            if (from[index] < 0 || to[index] < from[index] || to[index] > payload.len)
                break;
            if (!read_prefix(payload.buf, (uint64_t)from[index], (uint64_t)to[index], &like, height + index,
                             first + index, last + index))
                break;
        }
        if (state != NULL)
            PyEval_RestoreThread(state);
        result = PyBool_FromLong(index == count);
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "row_size must be positive");
    }
    Py_buffer *all[] = {&payload, &at, &ends, &before, &start, &tail, &rows, &firsts, &lasts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        PyBuffer_Release(all[i]);
    return result;
}

/* join(payload, starts, stops, target): the pieces one after another fill the target. */
static PyObject *join(PyObject *module, PyObject *args) {
    Py_buffer payload, starts, stops, target;
    if (!PyArg_ParseTuple(args, "y*y*y*w*", &payload, &starts, &stops, &target))
        return NULL;
    Py_ssize_t count = starts.len / 8, index = 0;
    const int64_t *from = numbers(&starts, count, "starts"), *to = numbers(&stops, count, "stops");
    if (from && to) {
        const uint8_t *bytes = payload.buf;
        uint8_t *out = target.buf;
        int64_t room = target.len;
        PyThreadState *state = room >= WORTH_RELEASING ? PyEval_SaveThread() : NULL;
        for (; index < count; index++) {
            int64_t start = from[index], stop = to[index];
            if (start < 0 || stop < start || stop > payload.len || stop - start > room)
                break;
            memcpy(out, bytes + start, (size_t)(stop - start));
            out += stop - start;
            room -= stop - start;
        }
        if (state != NULL)
            PyEval_RestoreThread(state);
        if (index < count || room != 0)
            PyErr_SetString(PyExc_ValueError, "the pieces do not fill the target");
    }
    PyBuffer_Release(&payload);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&stops);
    PyBuffer_Release(&target);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* pick(payloads, which, starts, stops, target): pieces of several payloads one after another fill the target. */
static PyObject *pick(PyObject *module, PyObject *args) {
    PyObject *payloads;
    Py_buffer which, starts, stops, target;
    if (!PyArg_ParseTuple(args, "O!y*y*y*w*", &PyTuple_Type, &payloads, &which, &starts, &stops, &target))
        return NULL;
    Py_ssize_t count = which.len / 8, known = PyTuple_Size(payloads), index = 0;
    const int64_t *of = numbers(&which, count, "which");
    const int64_t *from = numbers(&starts, count, "starts"), *to = numbers(&stops, count, "stops");
    Py_buffer *views = of && from && to ? PyMem_Calloc((size_t)known + 1, sizeof *views) : NULL;
    if (views != NULL) {
        for (; index < count; index++) { /* only the payloads that are used are asked for */
            if (of[index] < 0 || of[index] >= known)
                break;
            Py_buffer *view = &views[of[index]];
            if (view->obj == NULL && PyObject_GetBuffer(PyTuple_GetItem(payloads, of[index]), view, PyBUF_SIMPLE) < 0)
                break;
            if (from[index] < 0 || to[index] < from[index] || to[index] > view->len)
                break;
        }
        int64_t room = target.len;
        if (index == count) {
            uint8_t *out = target.buf;
            PyThreadState *state = room >= WORTH_RELEASING ? PyEval_SaveThread() : NULL;
            for (index = 0; index < count && to[index] - from[index] <= room; index++) {
                size_t size = (size_t)(to[index] - from[index]);
                memcpy(out, (const uint8_t *)views[of[index]].buf + from[index], size);
                out += size;
                room -= (int64_t)size;
            }
            if (state != NULL)
                PyEval_RestoreThread(state);
        }
        if ((index < count || room != 0) && !PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the pieces do not fill the target");
        for (Py_ssize_t i = 0; i < known; i++)
            if (views[i].obj != NULL)
                PyBuffer_Release(&views[i]);
        PyMem_Free(views);
    } else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    PyBuffer_Release(&which);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&stops);
    PyBuffer_Release(&target);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* alike(payload, first, stride, count, like) -> whether `like` stands at first, first + stride, ..., `count` times. */
static PyObject *alike(PyObject *module, PyObject *args) {
    Py_buffer payload, like;
    Py_ssize_t first, stride, count, index = 0;
    if (!PyArg_ParseTuple(args, "y*nnny*", &payload, &first, &stride, &count, &like))
        return NULL;
    int fits = first >= 0 && stride >= 0 && count > 0 && like.len <= payload.len && first <= payload.len - like.len;
    fits = fits && (stride == 0 || count - 1 <= (payload.len - like.len - first) / stride);
    if (fits) { /* with the interpreter lock: to get it back would take longer */
        const uint8_t *at = (const uint8_t *)payload.buf + first;
        while (index < count && memcmp(at + index * stride, like.buf, (size_t)like.len) == 0)
            index++;
    } else {
        PyErr_SetString(PyExc_ValueError, "the places are not all inside the payload");
    }
    PyBuffer_Release(&payload);
    PyBuffer_Release(&like);
    return fits ? PyBool_FromLong(index == count) : NULL;
}

/* copy(payload, first, stride, size, target, at, count): items of `size` bytes, `stride` bytes from one to the next,
   become items at, at + 1, ... of the target. */
static PyObject *copy(PyObject *module, PyObject *args) {
    Py_buffer payload, target;
    Py_ssize_t first, stride, size, at, count;
    if (!PyArg_ParseTuple(args, "y*nnnw*nn", &payload, &first, &stride, &size, &target, &at, &count))
        return NULL;
    int fits = first >= 0 && stride >= 0 && size > 0 && at >= 0 && count > 0 && size <= payload.len;
    fits = fits && first <= payload.len - size && at <= target.len / size && count <= target.len / size - at;
    fits = fits && (stride == 0 || count - 1 <= (payload.len - size - first) / stride);
    if (fits) {
        const uint8_t *from = (const uint8_t *)payload.buf + first;
        uint8_t *to = (uint8_t *)target.buf + at * size;
        PyThreadState *state = count * size >= WORTH_RELEASING ? PyEval_SaveThread() : NULL;
        for (Py_ssize_t i = 0; i < count; i++)
            memcpy(to + i * size, from + i * stride, (size_t)size);
        if (state != NULL)
            PyEval_RestoreThread(state);
    } else {
        PyErr_SetString(PyExc_ValueError, "the items are not all inside the payload and the target");
    }
    PyBuffer_Release(&payload);
    PyBuffer_Release(&target);
    if (!fits)
        return NULL;
    Py_RETURN_NONE;
}

/* The rows of a table that `put` fills. */
typedef struct {
    Py_buffer table;
    PyTypeObject *type; /* of the table: other kinds of values are left to `otherwise` */
    PyObject *otherwise;
} Rows;

/* Whether a value has the type and the shape of a row, and its bytes in a row's order. */
static int is_row(const Py_buffer *value, const Py_buffer *table) {
    if (value->ndim != table->ndim - 1 || value->itemsize != table->itemsize)
        return 0;
    if (value->format == NULL || strcmp(value->format, table->format) != 0)
        return 0;
    for (int i = 0; i < value->ndim; i++)
        if (value->shape[i] != table->shape[i + 1])
            return 0;
    return 1;
}

static PyObject *put(PyObject *capsule, PyObject *const *args, Py_ssize_t count) {
    Rows *rows = PyCapsule_GetPointer(capsule, NULL);
    if (rows == NULL || count != 2) {
        PyErr_SetString(PyExc_TypeError, "put takes the number of a row and a value");
        return NULL;
    }
    Py_ssize_t row = PyLong_AsSsize_t(args[0]);
    if (row == -1 && PyErr_Occurred())
        return NULL;
    Py_buffer value;
    if (Py_TYPE(args[1]) == rows->type && row >= 0 && row < rows->table.shape[0]) {
        if (PyObject_GetBuffer(args[1], &value, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0) {
            int alike = is_row(&value, &rows->table);
            if (alike)
                memcpy((char *)rows->table.buf + row * value.len, value.buf, (size_t)value.len);
            PyBuffer_Release(&value);
            if (alike)
                Py_RETURN_NONE;
        } else {
            PyErr_Clear(); /* not contiguous, or of a type that has no buffers */
        }
    }
    return PyObject_CallFunctionObjArgs(rows->otherwise, args[0], args[1], NULL);
}

static void free_rows(PyObject *capsule) {
    Rows *rows = PyCapsule_GetPointer(capsule, NULL);
    PyBuffer_Release(&rows->table);
    Py_DECREF((PyObject *)rows->type);
    Py_DECREF(rows->otherwise);
    PyMem_Free(rows);
}

static PyMethodDef put_definition = {"put", (PyCFunction)(void (*)(void))put, METH_FASTCALL, NULL};

/* putter(table, otherwise) -> put(row, value): copies a value into a row of the table if it is an array of just that
   type and shape, else calls otherwise(row, value). */
static PyObject *putter(PyObject *module, PyObject *args) {
    PyObject *table, *otherwise;
    if (!PyArg_ParseTuple(args, "OO", &table, &otherwise))
        return NULL;
    Rows *rows = PyMem_Calloc(1, sizeof *rows);
    if (rows == NULL)
        return PyErr_NoMemory();
    if (PyObject_GetBuffer(table, &rows->table, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        PyMem_Free(rows);
        return NULL;
    }
    if (rows->table.ndim < 1 || rows->table.format == NULL || strchr(rows->table.format, 'O') != NULL) {
        PyBuffer_Release(&rows->table);
        PyMem_Free(rows);
        PyErr_SetString(PyExc_ValueError, "the table must have rows, and no Python objects in them");
        return NULL;
    }
    rows->type = Py_TYPE(table);
    Py_INCREF((PyObject *)rows->type);
    rows->otherwise = otherwise;
    Py_INCREF(otherwise);
    PyObject *capsule = PyCapsule_New(rows, NULL, free_rows);
    if (capsule == NULL) {
        PyBuffer_Release(&rows->table);
        Py_DECREF((PyObject *)rows->type);
        Py_DECREF(otherwise);
        PyMem_Free(rows);
        return NULL;
    }
    PyObject *function = PyCFunction_NewEx(&put_definition, capsule, NULL);
    Py_DECREF(capsule);
    return function;
}

static PyMethodDef functions[] = {{"walk", walk, METH_VARARGS, NULL},
                                  {"prefixes", prefixes, METH_VARARGS, NULL},
                                  {"join", join, METH_VARARGS, NULL},
                                  {"pick", pick, METH_VARARGS, NULL},
                                  {"alike", alike, METH_VARARGS, NULL},
                                  {"copy", copy, METH_VARARGS, NULL},
                                  {"putter", putter, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_loops", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__loops(void) { return PyModuleDef_Init(&definition); }
