/* Elementwise sums, differences and products, dropout, and sums of rows: elements.py says what each function does. Every
   operation is rounded as NumPy's, in the same order, so that the results have the same bits. */

#include "../../_python.h"

#include <stdint.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the instruction sets of GCC or Clang; NumPy does the same"
#endif

#define STRIP 256 /* columns that are added up together: their sums stay in the L1 cache */

enum { ADD, SUBTRACT, MULTIPLY, RELU };

#define EACH(expression)                                                                                               \
    for (Py_ssize_t i = 0; i < count; i++)                                                                             \
        out[i] = expression;                                                                                           \
    break

#define DEFINE(bits, target)                                                                                           \
    target static void combine_##bits(int kind, const float *x, const float *y, float *out, Py_ssize_t count) {        \
        switch (kind) {                                                                                                \
        case ADD:                                                                                                      \
            EACH(x[i] + y[i]);                                                                                         \
        case SUBTRACT:                                                                                                 \
            EACH(x[i] - y[i]);                                                                                         \
        case MULTIPLY:                                                                                                 \
            EACH(x[i] * y[i]);                                                                                         \
        default:                                                                                                       \
            EACH(x[i] <= 0 ? 0.0f : x[i]);                                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    target static void shift_##bits(int kind, const float *x, float y, float *out, Py_ssize_t count) {                 \
        switch (kind) {                                                                                                \
        case ADD:                                                                                                      \
            EACH(x[i] + y);                                                                                            \
        case SUBTRACT:                                                                                                 \
            EACH(x[i] - y);                                                                                            \
        default:                                                                                                       \
            EACH(x[i] * y);                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    target static void keep_##bits(int kind, const float *x, const uint8_t *mask, float *out, float divisor,             \
                                   Py_ssize_t count) {                                                                 \
        switch (kind) {                                                                                                \
        case ADD:                                                                                                      \
            EACH(x[i] * (float)mask[i]);                                                                               \
        case SUBTRACT:                                                                                                 \
            EACH(x[i] / divisor * (float)mask[i]);                                                                       \
        default:                                                                                                       \
            EACH(x[i] * (float)mask[i] / divisor);                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    target static void add_rows_##bits(const float *x, Py_ssize_t rows, Py_ssize_t columns, float *out,                \
                                       Py_ssize_t count) {                                                             \
        memcpy(out, x, 4 * count);                                                                                     \
        for (Py_ssize_t row = 1; row < rows; row++)                                                                    \
            for (Py_ssize_t i = 0; i < count; i++)                                                                     \
                out[i] += x[row * columns + i];                                                                        \
    }

#if defined(__x86_64__)
DEFINE(512, __attribute__((target("avx512f,avx512vl,avx512bw,prefer-vector-width=512"))))
DEFINE(256, __attribute__((target("avx2"))))
#endif
DEFINE(128, )

#include "_wide.h"

/* What threads share: the arrays of a call, `rows` rows of `columns`, and its numbers. */
typedef struct {
    Py_buffer x, y, out;
    int kind;
    float divisor;
    Py_ssize_t rows, columns, least, threads; /* a thread is worth `least` rows, elements or columns */
} Call;

/* Do a call's work on its threads if its sizes fit; release its arrays. */
static PyObject *run(Call *c, Part *part, Py_ssize_t total, int ok) {
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(part, c, total, c->least, c->threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&c->x), PyBuffer_Release(&c->out);
    if (c->y.obj != NULL)
        PyBuffer_Release(&c->y);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Return whether X and the result have this many elements in all rows. */
static int is_whole(const Call *c, Py_ssize_t floats) {
    return c->rows >= 0 && c->columns >= 1 && c->x.len == 4 * floats && c->rows == floats / c->columns &&
           floats % c->columns == 0;
}

static void some_elements(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    const float *x = (const float *)c->x.buf + begin, *y = c->y.obj == NULL ? x : (const float *)c->y.buf + begin;
    CALL(combine, c->kind, x, y, (float *)c->out.buf + begin, end - begin);
}

static void some_rows(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    for (Py_ssize_t at = begin * c->columns; at < end * c->columns; at += c->columns)
        CALL(combine, c->kind, (const float *)c->x.buf + at, c->y.buf, (float *)c->out.buf + at, c->columns);
}

/* combine(kind, x, y or None, out, columns, least, threads): Y is like X, or a row of so many columns. */
static PyObject *combine(PyObject *module, PyObject *args) {
    Call c = {.kind = 0};
    if (!PyArg_ParseTuple(args, "iy*z*w*nnn", &c.kind, &c.x, &c.y, &c.out, &c.columns, &c.least, &c.threads))
        return NULL;
    Py_ssize_t floats = c.x.len / 4;
    int alike = c.y.obj == NULL ? c.kind == RELU : c.y.len == c.x.len;
    if (c.columns >= 1)
        c.rows = floats / c.columns;
    int ok = is_whole(&c, floats) && c.out.len == c.x.len && (alike || (c.y.obj != NULL && c.y.len == 4 * c.columns));
    return run(&c, alike ? some_elements : some_rows, alike ? floats : c.rows, ok);
}

static void some_planes(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    const float *y = c->y.buf;
    for (Py_ssize_t row = begin, at = begin * c->columns; row < end; row++, at += c->columns)
        CALL(shift, c->kind, (const float *)c->x.buf + at, y[row % (c->y.len / 4)], (float *)c->out.buf + at,
             c->columns);
}

/* combine_planes(kind, x, y, out, size, least, threads): Y has a number for each plane of so many floats, in turns. */
static PyObject *combine_planes(PyObject *module, PyObject *args) {
    Call c = {.kind = 0};
    if (!PyArg_ParseTuple(args, "iy*y*w*nnn", &c.kind, &c.x, &c.y, &c.out, &c.columns, &c.least, &c.threads))
        return NULL;
    Py_ssize_t floats = c.x.len / 4, turn = c.y.len / 4;
    if (c.columns >= 1)
        c.rows = floats / c.columns;
    int ok = is_whole(&c, floats) && c.out.len == c.x.len && turn >= 1 && c.y.len == 4 * turn && c.rows % turn == 0;
    return run(&c, some_planes, c.rows, ok);
}

static void some_kept(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(keep, c->kind, (const float *)c->x.buf + begin, (const uint8_t *)c->y.buf + begin, (float *)c->out.buf + begin,
         c->divisor, end - begin);
}

/* keep(way, x, mask, out, divisor, least, threads): X times the mask (0), divided before that (1) or after it (2). */
static PyObject *keep(PyObject *module, PyObject *args) {
    Call c = {.kind = 0};
    if (!PyArg_ParseTuple(args, "iy*y*w*fnn", &c.kind, &c.x, &c.y, &c.out, &c.divisor, &c.least, &c.threads))
        return NULL;
    return run(&c, some_kept, c.x.len / 4, c.x.len == 4 * c.y.len && c.x.len == c.out.len);
}

static void some_columns(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    for (Py_ssize_t at = begin, stop; at < end; at = stop) {
        stop = at + STRIP < end ? at + STRIP : end;
        CALL(add_rows, (const float *)c->x.buf + at, c->rows, c->columns, (float *)c->out.buf + at, stop - at);
    }
}

/* add_rows(x, out, rows, least, threads): the sum of the rows, one after another. */
static PyObject *add_rows(PyObject *module, PyObject *args) {
    Call c = {.kind = 0};
    if (!PyArg_ParseTuple(args, "y*w*nnn", &c.x, &c.out, &c.rows, &c.least, &c.threads))
        return NULL;
    c.columns = c.out.len / 4;
    int ok = c.rows >= 1 && c.columns >= 1 && is_whole(&c, c.x.len / 4);
    return run(&c, some_columns, c.columns, ok);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"combine", combine, METH_VARARGS, NULL},
    {"combine_planes", combine_planes, METH_VARARGS, NULL},
    {"keep", keep, METH_VARARGS, NULL},
    {"add_rows", add_rows, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_elements", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__elements(void) { return PyModuleDef_Init(&definition); }
