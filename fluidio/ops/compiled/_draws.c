/* The states of Fluid's random engine as numbers in an interval, and the numbers of its other engines: engine.py,
   integers.py and samplers.py say what they are, and do it in Python.

   s <- 48271 s mod (2^31 - 1). Eight states go side by side, each eight steps on, so that no product waits for another.
   No product of floats is fused with a sum: the bits are those of two roundings.
*/

#include "../../_python.h"

#include <stdint.h>
#include <string.h>

#define LANES 8
#define MODULUS 2147483647u
#define MULTIPLIER 48271u

static uint32_t step(uint32_t state, uint32_t factor) {
    uint64_t product = (uint64_t)state * factor;
    uint32_t folded = (uint32_t)(product & MODULUS) + (uint32_t)(product >> 31);
    return folded >= MODULUS ? folded - MODULUS : folded;
}

static void fill(float *to, Py_ssize_t count, uint32_t state, float span, float low) {
    uint32_t lanes[LANES], jump = 1;
    for (int i = 0; i < LANES; i++) {
        lanes[i] = state = step(state, MULTIPLIER);
        jump = step(jump, MULTIPLIER);
    }
    Py_ssize_t at = 0;
    for (; at + LANES <= count; at += LANES)
        for (int i = 0; i < LANES; i++) {
            float drawn = (float)(int32_t)(lanes[i] - 1) / 2147483648.0f;
            float wide = drawn * span;
            to[at + i] = wide + low;
            lanes[i] = step(lanes[i], jump);
        }
    for (int i = 0; at + i < count; i++) {
        float drawn = (float)(int32_t)(lanes[i] - 1) / 2147483648.0f;
        float wide = drawn * span;
        to[at + i] = wide + low;
    }
}

/* uniform(out, state, span, low): fill a buffer of float32 with numbers of the engine whose state is given. */
static PyObject *uniform(PyObject *module, PyObject *args) {
    Py_buffer out;
    unsigned long state;
    float span, low;
    if (!PyArg_ParseTuple(args, "w*kff", &out, &state, &span, &low))
        return NULL;
    if (out.len % 4 != 0 || state == 0 || state >= MODULUS) {
        PyBuffer_Release(&out);
        PyErr_SetString(PyExc_ValueError, "uniform needs a buffer of float32 and a state of the engine");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    fill(out.buf, out.len / 4, (uint32_t)state, span, low);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

/* below(out, state, bound, low): fill a buffer of int64 with low ... low + bound - 1: states that are too large for equal
   chances are left out. */
static PyObject *below(PyObject *module, PyObject *args) {
    Py_buffer out;
    unsigned long start, bound;
    long long low;
    if (!PyArg_ParseTuple(args, "w*kkL", &out, &start, &bound, &low))
        return NULL;
    if (out.len % 8 != 0 || start == 0 || start >= MODULUS || bound == 0 || bound > MODULUS - 2) {
        PyBuffer_Release(&out);
        PyErr_SetString(PyExc_ValueError, "below needs a buffer of int64, a state of the engine and a bound below 2^31");
        return NULL;
    }
    uint32_t state = (uint32_t)start, scaling = (MODULUS - 2) / (uint32_t)bound, most = scaling * (uint32_t)bound;
    int64_t *to = out.buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < out.len / 8; i++) {
        do
            state = step(state, MULTIPLIER);
        while (state - 1 >= most);
        to[i] = low + (state - 1) / scaling;
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

#define WORDS 31 /* of glibc's additive generator */

/* shuffle(out, words): fill a buffer of int64 with 0 ... count - 1 in the order that glibc's rand() gives, whose first
   state is given: each number in turn is swapped with itself or one before it. */
static PyObject *shuffle(PyObject *module, PyObject *args) {
    Py_buffer out, words;
    if (!PyArg_ParseTuple(args, "w*y*", &out, &words))
        return NULL;
    int ok = out.len % 8 == 0 && words.len == 4 * WORDS;
    if (ok) {
        uint32_t state[WORDS];
        memcpy(state, words.buf, sizeof state);
        int64_t *order = out.buf, count = out.len / 8;
        Py_BEGIN_ALLOW_THREADS
        for (int64_t i = 0; i < count; i++)
            order[i] = i;
        for (int64_t i = 1, n = -310; i < count; n++) {
            int place = (int)((n + 313) % WORDS);
            state[place] += state[(place + 28) % WORDS];
            if (n < 0)
                continue; /* the first ones are not used */
            int64_t j = (state[place] >> 1) % (i + 1), swap = order[i];
            order[i++] = order[j], order[j] = swap;
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&out), PyBuffer_Release(&words);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "shuffle needs a buffer of int64 and 31 words of 32 bits");
        return NULL;
    }
    Py_RETURN_NONE;
}

#define LONG 312 /* words of mt19937_64 */

/* words(out, seed): fill a buffer of uint64 with the numbers of mt19937_64. */
static PyObject *words(PyObject *module, PyObject *args) {
    Py_buffer out;
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "w*K", &out, &seed))
        return NULL;
    if (out.len % 8 != 0) {
        PyBuffer_Release(&out);
        PyErr_SetString(PyExc_ValueError, "words needs a buffer of uint64");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    uint64_t state[LONG] = {seed}, *to = out.buf;
    for (int i = 1; i < LONG; i++)
        state[i] = 6364136223846793005u * (state[i - 1] ^ (state[i - 1] >> 62)) + (uint64_t)i;
    for (Py_ssize_t n = 0; n < out.len / 8; n++) {
        int i = (int)(n % LONG);
        uint64_t mixed = (state[i] & 0xFFFFFFFF80000000u) | (state[(i + 1) % LONG] & 0x7FFFFFFFu);
        uint64_t y = state[i] = state[(i + LONG / 2) % LONG] ^ (mixed >> 1) ^ (mixed & 1 ? 0xB5026F5AA96619E9u : 0);
        y ^= (y >> 29) & 0x5555555555555555u;
        y ^= (y << 17) & 0x71D67FFFEDA60000u;
        y ^= (y << 37) & 0xFFF7EEE000000000u;
        to[n] = y ^ (y >> 43);
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"uniform", uniform, METH_VARARGS, NULL}, {"below", below, METH_VARARGS, NULL},
    {"shuffle", shuffle, METH_VARARGS, NULL}, {"words", words, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_draws", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__draws(void) { return PyModuleDef_Init(&definition); }
