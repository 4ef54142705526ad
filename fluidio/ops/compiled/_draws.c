/* The states of Fluid's random engine as numbers in an interval: engine.py says what they are, and does it in NumPy.

   s <- 48271 s mod (2^31 - 1). Eight states go side by side, each eight steps on, so that no product waits for another.
   No product of floats is fused with a sum: the bits are those of two roundings.
*/

#include "../../_python.h"

#include <stdint.h>

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

static PyMethodDef methods[] = {{"uniform", uniform, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_draws", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__draws(void) { return PyModuleDef_Init(&definition); }
