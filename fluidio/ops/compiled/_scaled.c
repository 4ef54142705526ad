/* The updates of optimizers that are not in _updates.c, in one pass over memory: updates.py says what `scaled` does. Every
   operation is rounded as NumPy's, in the same order, so that the results have the same bits. */

#include "../../_python.h"

#include <math.h>
#include <stdint.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the instruction sets of GCC or Clang; NumPy does the same"
#endif

#define NUMBERS 6

/* Each update: its name, how many arrays it has beside parameter and gradient, and what it does with elements p, g, u, v, w
   and numbers a ... f. */
#define UPDATES(F)                                                                                                     \
    F(adadelta, 2, {                                                                                                   \
        float mean = u[i] * a + b * g[i] * g[i], below = mean + c;                                                     \
        float change = v[i] * a + b * ((v[i] + c) / below * g[i] * g[i]);                                              \
        u[i] = mean, v[i] = change;                                                                                    \
        p[i] -= sqrtf((change + c) / below) * g[i];                                                                    \
    })                                                                                                                 \
    F(adamax, 2, {                                                                                                     \
        float mean = u[i] * a + b * g[i], size = fabsf(g[i]), most = v[i] * c + d;                                     \
        most = size > most ? size : most;                                                                              \
        most = size == size ? most : size;                                                                             \
        u[i] = mean, v[i] = most;                                                                                      \
        p[i] -= e * (mean / most);                                                                                     \
    })                                                                                                                 \
    F(centered_rmsprop, 3, {                                                                                           \
        float square = u[i] * a + b * g[i] * g[i], mean = w[i] * a + b * g[i];                                         \
        float speed = v[i] * d + e * g[i] / sqrtf(square + c - mean * mean);                                           \
        u[i] = square, v[i] = speed, w[i] = mean;                                                                      \
        p[i] -= speed;                                                                                                 \
    })                                                                                                                 \
    F(decayed_adagrad, 1, {                                                                                            \
        float total = u[i] * a + b * g[i] * g[i];                                                                      \
        u[i] = total;                                                                                                  \
        p[i] -= d * g[i] / (sqrtf(total) + c);                                                                         \
    })                                                                                                                 \
    F(ftrl, 2, {                                                                                                       \
        float total = u[i] + g[i] * g[i], root = sqrtf(total);                                                         \
        float line = v[i] + (g[i] - (root - sqrtf(u[i])) / c * p[i]), sign = line > 0 ? 1.0f : line < 0 ? -1.0f : line; \
        float moved = (a * sign - line) / (root / c + b);                                                              \
        u[i] = total, v[i] = line;                                                                                     \
        p[i] = fabsf(line) > a ? moved : 0.0f;                                                                         \
    })                                                                                                                 \
    F(lamb, 3, {                                                                                                       \
        float first = u[i] * a + g[i] * b, second = v[i] * c + g[i] * d * g[i];                                        \
        u[i] = first, v[i] = second;                                                                                   \
        w[i] = first / (sqrtf(second) + e) + f * p[i];                                                                 \
    })                                                                                                                 \
    F(lars_momentum, 1, {                                                                                              \
        float speed = u[i] * a + b * (g[i] + c * p[i]);                                                                \
        u[i] = speed;                                                                                                  \
        p[i] -= speed;                                                                                                 \
    })                                                                                                                 \
    F(rmsprop, 2, {                                                                                                    \
        float square = u[i] * a + b * g[i] * g[i], speed = v[i] * d + e * g[i] / sqrtf(square + c);                    \
        u[i] = square, v[i] = speed;                                                                                   \
        p[i] -= speed;                                                                                                 \
    })

#define NUMBER(name, arrays, ...) NUMBER_##name,
enum { UPDATES(NUMBER) KNOWN };
#define TEXT(name, arrays, ...) #name,
static const char *const names[] = {UPDATES(TEXT)};
#define COUNT(name, arrays, ...) arrays,
static const int counts[] = {UPDATES(COUNT)};

#define CASE(name, arrays, ...)                                                                                       \
    case NUMBER_##name:                                                                                                \
        for (Py_ssize_t i = 0; i < count; i++)                                                                         \
            __VA_ARGS__ break;
#define DEFINE(bits, target)                                                                                           \
    target static void update_##bits(int number, const float *n, float *p, const float *g, float *u, float *v,         \
                                     float *w, Py_ssize_t count) {                                                     \
        float a = n[0], b = n[1], c = n[2], d = n[3], e = n[4], f = n[5];                                              \
        switch (number) { UPDATES(CASE) }                                                                              \
    }

#if defined(__x86_64__)
DEFINE(512, __attribute__((target("avx512f,avx512vl,avx512dq,prefer-vector-width=512"))))
DEFINE(256, __attribute__((target("avx2"))))
#endif
DEFINE(128, )

#include "_wide.h"

/* What threads share: parameter, gradient and accumulators, and the numbers of the update. */
typedef struct {
    Py_buffer arrays[5];
    int number;
    float numbers[NUMBERS];
} Call;

static void some(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    float *at[5];
    for (int i = 0; i < 5; i++)
        at[i] = c->arrays[i].obj == NULL ? NULL : (float *)c->arrays[i].buf + begin;
    CALL(update, c->number, c->numbers, at[0], at[1], at[2], at[3], at[4], end - begin);
}

/* scaled(number, param, grad, u, v or None, w or None, numbers, least, threads): update all but the gradient in place; a
   thread is worth `least` elements. */
static PyObject *scaled(PyObject *module, PyObject *args) {
    Call c;
    Py_buffer *b = c.arrays;
    float *n = c.numbers;
    Py_ssize_t least, threads;
    if (!PyArg_ParseTuple(args, "iw*y*w*z*z*(ffffff)nn", &c.number, b, b + 1, b + 2, b + 3, b + 4, n, n + 1, n + 2, n + 3,
                          n + 4, n + 5, &least, &threads))
        return NULL;
    int ok = c.number >= 0 && c.number < KNOWN && b[0].len % 4 == 0;
    for (int i = 1; i < 5; i++) {
        int needed = i < 2 || (ok && i < 2 + counts[c.number]);
        ok = ok && (b[i].obj == NULL ? !needed : b[i].len == b[0].len && (i == 1 || !b[i].readonly));
    }
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(some, &c, b[0].len / 4, least, threads);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < 5; i++)
        if (b[i].obj != NULL)
            PyBuffer_Release(b + i);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "no such update, or the sizes do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"scaled", scaled, METH_VARARGS, NULL},
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

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_scaled", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scaled(void) { return PyModuleDef_Init(&definition); }
