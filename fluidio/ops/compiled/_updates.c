/* The updates of Momentum and Adam in one pass over memory: updates.py says what each function does. Every operation is
   rounded as NumPy's, in the same order, so that the results have the same bits. */

#include "../../_python.h"

#include <math.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the instruction sets of GCC or Clang; NumPy does the same"
#endif

typedef struct {
    float mu, rate;
    int nesterov;
} Momentum;

typedef struct {
    float first, other_first, second, other_second, epsilon, rate; /* other: 1 - the one before */
} Adam;

#define DEFINE(bits, target)                                                                                           \
    target static void momentum_##bits(const Momentum *o, float *p, const float *g, float *v, Py_ssize_t count) {      \
        float mu = o->mu, rate = o->rate;                                                                              \
        if (o->nesterov)                                                                                               \
            for (Py_ssize_t i = 0; i < count; i++) {                                                                   \
                float speed = v[i] * mu + g[i];                                                                        \
                v[i] = speed;                                                                                          \
                p[i] -= (speed * mu + g[i]) * rate;                                                                    \
            }                                                                                                          \
        else                                                                                                           \
            for (Py_ssize_t i = 0; i < count; i++) {                                                                   \
                float speed = v[i] * mu + g[i];                                                                        \
                v[i] = speed;                                                                                          \
                p[i] -= speed * rate;                                                                                  \
            }                                                                                                          \
    }                                                                                                                  \
    target static void adam_##bits(const Adam *o, float *p, const float *g, float *m1, float *m2, Py_ssize_t count) {  \
        Adam a = *o;                                                                                                   \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            float first = m1[i] * a.first + g[i] * a.other_first;                                                      \
            float second = m2[i] * a.second + g[i] * a.other_second * g[i];                                            \
            m1[i] = first;                                                                                             \
            m2[i] = second;                                                                                            \
            p[i] -= first / (sqrtf(second) + a.epsilon) * a.rate;                                                      \
        }                                                                                                              \
    }

#if defined(__x86_64__)
DEFINE(512, __attribute__((target("avx512f,avx512vl,prefer-vector-width=512"))))
DEFINE(256, __attribute__((target("avx2"))))
#endif
DEFINE(128, )

static int wide = 0; /* 0, 1, 2: vectors of 128, 256, 512 bits */
#if defined(__x86_64__)
#define CALL(name, ...)                                                                                                \
    (wide == 2 ? name##_512(__VA_ARGS__) : wide == 1 ? name##_256(__VA_ARGS__) : name##_128(__VA_ARGS__))
#else
#define CALL(name, ...) name##_128(__VA_ARGS__)
#endif

/* instructions(bits) -> bits: use vectors of at most this many bits; return the width the processor supports. */
static PyObject *instructions(PyObject *module, PyObject *args) {
    int bits = 0;
    if (!PyArg_ParseTuple(args, "i", &bits))
        return NULL;
    wide = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (bits >= 256 && __builtin_cpu_supports("avx2"))
        wide = 1;
    if (wide && bits >= 512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        wide = 2;
#endif
    return PyLong_FromLong(128L << wide);
}

/* What threads share: the arrays of an update and its numbers. */
typedef struct {
    Py_buffer b[4];
    Momentum momentum;
    Adam adam;
    Py_ssize_t least, threads; /* a thread is worth `least` elements */
} Call;

/* Update on the call's threads if all arrays have one size; release them. */
static PyObject *run(Call *c, Part *part, int buffers) {
    int ok = 1;
    for (int i = 1; i < buffers; i++)
        ok = ok && c->b[i].len == c->b[0].len;
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(part, c, c->b[0].len / 4, c->least, c->threads);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < buffers; i++)
        PyBuffer_Release(c->b + i);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

#define FROM(i) ((float *)c->b[i].buf + begin)

static void some_momentum(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(momentum, &c->momentum, FROM(0), FROM(1), FROM(2), end - begin);
}

/* momentum(param, grad, velocity, (mu, rate), nesterov, least, threads) */
static PyObject *momentum(PyObject *module, PyObject *args) {
    Call c;
    Momentum *o = &c.momentum;
    if (!PyArg_ParseTuple(args, "w*y*w*(ff)pnn", c.b, c.b + 1, c.b + 2, &o->mu, &o->rate, &o->nesterov, &c.least,
                          &c.threads))
        return NULL;
    return run(&c, some_momentum, 3);
}

static void some_adam(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(adam, &c->adam, FROM(0), FROM(1), FROM(2), FROM(3), end - begin);
}

/* adam(param, grad, moment1, moment2, (beta1, 1 - beta1, beta2, 1 - beta2, epsilon, rate), least, threads) */
static PyObject *adam(PyObject *module, PyObject *args) {
    Call c;
    Adam *o = &c.adam;
    if (!PyArg_ParseTuple(args, "w*y*w*w*(ffffff)nn", c.b, c.b + 1, c.b + 2, c.b + 3, &o->first, &o->other_first,
                          &o->second, &o->other_second, &o->epsilon, &o->rate, &c.least, &c.threads))
        return NULL;
    return run(&c, some_adam, 4);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"momentum", momentum, METH_VARARGS, NULL},
    {"adam", adam, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_updates", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__updates(void) { return PyModuleDef_Init(&definition); }
