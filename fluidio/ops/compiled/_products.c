/* Products of float32 matrices: products.py says when they are worthwhile; NumPy does the same. */

#include "../../_python.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

#define CHUNK 256    /* products added up in one go: panels of both sides then stay in the L1 cache */
#define ROWS 192     /* rows of A in the L2 cache; a multiple of every HIGH */
#define COLUMNS 2304 /* columns of B, or all rows of A, in the L3 cache; a multiple of every PANEL */
#define BATCH_DIMS 4 /* before the dims of a matrix */
#define ARRANGED 64  /* multiplications in the time in which an element is arranged */

#include "_four.h"

/* Where rows or columns lie: so many floats apart, `fold` of them, then the next `fold` further on. */
typedef struct {
    Py_ssize_t apart, fold, further;
} Axis;

/* A side of a product: lines are rows of A or columns of B, their steps meet those of the other side. */
typedef struct {
    const float *from;
    Axis lines, steps;
} Side;

/* A product C = A B. By rows, threads divide the rows of A, and the columns of B are common to them; else they divide
   the columns. Steps [step, step + deep) of the common lines [first, first + some) are arranged in `common`. */
typedef struct {
    Side a, b;
    float *c, *common;
    Axis across;
    Py_ssize_t row, rows, depth, columns, first, some, step, deep;
    int by_rows;
    atomic_int failed;
} Product;

/* A batch of products: the dims of the batch, and how far apart its matrices lie along each. */
typedef struct {
    Product each;
    int dims;
    Py_ssize_t size[BATCH_DIMS], a_apart[BATCH_DIMS], b_apart[BATCH_DIMS];
} Batch;

/* Return where a matrix of a batch lies. */
static Py_ssize_t matrix_of(const Batch *n, const Py_ssize_t *apart, Py_ssize_t index) {
    Py_ssize_t at = 0;
    for (int i = n->dims - 1; i >= 0; index /= n->size[i], i--)
        at += index % n->size[i] * apart[i];
    return at;
}

static inline Py_ssize_t place(const Axis *axis, Py_ssize_t at) {
    return at / axis->fold * axis->further + at % axis->fold * axis->apart;
}

static inline Py_ssize_t least(Py_ssize_t a, Py_ssize_t b) { return a < b ? a : b; }

static Py_ssize_t up(Py_ssize_t a, Py_ssize_t b) { return (a + b - 1) / b; }

#define LOOPS "_products.h"
#include "_sets.h"
#include "_widest.h"

static void (*use)(Product *, Py_ssize_t, Py_ssize_t) = product_128;
static Part *use_some = some_128;

/* instructions(bits) -> bits: use vectors of at most this many bits; return the width the processor supports. */
static PyObject *instructions(PyObject *module, PyObject *args) {
    int bits = 0;
    if (!PyArg_ParseTuple(args, "i", &bits))
        return NULL;
    bits = widest(bits);
#if defined(__x86_64__)
    use = bits == 512 ? product_512 : bits == 256 ? product_256 : product_128;
    use_some = bits == 512 ? some_512 : bits == 256 ? some_256 : some_128;
#endif
    return PyLong_FromLong(bits);
}

/* Describe a matrix that lies as images of all its rows and some of its columns; false if the sizes do not fit. */
static int takes(const Py_buffer *buffer, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t images, Axis *down,
                 Axis *across) {
    if (images < 1 || columns % images || buffer->len != 4 * rows * columns)
        return 0;
    Py_ssize_t width = columns / images;
    *down = (Axis){width, rows, 0};
    *across = (Axis){1, width, rows * width};
    return 1;
}

/* multiply(a, b, out, (rows, depth, columns), (a_turned, b_turned), (a_images, b_images, out_images), worth, threads):
   compute A B. A turned side lies in memory as its transpose; a thread is worth so many multiplications. */
static PyObject *multiply(PyObject *module, PyObject *args) {
    Py_buffer a, b, out;
    Product p = {.common = NULL};
    Py_ssize_t in_a, in_b, in_out, worth, threads;
    int a_turned, b_turned;
    if (!PyArg_ParseTuple(args, "y*y*w*(nnn)(pp)(nnn)nn", &a, &b, &out, &p.rows, &p.depth, &p.columns, &a_turned,
                          &b_turned, &in_a, &in_b, &in_out, &worth, &threads))
        return NULL;
    Py_ssize_t most = PY_SSIZE_T_MAX / 16;
    Axis down;
    p.a.from = a.buf, p.b.from = b.buf, p.c = out.buf, p.by_rows = p.rows >= p.columns;
    int fit = p.rows >= 1 && p.depth >= 1 && p.columns >= 1 && p.rows <= most / p.depth && p.depth <= most / p.columns &&
              p.rows <= most / p.columns &&
              (a_turned ? takes(&a, p.depth, p.rows, in_a, &p.a.steps, &p.a.lines)
                        : takes(&a, p.rows, p.depth, in_a, &p.a.lines, &p.a.steps)) &&
              (b_turned ? takes(&b, p.columns, p.depth, in_b, &p.b.lines, &p.b.steps)
                        : takes(&b, p.depth, p.columns, in_b, &p.b.steps, &p.b.lines)) &&
              takes(&out, p.rows, p.columns, in_out, &down, &p.across);
    if (fit) {
        p.row = down.apart;
        Py_BEGIN_ALLOW_THREADS
        use(&p, worth, threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&a), PyBuffer_Release(&b), PyBuffer_Release(&out);
    if (!fit) {
        PyErr_SetString(PyExc_ValueError, "the sizes of a product do not fit its arrays");
        return NULL;
    }
    if (atomic_load(&p.failed))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* Describe a batch of matrices that may lie anyhow; false if it is no array of float32. Its strides are in floats. */
static int takes_batch(const Py_buffer *buffer, Batch *n, Py_ssize_t *apart, Side *side, Axis *down, Axis *across) {
    int dims = buffer->ndim - 2;
    if (dims < 1 || dims > BATCH_DIMS || buffer->itemsize != 4 || strcmp(buffer->format, "f") != 0)
        return 0;
    for (int i = 0; i < buffer->ndim; i++)
        if (buffer->strides[i] % 4 || (i < dims && n->dims && (n->dims != dims || n->size[i] != buffer->shape[i])))
            return 0;
    for (int i = n->dims = dims; i-- > 0;)
        n->size[i] = buffer->shape[i], apart[i] = buffer->strides[i] / 4;
    side->from = buffer->buf;
    *down = (Axis){buffer->strides[dims] / 4, PY_SSIZE_T_MAX, 0};
    *across = (Axis){buffer->strides[dims + 1] / 4, PY_SSIZE_T_MAX, 0};
    return 1;
}

/* multiply_each(a, b, out, worth, threads): compute the products of two batches of matrices; `out` lies in order. */
static PyObject *multiply_each(PyObject *module, PyObject *args) {
    PyObject *objects[2];
    Py_buffer b[3] = {{0}};
    Py_ssize_t worth, threads, total = 1;
    if (!PyArg_ParseTuple(args, "OOw*nn", objects, objects + 1, b + 2, &worth, &threads))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (PyObject_GetBuffer(objects[i], b + i, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
            for (int j = 0; j < 3; j++)
                if (b[j].obj != NULL)
                    PyBuffer_Release(b + j);
            return NULL;
        }
    Batch n = {.dims = 0};
    Product *p = &n.each;
    int fit = takes_batch(b, &n, n.a_apart, &p->a, &p->a.lines, &p->a.steps) &&
              takes_batch(b + 1, &n, n.b_apart, &p->b, &p->b.steps, &p->b.lines) &&
              b[0].shape[n.dims + 1] == b[1].shape[n.dims];
    if (fit) {
        p->rows = b[0].shape[n.dims], p->depth = b[1].shape[n.dims], p->columns = b[1].shape[n.dims + 1];
        for (int i = 0; i < n.dims; i++)
            total *= n.size[i];
        fit = p->rows > 0 && p->depth > 0 && p->columns > 0 && total > 0 &&
              b[2].len / 4 / total / p->rows == p->columns && b[2].len == 4 * total * p->rows * p->columns;
    }
    if (fit) {
        p->c = b[2].buf, p->row = p->columns, p->across = (Axis){1, PY_SSIZE_T_MAX, 0};
        Py_BEGIN_ALLOW_THREADS
        share(use_some, &n, total, up(worth, p->rows * p->depth * p->columns), threads);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < 3; i++)
        PyBuffer_Release(b + i);
    if (!fit) {
        PyErr_SetString(PyExc_ValueError, "the shapes of two batches do not fit");
        return NULL;
    }
    if (atomic_load(&p->failed))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"multiply", multiply, METH_VARARGS, NULL},
    {"multiply_each", multiply_each, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_products", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__products(void) { return PyModuleDef_Init(&definition); }
