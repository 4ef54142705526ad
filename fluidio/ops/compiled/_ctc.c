/* The probability of labels by all paths that spell them, and each state's part in it: ctc.py says what `paths` does.

   Probabilities of long paths lie far below the smallest double. They are kept as a double times a power of two. */

#include "../../_python.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_pool.h"

/* m times 2^e; m is zero, or between 2^-8 and 2^8 or so. */
typedef struct {
    double m;
    int64_t e;
} Wide;

static const Wide nothing = {0, 0};

/* 2^n for n from -1000 to 0; zero below. */
static double two_to(int64_t n) {
    uint64_t bits = n < -1000 ? 0 : (uint64_t)(n + 1023) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return power;
}

static Wide sum(Wide a, Wide b) {
    if (a.m == 0 || b.m == 0)
        return a.m == 0 ? b : a;
    if (a.e < b.e) {
        Wide c = a;
        a = b, b = c;
    }
    a.m += b.m * two_to(b.e - a.e);
    return a;
}

static Wide product(Wide a, Wide b) {
    Wide c = {a.m * b.m, a.e + b.e};
    uint64_t bits;
    memcpy(&bits, &c.m, 8);
    int64_t shift = (int64_t)(bits >> 52) - 1023; /* c.m is zero or a normal number above zero */
    if (c.m == 0)
        return nothing;
    bits -= (uint64_t)shift << 52;
    memcpy(&c.m, &bits, 8);
    c.e += shift;
    return c;
}

/* exp(x) for a number up to 0, minus infinity included. */
static Wide power_of_e(double x) {
    if (!(x > -1e15))
        return nothing;
    double whole = floor(x * 1.4426950408889634);
    Wide found = {exp((x - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10), (int64_t)whole};
    return found;
}

/* Sequences: step t of sequence n is row first[n] + t * stride of `scores`, which are logarithms of probabilities; its
   labels begin at label_at[n]. */
typedef struct {
    Py_buffer scores, first, times, labels, label_at, shares, loss;
    Py_ssize_t sequences, classes, stride, rows, failed;
    int64_t blank, longest;
} Call;

/* Fill `loss` and, in the rows of `shares`, the probability that a path is at a class; `room` is work memory. */
static void one(const Call *c, Py_ssize_t n, Wide *room) {
    int64_t first = ((const int64_t *)c->first.buf)[n], times = ((const int64_t *)c->times.buf)[n];
    const int64_t *at = (const int64_t *)c->label_at.buf + n, *label = (const int64_t *)c->labels.buf + at[0];
    int64_t states = 2 * (at[1] - at[0]) + 1;
    float *loss = (float *)c->loss.buf + n;
    Wide *alpha = room, *emitted = room + times * states, *beta = emitted + times * states, *ahead = beta + states;
    *loss = states > 1 ? NAN : 0;
    if (times == 0)
        return;
    *loss = NAN;
#define STATE(s) ((s) % 2 ? label[(s) / 2] : c->blank)
#define JUMPS(s) ((s) % 2 && (s) > 2 && label[(s) / 2] != c->blank && label[(s) / 2] != label[(s) / 2 - 1])
    for (int64_t t = 0; t < times; t++) {
        const float *row = (const float *)c->scores.buf + (first + t * c->stride) * c->classes;
        Wide *here = emitted + t * states, *now = alpha + t * states, *before = now - states;
        Wide blank = power_of_e(row[c->blank]);
        for (int64_t s = 0; s < states; s++) {
            here[s] = s % 2 ? power_of_e(row[label[s / 2]]) : blank;
            Wide reach = t ? before[s] : s < 2 ? (Wide){1, 0} : nothing;
            if (t && s > 0)
                reach = sum(reach, before[s - 1]);
            if (t && JUMPS(s))
                reach = sum(reach, before[s - 2]);
            now[s] = product(reach, here[s]);
        }
    }
    Wide *last = alpha + (times - 1) * states, total = last[states - 1];
    if (states > 1)
        total = sum(total, last[states - 2]);
    if (total.m == 0)
        return;
    *loss = (float)-(log(total.m) + (double)total.e * 0.6931471805599453);
    for (int64_t t = times - 1; t >= 0; t--) {
        for (int64_t s = 0; s < states; s++) {
            if (t == times - 1) {
                beta[s] = s >= states - 2 ? (Wide){1, 0} : nothing;
                continue;
            }
            beta[s] = ahead[s];
            if (s + 1 < states)
                beta[s] = sum(beta[s], ahead[s + 1]);
            if (s + 2 < states && JUMPS(s + 2))
                beta[s] = sum(beta[s], ahead[s + 2]);
        }
        float *row = (float *)c->shares.buf + (first + t * c->stride) * c->classes;
        for (int64_t s = 0; s < states; s++) {
            Wide both = product(alpha[t * states + s], beta[s]);
            int64_t apart = both.e - total.e;
            if (both.m != 0)
                row[STATE(s)] += (float)(both.m / total.m * (apart > 0 ? 1 / two_to(-apart) : two_to(apart)));
            ahead[s] = product(beta[s], emitted[t * states + s]);
        }
    }
}

static void some(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    Wide *room = malloc((size_t)c->longest * sizeof(Wide));
    if (room == NULL) {
        __atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (Py_ssize_t n = begin; n < end; n++)
        one(c, n, room);
    free(room);
}

/* Check every number that `one` uses, and set the work memory of the longest sequence. */
static int fits(Call *c) {
    const int64_t *first = c->first.buf, *times = c->times.buf, *label = c->labels.buf, *at = c->label_at.buf;
    Py_ssize_t labels = c->labels.len / 8, most = (Py_ssize_t)1 << 28;
    c->longest = 1;
    if (c->classes < 1 || c->stride < 1 || c->scores.len % (4 * c->classes) || c->shares.len != c->scores.len ||
        c->times.len != c->first.len || c->label_at.len != c->first.len + 8 || c->loss.len * 2 != c->first.len ||
        c->blank < 0 || c->blank >= c->classes)
        return 0;
    c->rows = c->scores.len / 4 / c->classes;
    for (Py_ssize_t i = 0; i < labels; i++)
        if (label[i] < 0 || label[i] >= c->classes)
            return 0;
    for (Py_ssize_t n = 0; n < c->sequences; n++) {
        if (at[n] < 0 || at[n + 1] < at[n] || at[n + 1] > labels || times[n] < 0 || times[n] > c->rows)
            return 0;
        if (times[n] && (first[n] < 0 || first[n] >= c->rows || (c->rows - 1 - first[n]) / c->stride < times[n] - 1))
            return 0;
        int64_t states = 2 * (at[n + 1] - at[n]) + 1;
        if (states >= most || states > most / (times[n] + 1))
            return 0;
        if (2 * (times[n] + 1) * states > c->longest)
            c->longest = 2 * (times[n] + 1) * states;
    }
    return 1;
}

/* paths(scores, classes, first, stride, times, labels, label_at, blank, shares, loss, threads): set the losses, NaN where
   no path spells the labels, and add to `shares`, which is zero. */
static PyObject *paths(PyObject *module, PyObject *args) {
    Call c = {.failed = 0};
    Py_ssize_t threads, blank;
    if (!PyArg_ParseTuple(args, "y*ny*ny*y*y*nw*w*n", &c.scores, &c.classes, &c.first, &c.stride, &c.times, &c.labels,
                          &c.label_at, &blank, &c.shares, &c.loss, &threads))
        return NULL;
    c.blank = blank;
    c.sequences = c.first.len / 8;
    int ok = fits(&c);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(some, &c, c.sequences, 4, threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&c.scores), PyBuffer_Release(&c.first), PyBuffer_Release(&c.times), PyBuffer_Release(&c.labels);
    PyBuffer_Release(&c.label_at), PyBuffer_Release(&c.shares), PyBuffer_Release(&c.loss);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes of sequences or labels do not fit the arrays");
        return NULL;
    }
    if (c.failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"paths", paths, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_ctc", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__ctc(void) { return PyModuleDef_Init(&definition); }
