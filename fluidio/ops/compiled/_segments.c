/* Sums and maxima over the rows of sequences, and where their gradients go: segments.py says what each function does. */

#include "../../_python.h"

#include <stdint.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the instruction sets of GCC or Clang; NumPy does the same"
#endif

#define LOOPS "_segments.h"
#include "_sets.h"
#include "_wide.h"

/* What threads share: rows, where sequences begin, a row for each sequence, and what the function needs beside them. */
typedef struct {
    Py_buffer rows, offsets, each, factors, index;
    Py_ssize_t columns;
    float pad;
} Call;

static void some_sums(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    const int64_t *at = c->offsets.buf;
    for (Py_ssize_t n = begin; n < end; n++) {
        const float *x = (const float *)c->rows.buf + at[n] * c->columns;
        float *out = (float *)c->each.buf + n * c->columns;
        float factor = c->factors.obj == NULL ? 1 : ((const float *)c->factors.buf)[n];
        if (at[n] < at[n + 1])
            CALL(add_rows, x, at[n + 1] - at[n], c->columns, factor, out);
        else
            for (Py_ssize_t i = 0; i < c->columns; i++)
                out[i] = c->pad;
    }
}

static void some_maxima(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    const int64_t *at = c->offsets.buf;
    for (Py_ssize_t n = begin; n < end; n++) {
        float *out = (float *)c->each.buf + n * c->columns;
        int32_t *where = (int32_t *)c->index.buf + n * c->columns;
        if (at[n] < at[n + 1])
            CALL(largest, (const float *)c->rows.buf + at[n] * c->columns, at[n + 1] - at[n], c->columns,
                 (int32_t)at[n], out, where);
        else
            for (Py_ssize_t i = 0; i < c->columns; i++) {
                out[i] = c->pad;
                where[i] = -1;
            }
    }
}

static void some_shares(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    const int64_t *at = c->offsets.buf;
    for (Py_ssize_t n = begin; n < end; n++) {
        const float *d = (const float *)c->each.buf + n * c->columns;
        float *to = (float *)c->rows.buf + at[n] * c->columns;
        float factor = c->factors.obj == NULL ? 1 : ((const float *)c->factors.buf)[n];
        if (at[n] < at[n + 1])
            for (Py_ssize_t i = 0; i < c->columns; i++)
                to[i] = d[i] * factor;
        for (int64_t row = at[n] + 1; row < at[n + 1]; row++)
            memcpy(to + (row - at[n]) * c->columns, to, 4 * (size_t)c->columns);
    }
}

static void some_places(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    const int64_t *at = c->offsets.buf;
    Py_ssize_t columns = c->columns;
    for (Py_ssize_t n = begin; n < end; n++) {
        const float *d = (const float *)c->each.buf + n * columns;
        const int32_t *where = (const int32_t *)c->index.buf + n * columns;
        memset((float *)c->rows.buf + at[n] * columns, 0, 4 * (size_t)((at[n + 1] - at[n]) * columns));
        for (Py_ssize_t i = 0; i < columns; i++)
            if (where[i] >= at[n] && where[i] < at[n + 1])
                ((float *)c->rows.buf)[where[i] * columns + i] = d[i];
    }
}

/* Return whether the sizes fit the arrays, and the offsets ascend from 0 to the number of rows. */
static int fits(const Call *c) {
    const int64_t *at = c->offsets.buf;
    Py_ssize_t count = c->offsets.len / 8 - 1;
    if (count < 0 || c->offsets.len % 8 || c->columns < 1 || c->rows.len % (4 * c->columns) || at[0] != 0 ||
        at[count] != c->rows.len / 4 / c->columns || at[count] > INT32_MAX || c->each.len % (4 * c->columns) ||
        c->each.len / 4 / c->columns != count || (c->factors.obj != NULL && c->factors.len != 4 * count) ||
        (c->index.obj != NULL && c->index.len != c->each.len))
        return 0;
    for (Py_ssize_t n = 0; n < count; n++)
        if (at[n + 1] < at[n])
            return 0;
    return 1;
}

static PyObject *run(Call *c, Part *part, Py_ssize_t least, Py_ssize_t threads) {
    int ok = fits(c);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(part, c, c->offsets.len / 8 - 1, least, threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&c->rows), PyBuffer_Release(&c->offsets), PyBuffer_Release(&c->each);
    if (c->factors.obj != NULL)
        PyBuffer_Release(&c->factors);
    if (c->index.obj != NULL)
        PyBuffer_Release(&c->index);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes of sequences do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* sums(x, columns, offsets, factors or None, pad, out, least, threads) */
static PyObject *sums(PyObject *module, PyObject *args) {
    Call c = {.columns = 0};
    Py_ssize_t least, threads;
    if (!PyArg_ParseTuple(args, "y*ny*z*fw*nn", &c.rows, &c.columns, &c.offsets, &c.factors, &c.pad, &c.each, &least,
                          &threads))
        return NULL;
    return run(&c, some_sums, least, threads);
}

/* maxima(x, columns, offsets, pad, out, index, least, threads) */
static PyObject *maxima(PyObject *module, PyObject *args) {
    Call c = {.columns = 0};
    Py_ssize_t least, threads;
    if (!PyArg_ParseTuple(args, "y*ny*fw*w*nn", &c.rows, &c.columns, &c.offsets, &c.pad, &c.each, &c.index, &least,
                          &threads))
        return NULL;
    return run(&c, some_maxima, least, threads);
}

/* repeat(each, columns, offsets, factors or None, rows, least, threads) */
static PyObject *repeat(PyObject *module, PyObject *args) {
    Call c = {.columns = 0};
    Py_ssize_t least, threads;
    if (!PyArg_ParseTuple(args, "y*ny*z*w*nn", &c.each, &c.columns, &c.offsets, &c.factors, &c.rows, &least, &threads))
        return NULL;
    return run(&c, some_shares, least, threads);
}

/* place(each, columns, offsets, index, rows, least, threads) */
static PyObject *place(PyObject *module, PyObject *args) {
    Call c = {.columns = 0};
    Py_ssize_t least, threads;
    if (!PyArg_ParseTuple(args, "y*ny*y*w*nn", &c.each, &c.columns, &c.offsets, &c.index, &c.rows, &least, &threads))
        return NULL;
    return run(&c, some_places, least, threads);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL}, {"sums", sums, METH_VARARGS, NULL},
    {"maxima", maxima, METH_VARARGS, NULL},             {"repeat", repeat, METH_VARARGS, NULL},
    {"place", place, METH_VARARGS, NULL},               {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_segments", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__segments(void) { return PyModuleDef_Init(&definition); }
