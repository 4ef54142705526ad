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
#define ARRANGED 64  /* multiplications in the time in which an element is arranged */

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
#if defined(__clang__)
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t choice __attribute__((vector_size(16)));
#define MIX(a, b, ...) __builtin_shuffle(a, b, (choice){__VA_ARGS__})
#endif

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

static inline Py_ssize_t place(const Axis *axis, Py_ssize_t at) {
    return at / axis->fold * axis->further + at % axis->fold * axis->apart;
}

static inline Py_ssize_t least(Py_ssize_t a, Py_ssize_t b) { return a < b ? a : b; }

static Py_ssize_t up(Py_ssize_t a, Py_ssize_t b) { return (a + b - 1) / b; }

#define LOOPS "_products.h"
#include "_sets.h"

static void (*use)(Product *, Py_ssize_t, Py_ssize_t) = product_128;

/* instructions(bits) -> bits: use vectors of at most this many bits; return the width the processor supports. */
static PyObject *instructions(PyObject *module, PyObject *args) {
    int bits = 0;
    if (!PyArg_ParseTuple(args, "i", &bits))
        return NULL;
    bits = widest(bits);
    use = product_128;
#if defined(__x86_64__)
    use = bits == 512 ? product_512 : bits == 256 ? product_256 : product_128;
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

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"multiply", multiply, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_products", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__products(void) { return PyModuleDef_Init(&definition); }
