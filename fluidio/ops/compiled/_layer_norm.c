/* Layer normalisation and its gradient, a row at a time: layer_norm.py says what each function does; NumPy does the same
   in several passes. Sizes are checked against the numbers given with them. */

#include "../../_python.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

typedef struct {
    Py_ssize_t rows, width, block; /* block: rows whose gradients of scale and bias are added up together */
    float epsilon;
} Rows;

#if defined(__x86_64__)
#define NAME(x) x##_512
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,avx2")))
#define LANES 16
#include "_layer_norm.h"
#define NAME(x) x##_256
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#include "_layer_norm.h"
#endif
#define NAME(x) x##_128
#define TARGET
#define LANES 4
#include "_layer_norm.h"

#include "_wide.h"

static PyObject *done(Py_buffer *buffers, int count, int ok) {
    for (int i = 0; i < count; i++)
        if (buffers[i].obj != NULL)
            PyBuffer_Release(buffers + i);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

static int fits(const Py_buffer *buffer, Py_ssize_t floats) { return buffer->obj == NULL || buffer->len == 4 * floats; }

/* What threads share: the arrays of a call and its sizes. */
typedef struct {
    Py_buffer b[7];
    Rows r;
    atomic_int failed;
    Py_ssize_t least, threads; /* a thread is worth `least` rows, or blocks of rows */
} Call;

/* Do a call's work, `total` rows or blocks, on its threads; release its arrays. */
static PyObject *run(Call *c, Part *part, Py_ssize_t total, int buffers, int ok) {
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(part, c, total, c->least, c->threads);
        Py_END_ALLOW_THREADS
    }
    PyObject *result = done(c->b, buffers, ok);
    if (result == NULL || !atomic_load(&c->failed))
        return result;
    Py_DECREF(result);
    return PyErr_NoMemory();
}

static void some_rows(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    Py_buffer *b = c->b;
    CALL(layer_norm, &c->r, b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].buf, b[5].buf, begin, end);
}

/* layer_norm(x, scale or None, bias or None, y, mean, variance, (rows, width), epsilon, least, threads) */
static PyObject *layer_norm(PyObject *module, PyObject *args) {
    Call c = {.b = {{0}}};
    Py_buffer *b = c.b;
    Rows *r = &c.r;
    if (!PyArg_ParseTuple(args, "y*z*z*w*w*w*(nn)fnn", b, b + 1, b + 2, b + 3, b + 4, b + 5, &r->rows, &r->width,
                          &r->epsilon, &c.least, &c.threads))
        return NULL;
    int ok = r->width > 0 && r->rows >= 0 && fits(b, r->rows * r->width) && fits(b + 1, r->width) &&
             fits(b + 2, r->width) && fits(b + 3, r->rows * r->width) && fits(b + 4, r->rows) && fits(b + 5, r->rows);
    return run(&c, some_rows, r->rows, 6, ok);
}

static void some_blocks(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    Py_buffer *b = c->b;
    float *own = malloc(8 * c->r.width);
    if (own == NULL) {
        atomic_store(&c->failed, 1);
        return;
    }
    CALL(layer_norm_grad, &c->r, b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].buf, b[5].buf, b[6].buf, own, begin, end);
    free(own);
}

/* layer_norm_grad(x, scale or None, mean, variance, dy, dx or None, sums, (rows, width, block), epsilon, least,
   threads): fill dx, and for each block of rows a row of dscale and one of dbias. */
static PyObject *layer_norm_grad(PyObject *module, PyObject *args) {
    Call c = {.b = {{0}}};
    Py_buffer *b = c.b;
    Rows *r = &c.r;
    PyObject *dx;
    if (!PyArg_ParseTuple(args, "y*z*y*y*y*Ow*(nnn)fnn", b, b + 1, b + 2, b + 3, b + 4, &dx, b + 6, &r->rows,
                          &r->width, &r->block, &r->epsilon, &c.least, &c.threads))
        return NULL;
    if (dx != Py_None && PyObject_GetBuffer(dx, b + 5, PyBUF_WRITABLE) < 0) {
        done(b, 7, 1);
        return NULL;
    }
    Py_ssize_t blocks = r->block > 0 && r->rows >= 0 ? (r->rows + r->block - 1) / r->block : -1;
    int ok = blocks >= 0 && r->width > 0 && fits(b, r->rows * r->width) && fits(b + 1, r->width) &&
             fits(b + 2, r->rows) && fits(b + 3, r->rows) && fits(b + 4, r->rows * r->width) &&
             fits(b + 5, r->rows * r->width) && fits(b + 6, 2 * blocks * r->width);
    return run(&c, some_blocks, blocks, 7, ok);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"layer_norm", layer_norm, METH_VARARGS, NULL},
    {"layer_norm_grad", layer_norm_grad, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_layer_norm", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__layer_norm(void) { return PyModuleDef_Init(&definition); }
