/* The updates of Momentum and Adam in one pass over memory: updates.py says what each function does. Every operation is
   rounded as NumPy's, in the same order, so that the results have the same bits. */

#include "../../_python.h"

#include <math.h>

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

/* Release the buffers; raise if their sizes did not fit. */
static PyObject *done(Py_buffer *buffers, int count, int ok) {
    for (int i = 0; i < count; i++)
        PyBuffer_Release(buffers + i);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Return whether all buffers have one size, and [begin, end) lies in it. */
static int fit(const Py_buffer *buffers, int count, Py_ssize_t begin, Py_ssize_t end) {
    for (int i = 1; i < count; i++)
        if (buffers[i].len != buffers[0].len)
            return 0;
    return begin >= 0 && begin <= end && end <= buffers[0].len / 4;
}

/* momentum(param, grad, velocity, (mu, rate), nesterov, begin, end) */
static PyObject *momentum(PyObject *module, PyObject *args) {
    Py_buffer b[3];
    Momentum o;
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "w*y*w*(ff)pnn", b, b + 1, b + 2, &o.mu, &o.rate, &o.nesterov, &begin, &end))
        return NULL;
    int ok = fit(b, 3, begin, end);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        CALL(momentum, &o, (float *)b[0].buf + begin, (float *)b[1].buf + begin, (float *)b[2].buf + begin, end - begin);
        Py_END_ALLOW_THREADS
    }
    return done(b, 3, ok);
}

/* adam(param, grad, moment1, moment2, (beta1, 1 - beta1, beta2, 1 - beta2, epsilon, rate), begin, end) */
static PyObject *adam(PyObject *module, PyObject *args) {
    Py_buffer b[4];
    Adam o;
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "w*y*w*w*(ffffff)nn", b, b + 1, b + 2, b + 3, &o.first, &o.other_first, &o.second,
                          &o.other_second, &o.epsilon, &o.rate, &begin, &end))
        return NULL;
    int ok = fit(b, 4, begin, end);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        CALL(adam, &o, (float *)b[0].buf + begin, (float *)b[1].buf + begin, (float *)b[2].buf + begin,
             (float *)b[3].buf + begin, end - begin);
        Py_END_ALLOW_THREADS
    }
    return done(b, 4, ok);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"momentum", momentum, METH_VARARGS, NULL},
    {"adam", adam, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_updates", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__updates(void) { return PyModuleDef_Init(&definition); }
