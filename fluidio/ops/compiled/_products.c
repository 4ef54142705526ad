/* Products of float32 matrices: products.py says when they are worthwhile; NumPy does the same. */

#include "../../_python.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

#define CHUNK 256    /* products added up in one go: panels of both sides then stay in the L1 cache */
#define ROWS 192     /* rows of A in the L2 cache; a multiple of every HIGH */
#define COLUMNS 2304 /* columns of B in the L3 cache; a multiple of every PANEL */

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

static inline Py_ssize_t place(const Axis *axis, Py_ssize_t at) {
    return at / axis->fold * axis->further + at % axis->fold * axis->apart;
}

static inline Py_ssize_t least(Py_ssize_t a, Py_ssize_t b) { return a < b ? a : b; }

static Py_ssize_t clamp(Py_ssize_t value, Py_ssize_t low, Py_ssize_t high) {
    return value < low ? low : value > high ? high : value;
}

#define LOOPS "_products.h"
#include "_sets.h"

typedef int Product(const Side *, const Side *, float *, Py_ssize_t, const Axis *, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                    Py_ssize_t, Py_ssize_t);
static Product *use = product_128;

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

/* multiply(a, b, out, (rows, depth, columns), (a_turned, b_turned), (a_images, b_images, out_images), (top, bottom),
   (left, right)): compute these rows and columns of A B. A turned side lies in memory as its transpose. */
static PyObject *multiply(PyObject *module, PyObject *args) {
    Py_buffer a, b, out;
    Py_ssize_t rows, depth, columns, top, bottom, left, right, in_a, in_b, in_out;
    int a_turned, b_turned, failed = 0;
    if (!PyArg_ParseTuple(args, "y*y*w*(nnn)(pp)(nnn)(nn)(nn)", &a, &b, &out, &rows, &depth, &columns, &a_turned,
                          &b_turned, &in_a, &in_b, &in_out, &top, &bottom, &left, &right))
        return NULL;
    Py_ssize_t most = PY_SSIZE_T_MAX / 16;
    Side one = {.from = a.buf}, two = {.from = b.buf};
    Axis down, across;
    if (rows < 1 || depth < 1 || columns < 1 || rows > most / depth || depth > most / columns ||
        rows > most / columns ||
        !(a_turned ? takes(&a, depth, rows, in_a, &one.steps, &one.lines)
                   : takes(&a, rows, depth, in_a, &one.lines, &one.steps)) ||
        !(b_turned ? takes(&b, columns, depth, in_b, &two.lines, &two.steps)
                   : takes(&b, depth, columns, in_b, &two.steps, &two.lines)) ||
        !takes(&out, rows, columns, in_out, &down, &across)) {
        PyErr_SetString(PyExc_ValueError, "the sizes of a product do not fit its arrays");
        failed = 1;
    } else {
        top = clamp(top, 0, rows), bottom = clamp(bottom, top, rows);
        left = clamp(left, 0, columns), right = clamp(right, left, columns);
        if (top < bottom && left < right) {
            Py_BEGIN_ALLOW_THREADS
            failed = use(&one, &two, out.buf, down.apart, &across, depth, top, bottom, left, right);
            Py_END_ALLOW_THREADS
        }
        if (failed)
            PyErr_NoMemory();
    }
    PyBuffer_Release(&a), PyBuffer_Release(&b), PyBuffer_Release(&out);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"multiply", multiply, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_products", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__products(void) { return PyModuleDef_Init(&definition); }
