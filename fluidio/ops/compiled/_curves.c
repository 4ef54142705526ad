/* Activations and their gradients, float32, in one pass over memory: curves.py says what `curve` does; NumPy does the
   same in several passes. */

#include "../../_python.h"

#include <stdint.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

/* The functions: of X, or of X (Out, for some gradients) and D, the gradient of Out, or the label of a loss; a, b and
   c are attributes. */
#define CURVES(F)                                                                                                      \
    F(abs_grad, d *EACH(sign)(x))                                                                                      \
    F(brelu, EACH(clipped)(x, a, b))                                                                                   \
    F(brelu_grad, d *EACH(within)(x, a, b))                                                                            \
    F(ceil, EACH(signed_as)(EACH(whole_part)(x) + EACH(ones)((I)(EACH(whole_part)(x) < x)), x))                        \
    F(clip, EACH(clipped)(x, a, b))                                                                                    \
    F(clip_grad, d *EACH(within)(x, a, b))                                                                             \
    F(elu, EACH(elu)(x, a))                                                                                            \
    F(elu_grad, d *EACH(elu_grad)(x, a))                                                                               \
    F(erf, EACH(erf)(x))                                                                                               \
    F(erf_grad, d * 1.1283792f * EACH(exp)(-x * x))                                                                    \
    F(exp_grad, d *x)                                                                                                  \
    F(floor, EACH(signed_as)(EACH(whole_part)(x) - EACH(ones)((I)(EACH(whole_part)(x) > x)), x))                       \
    F(gelu, 0.5f * x * (1.0f + (a ? EACH(tanh)(EACH(gelu_bent)(x)) : EACH(erf)(x * ROOT_HALF))))                       \
    F(gelu_grad, d *(a ? EACH(gelu_approximate_grad)(x) : EACH(gelu_grad)(x)))                                         \
    F(hard_shrink, EACH(kept)((I)(x > a), x) + EACH(kept)((I)(x < -a), x))                                             \
    F(hard_shrink_grad, d *EACH(ones)((I)(x > a)) + d * EACH(ones)((I)(x < -a)))                                       \
    F(hard_sigmoid, EACH(clipped)(x *a + b, 0.0f, 1.0f))                                                               \
    F(hard_sigmoid_grad, d *a *EACH(within)(x, 0.0f, 1.0f))                                                            \
    F(hard_swish, x *EACH(clipped)(x + c, 0.0f, a) / b)                                                                \
    F(hard_swish_grad, d *EACH(hard_swish_grad)(x, a, b, c))                                                           \
    F(huber_loss, EACH(huber)(x, a))                                                                                   \
    F(huber_loss_grad, d *EACH(huber_grad)(x, a))                                                                      \
    F(leaky_relu, EACH(steeper)(x, x *a))                                                                              \
    F(leaky_relu_grad, d *EACH(choose)((I)(x > 0.0f), (V){0} + 1.0f, (V){0} + a))                                      \
    F(log_grad, d / x)                                                                                                 \
    F(logsigmoid, -EACH(softplus)(-x))                                                                                 \
    F(logsigmoid_grad, d *EACH(sigmoid)(-x))                                                                           \
    F(prelu, EACH(choose)((I)(x > 0.0f), x, x * a))                                                                    \
    F(prelu_grad, d *EACH(choose)((I)(x > 0.0f), (V){0} + 1.0f, (V){0} + a))                                           \
    F(prelu_slope, d *EACH(choose)((I)(x > 0.0f), (V){0}, x))                                                          \
    F(relu6, EACH(clipped)(x, 0.0f, a))                                                                                \
    F(relu6_grad, d *EACH(within)(x, 0.0f, a))                                                                         \
    F(round, EACH(rounded)(x))                                                                                         \
    F(selu, a *EACH(elu)(x, b))                                                                                        \
    F(selu_grad, d *EACH(choose)((I)(x > 0.0f), (V){0} + a, x + a * b))                                                \
    F(sigmoid, EACH(sigmoid)(x))                                                                                       \
    F(sigmoid_grad, d *x *(1.0f - x))                                                                                  \
    F(sigmoid_loss, EACH(unlike)(d, a) * (EACH(softplus)(x) - x * d))                                                  \
    F(sigmoid_loss_grad, EACH(unlike)(d, a) * (EACH(sigmoid)(x) - d))                                                  \
    F(sign, EACH(sign)(x))                                                                                             \
    F(smooth_l1_loss, EACH(choose)((I)(EACH(magnitude)(x) < b), a * x * x, EACH(magnitude)(x) - c))                    \
    F(smooth_l1_loss_grad, EACH(choose)((I)(EACH(magnitude)(x) < b), a * x, EACH(sign)(x)))                            \
    F(soft_relu, EACH(softplus)(EACH(clipped)(x, -a, a)))                                                              \
    F(soft_relu_grad, d *EACH(within)(x, -a, a) * EACH(lost)(x))                                                       \
    F(softplus, EACH(softplus)(x))                                                                                     \
    F(softplus_grad, d *EACH(sigmoid)(x))                                                                              \
    F(softshrink, (x - a) * EACH(ones)((I)(x > a)) + (x + a) * EACH(ones)((I)(x < -a)))                                \
    F(softshrink_grad, d *EACH(ones)((I)(x > a)) + d * EACH(ones)((I)(x < -a)))                                        \
    F(softsign, x / (1.0f + EACH(magnitude)(x)))                                                                       \
    F(softsign_grad, d / ((1.0f + EACH(magnitude)(x)) * (1.0f + EACH(magnitude)(x))))                                  \
    F(sqrt_grad, d * 0.5f / x)                                                                                         \
    F(square_grad, d * 2.0f * x)                                                                                       \
    F(swish, x / (1.0f + EACH(exp)(-a * x)))                                                                           \
    F(swish_grad, d *EACH(swish_grad)(x, a))                                                                           \
    F(tanh_grad, d *(1.0f - x * x))                                                                                    \
    F(thresholded_relu, x *EACH(ones)((I)(x > a)))                                                                     \
    F(thresholded_relu_grad, d *EACH(ones)((I)(x > a)))

#define NUMBER(name, expression) NUMBER_##name,
enum { CURVES(NUMBER) KNOWN };
#define TEXT(name, expression) #name,
static const char *const names[] = {CURVES(TEXT)};

#define LOOPS "_curves.h"
#include "_sets.h"

#include "_wide.h"

/* What threads share: the arrays of a call, and its numbers. */
typedef struct {
    Py_buffer x, d, out;
    int number;
    float a, b, c;
} Call;

static void some(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const Call *with = work;
    const float *x = (const float *)with->x.buf + begin, *d = with->d.obj ? (const float *)with->d.buf + begin : x;
    CALL(curve, with->number, x, d, (float *)with->out.buf + begin, end - begin, with->a, with->b, with->c);
}

/* curve(number, x, d or None, out, a, b, c, least, threads): set `out`, which may be X or D; a thread is worth `least`
   elements. */
static PyObject *curve(PyObject *module, PyObject *args) {
    Call with;
    Py_ssize_t least, threads;
    if (!PyArg_ParseTuple(args, "iy*z*w*fffnn", &with.number, &with.x, &with.d, &with.out, &with.a, &with.b, &with.c,
                          &least, &threads))
        return NULL;
    int ok = with.number >= 0 && with.number < KNOWN && with.x.len % 4 == 0 && with.out.len == with.x.len &&
             (with.d.obj == NULL || with.d.len == with.x.len);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(some, &with, with.x.len / 4, least, threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&with.x), PyBuffer_Release(&with.out);
    if (with.d.obj != NULL)
        PyBuffer_Release(&with.d);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "no such function, or the sizes do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"curve", curve, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* NAMES: the name of each number. */
static int prepare(PyObject *module) {
    PyObject *known = PyTuple_New(KNOWN);
    for (Py_ssize_t i = 0; known != NULL && i < KNOWN; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (name == NULL || PyTuple_SetItem(known, i, name) < 0)
            Py_CLEAR(known);
    }
    int failed = known == NULL || PyModule_AddObjectRef(module, "NAMES", known) < 0;
    Py_XDECREF(known);
    return failed ? -1 : take_share(module);
}

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_curves", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__curves(void) { return PyModuleDef_Init(&definition); }
