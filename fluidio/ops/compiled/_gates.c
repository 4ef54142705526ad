/* The activations of recurrent ops as Fluid's vector kernels compute them: vector_gates.py does the same in NumPy. */

#include "../../_python.h"

#include <stdint.h>
#include <string.h>

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

#define WIDE 8
#define INLINE static inline __attribute__((always_inline))

typedef float Floats __attribute__((vector_size(4 * WIDE)));
typedef int32_t Ints __attribute__((vector_size(4 * WIDE)));

INLINE void at_most(Floats *x, float top) {
    Floats tops = (Floats){0} + top;
    Ints above = *x > tops;
    *x = (Floats)(((Ints)tops & above) | ((Ints)*x & ~above));
}

INLINE void at_least(Floats *x, float bottom) {
    Floats bottoms = (Floats){0} + bottom;
    Ints below = *x < bottoms;
    *x = (Floats)(((Ints)bottoms & below) | ((Ints)*x & ~below));
}

/* exp(x) by 2^n times a polynomial, each operation rounded to float. */
INLINE Floats power(Floats x) {
    at_most(&x, 88.3762626647949f);
    at_least(&x, -88.3762626647949f);
    Floats shifted = x * 1.44269504088896341f + 0.5f;
    Floats n = __builtin_convertvector(__builtin_convertvector(shifted, Ints), Floats);
    n += __builtin_convertvector(n > shifted, Floats); /* true is -1 */
    Floats rest = x - n * 0.693359375f;
    rest = rest - n * -2.12194440e-4f;
    Floats sum = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    sum = sum * (rest * rest) + rest;
    sum = sum + 1.0f;
    return sum * (Floats)((__builtin_convertvector(n, Ints) + 127) << 23);
}

INLINE Floats tanh_of(Floats x) { return 2.0f / (1.0f + power(-2.0f * x)) - 1.0f; }

INLINE Floats sigmoid_of(Floats x) {
    at_least(&x, -40.0f);
    at_most(&x, 13.0f);
    return 1.0f / (1.0f + power(-x));
}

#define EACH(function)                                                                                                 \
    Floats part = {0};                                                                                                 \
    for (; count >= WIDE; x += WIDE, count -= WIDE) {                                                                  \
        memcpy(&part, x, sizeof part);                                                                                 \
        part = function(part);                                                                                         \
        memcpy(x, &part, sizeof part);                                                                                 \
    }                                                                                                                  \
    if (count) {                                                                                                       \
        memcpy(&part, x, 4 * count);                                                                                   \
        part = function(part);                                                                                         \
        memcpy(x, &part, 4 * count);                                                                                   \
    }

typedef void (*Activation)(float *, Py_ssize_t);

static void plain_tanh(float *x, Py_ssize_t count) { EACH(tanh_of) }
static void plain_sigmoid(float *x, Py_ssize_t count) { EACH(sigmoid_of) }

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void wide_tanh(float *x, Py_ssize_t count) { EACH(tanh_of) }
__attribute__((target("avx2"))) static void wide_sigmoid(float *x, Py_ssize_t count) { EACH(sigmoid_of) }
#define CHOOSE(name) (__builtin_cpu_supports("avx2") ? wide_##name : plain_##name)
#else
#define CHOOSE(name) plain_##name
#endif

static PyObject *apply(PyObject *args, Activation activation) {
    Py_buffer x;
    if (!PyArg_ParseTuple(args, "w*", &x))
        return NULL;
    if (x.len % 4 != 0) {
        PyBuffer_Release(&x);
        PyErr_SetString(PyExc_ValueError, "an activation needs float32");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    activation(x.buf, x.len / 4);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&x);
    Py_RETURN_NONE;
}

static PyObject *tanh_(PyObject *module, PyObject *args) { return apply(args, CHOOSE(tanh)); }
static PyObject *sigmoid(PyObject *module, PyObject *args) { return apply(args, CHOOSE(sigmoid)); }

static PyMethodDef methods[] = {
    {"tanh", tanh_, METH_VARARGS, NULL}, {"sigmoid", sigmoid, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_gates", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__gates(void) { return PyModuleDef_Init(&definition); }
