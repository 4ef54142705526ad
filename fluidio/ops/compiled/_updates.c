/* The updates of Momentum, Adam and Adagrad in one pass over memory: updates.py says what each function does. Every operation is
   rounded as NumPy's, in the same order, so that the results have the same bits. */

#include "../../_python.h"

#include <math.h>
#include <stdint.h>

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
    }                                                                                                                  \
    target static void lazy_adam_##bits(const Adam *o, float *p, const float *g, float *m1, float *m2,                 \
                                        Py_ssize_t count) {                                                            \
        Adam a = *o;                                                                                                   \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            float first = m1[i] * a.first + g[i] * a.other_first;                                                      \
            float second = m2[i] * a.second + g[i] * a.other_second * g[i];                                            \
            m1[i] = first;                                                                                             \
            m2[i] = second;                                                                                            \
            p[i] -= a.rate * first / (sqrtf(second) + a.epsilon);                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    target static void adagrad_##bits(float rate, float epsilon, float *p, const float *g, float *m,                   \
                                      Py_ssize_t count) {                                                              \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            float total = m[i] + g[i] * g[i];                                                                          \
            m[i] = total;                                                                                              \
            p[i] -= rate * g[i] / (sqrtf(total) + epsilon);                                                            \
        }                                                                                                              \
    }

#if defined(__x86_64__)
DEFINE(512, __attribute__((target("avx512f,avx512vl,prefer-vector-width=512"))))
DEFINE(256, __attribute__((target("avx2"))))
#endif
DEFINE(128, )

#include "_wide.h"

/* What threads share: the arrays of an update and its numbers. */
typedef struct {
    Py_buffer b[5];
    Momentum momentum;
    Adam adam;
    float rate, epsilon; /* Adagrad's */
    Py_ssize_t width;    /* of the rows of a lazy update */
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

static void some_adam_rows(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    const int64_t *rows = c->b[4].buf;
    for (Py_ssize_t i = begin; i < end; i++) {
        Py_ssize_t at = rows[i] * c->width;
        CALL(lazy_adam, &c->adam, (float *)c->b[0].buf + at, (const float *)c->b[1].buf + i * c->width,
             (float *)c->b[2].buf + at, (float *)c->b[3].buf + at, c->width);
    }
}

/* Return whether a lazy update has values of `width` for its rows, and the three tables have these rows. */
static int has_rows(const Call *c) {
    Py_ssize_t count = c->b[4].len / 8;
    if (c->width < 1 || c->b[4].len != 8 * count || c->b[1].len != 4 * c->width * count ||
        c->b[2].len != c->b[0].len || c->b[3].len != c->b[0].len)
        return 0;
    for (const int64_t *row = c->b[4].buf, *end = row + count; row < end; row++)
        if (*row < 0 || *row >= c->b[0].len / 4 / c->width)
            return 0;
    return 1;
}

/* adam_rows(param, values, moment1, moment2, rows, (as for adam), width, least, threads) -> whether there are these
   rows: update them, each of which occurs once. */
static PyObject *adam_rows(PyObject *module, PyObject *args) {
    Call c;
    Adam *o = &c.adam;
    if (!PyArg_ParseTuple(args, "w*y*w*w*y*(ffffff)nnn", c.b, c.b + 1, c.b + 2, c.b + 3, c.b + 4, &o->first,
                          &o->other_first, &o->second, &o->other_second, &o->epsilon, &o->rate, &c.width, &c.least,
                          &c.threads))
        return NULL;
    int ok = has_rows(&c);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(some_adam_rows, &c, c.b[4].len / 8, c.least, c.threads);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < 5; i++)
        PyBuffer_Release(c.b + i);
    return PyBool_FromLong(ok);
}

static void some_adagrad(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(adagrad, c->rate, c->epsilon, FROM(0), FROM(1), FROM(2), end - begin);
}

/* adagrad(param, grad, moment, rate, epsilon, least, threads) */
static PyObject *adagrad(PyObject *module, PyObject *args) {
    Call c;
    if (!PyArg_ParseTuple(args, "w*y*w*ffnn", c.b, c.b + 1, c.b + 2, &c.rate, &c.epsilon, &c.least, &c.threads))
        return NULL;
    return run(&c, some_adagrad, 3);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"momentum", momentum, METH_VARARGS, NULL},
    {"adam", adam, METH_VARARGS, NULL},
    {"adam_rows", adam_rows, METH_VARARGS, NULL},
    {"adagrad", adagrad, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_updates", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__updates(void) { return PyModuleDef_Init(&definition); }
