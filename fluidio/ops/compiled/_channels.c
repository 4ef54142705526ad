/* Batch normalisation, ReLU and max pooling in one pass over memory: channels.py says what each function does; NumPy
   does the same in several passes. Sizes are checked against the numbers given with them. */

#include "../../_python.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

#define CACHED (96 << 10) /* bytes of an array's channels that stay in a core's cache together with others */
#define SOME 16           /* channels that are computed together, at most */

typedef float four __attribute__((vector_size(16)));

typedef struct {
    Py_ssize_t images, channels, size; /* size: floats per plane */
} Planes;

typedef struct {
    Py_ssize_t planes, height, width, rows, cols, high, wide, step_y, step_x, pad_y, pad_x;
} Windows;

static Py_ssize_t clamp(Py_ssize_t value, Py_ssize_t low, Py_ssize_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Division that rounds up, for any sign of `a`. */
static Py_ssize_t up(Py_ssize_t a, Py_ssize_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

#if defined(__x86_64__)
#define NAME(x) x##_512
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,avx2")))
#define LANES 16
#include "_channels.h"
#define NAME(x) x##_256
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#include "_channels.h"
#endif
#define NAME(x) x##_128
#define TARGET
#define LANES 4
#include "_channels.h"

#include "_wide.h"

/* flush_denormals(bits) -> bits: set whether this thread flushes denormal results (0x8000) and operands (0x40) to zero,
   and return what it was; -1 leaves it. None where that is not known. */
static PyObject *flush_denormals(PyObject *module, PyObject *argument) {
    long bits = PyLong_AsLong(argument);
    if (bits == -1 && PyErr_Occurred())
        return NULL;
#if defined(__x86_64__)
    unsigned int control = __builtin_ia32_stmxcsr();
    if (bits >= 0 && (control & 0x8040) != (unsigned int)bits)
        __builtin_ia32_ldmxcsr((control & ~0x8040u) | ((unsigned int)bits & 0x8040));
    return PyLong_FromLong(control & 0x8040);
#else
    Py_RETURN_NONE;
#endif
}

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

/* Return whether the first `whole` buffers hold all planes, the others a number per channel; None fits anything. */
static int planes_fit(const Planes *p, const Py_buffer *buffers, int whole, int count) {
    if (p->images < 1 || p->channels < 1 || p->size < 1)
        return 0;
    for (int i = 0; i < count; i++) {
        Py_ssize_t floats = i < whole ? p->images * p->channels * p->size : p->channels;
        if (buffers[i].obj != NULL && buffers[i].len != 4 * floats)
            return 0;
    }
    return 1;
}

/* What threads share: the arrays of a call, its sizes and numbers. */
typedef struct {
    Py_buffer b[9];
    Planes p;
    Windows w;
    float number;
    int flag;
    atomic_int failed;
    Py_ssize_t least, threads; /* a thread is worth `least` channels, planes or elements */
} Call;

/* Do a call's work, `total` channels, planes or elements, on its threads; release its arrays. */
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

static void some_normalised(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    Py_buffer *b = c->b;
    CALL(normalise, &c->p, b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].buf, b[5].buf, b[6].buf, b[7].buf, c->number,
         c->flag, begin, end);
}

/* normalise(x, other or None, y, scale, bias, mean, variance, inverse, (images, channels, size), epsilon, relu, least,
   threads): fill y, and the statistics of the channels. */
static PyObject *normalise(PyObject *module, PyObject *args) {
    Call c = {.b = {{0}}};
    Py_buffer *b = c.b;
    if (!PyArg_ParseTuple(args, "y*z*w*y*y*w*w*w*(nnn)fpnn", b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6, b + 7,
                          &c.p.images, &c.p.channels, &c.p.size, &c.number, &c.flag, &c.least, &c.threads))
        return NULL;
    return run(&c, some_normalised, c.p.channels, 8, planes_fit(&c.p, b, 3, 8));
}

static void some_gradients(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    Py_buffer *b = c->b;
    CALL(normalise_grad, &c->p, b[0].buf, b[1].buf, b[2].buf, b[4].buf, b[5].buf, b[6].buf, b[3].buf, b[7].buf,
         b[8].buf, c->flag, begin, end);
}

/* normalise_grad(x, dy, out or None, dx or None, scale, mean, inverse, dscale, dbias, (images, channels, size), fixed,
   least, threads): with `out`, gradients count where that is above zero; `fixed`: statistics that were given. */
static PyObject *normalise_grad(PyObject *module, PyObject *args) {
    Call c = {.b = {{0}}};
    Py_buffer *b = c.b;
    PyObject *dx;
    if (!PyArg_ParseTuple(args, "y*y*z*Oy*y*y*w*w*(nnn)pnn", b, b + 1, b + 2, &dx, b + 4, b + 5, b + 6, b + 7, b + 8,
                          &c.p.images, &c.p.channels, &c.p.size, &c.flag, &c.least, &c.threads))
        return NULL;
    if (dx != Py_None && PyObject_GetBuffer(dx, b + 3, PyBUF_WRITABLE) < 0) {
        done(b, 9, 1);
        return NULL;
    }
    return run(&c, some_gradients, c.p.channels, 9, planes_fit(&c.p, b, 4, 9));
}

static void some_sums(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(sum_channels, &c->p, c->b[0].buf, c->b[1].buf, begin, end);
}

/* sum_channels(x, sums, (images, channels, size), least, threads) */
static PyObject *sum_channels(PyObject *module, PyObject *args) {
    Call c = {.b = {{0}}};
    Py_buffer *b = c.b;
    if (!PyArg_ParseTuple(args, "y*w*(nnn)nn", b, b + 1, &c.p.images, &c.p.channels, &c.p.size, &c.least, &c.threads))
        return NULL;
    return run(&c, some_sums, c.p.channels, 2, planes_fit(&c.p, b, 1, 2));
}

static void some_relu(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(relu_grad, (float *)c->b[0].buf + begin, (float *)c->b[1].buf + begin, (float *)c->b[2].buf + begin,
         end - begin);
}

/* relu_grad(out, dout, dx, least, threads) */
static PyObject *relu_grad(PyObject *module, PyObject *args) {
    Call c = {.b = {{0}}};
    Py_buffer *b = c.b;
    if (!PyArg_ParseTuple(args, "y*y*w*nn", b, b + 1, b + 2, &c.least, &c.threads))
        return NULL;
    return run(&c, some_relu, b[0].len / 4, 3, b[0].len == b[1].len && b[0].len == b[2].len);
}

static int windows_fit(const Windows *w, Py_ssize_t inputs, Py_ssize_t outputs) {
    return w->planes >= 0 && w->height > 0 && w->width > 0 && w->rows > 0 && w->cols > 0 && w->high > 0 &&
           w->wide > 0 && w->step_y > 0 && w->step_x > 0 && inputs == 4 * w->planes * w->height * w->width &&
           outputs == 4 * w->planes * w->rows * w->cols;
}

#define WINDOWS(w) &w.planes, &w.height, &w.width, &w.rows, &w.cols, &w.high, &w.wide, &w.step_y, &w.step_x, &w.pad_y, &w.pad_x

static void some_pooled(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(max_pool, &c->w, c->b[0].buf, c->b[1].buf, c->number, begin, end);
}

/* max_pool(x, out, (planes, height, width, rows, cols, high, wide, step_y, step_x, pad_y, pad_x), lowest, least,
   threads) */
static PyObject *max_pool(PyObject *module, PyObject *args) {
    Call c = {.b = {{0}}};
    if (!PyArg_ParseTuple(args, "y*w*(nnnnnnnnnnn)fnn", c.b, c.b + 1, WINDOWS(c.w), &c.number, &c.least, &c.threads))
        return NULL;
    return run(&c, some_pooled, c.w.planes, 2, windows_fit(&c.w, c.b[0].len, c.b[1].len));
}

static void some_spread(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    int32_t *waiting = malloc(4 * c->w.cols);
    if (waiting == NULL) {
        atomic_store(&c->failed, 1);
        return;
    }
    CALL(max_pool_grad, &c->w, c->b[0].buf, c->b[1].buf, c->b[2].buf, c->b[3].buf, waiting, begin, end);
    free(waiting);
}

/* max_pool_grad(x, out, dout, dx, (...), least, threads) */
static PyObject *max_pool_grad(PyObject *module, PyObject *args) {
    Call c = {.b = {{0}}};
    Py_buffer *b = c.b;
    if (!PyArg_ParseTuple(args, "y*y*y*w*(nnnnnnnnnnn)nn", b, b + 1, b + 2, b + 3, WINDOWS(c.w), &c.least, &c.threads))
        return NULL;
    int ok = windows_fit(&c.w, b[0].len, b[1].len) && b[2].len == b[1].len && b[3].len == b[0].len;
    return run(&c, some_spread, c.w.planes, 4, ok);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"flush_denormals", flush_denormals, METH_O, NULL},
    {"normalise", normalise, METH_VARARGS, NULL},
    {"normalise_grad", normalise_grad, METH_VARARGS, NULL},
    {"sum_channels", sum_channels, METH_VARARGS, NULL},
    {"relu_grad", relu_grad, METH_VARARGS, NULL},
    {"max_pool", max_pool, METH_VARARGS, NULL},
    {"max_pool_grad", max_pool_grad, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_channels", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__channels(void) { return PyModuleDef_Init(&definition); }
