/* Loops for vectors of several widths: CALL(name, ...) calls name_512, name_256 or name_128. */

#include "_widest.h"

static int wide = 128; /* bits of vectors */
#if defined(__x86_64__)
#define CALL(name, ...)                                                                                                \
    (wide == 512 ? name##_512(__VA_ARGS__) : wide == 256 ? name##_256(__VA_ARGS__) : name##_128(__VA_ARGS__))
#else
#define CALL(name, ...) name##_128(__VA_ARGS__)
#endif

/* instructions(bits) -> bits: use vectors of at most this many bits; return the width the processor supports. */
static PyObject *instructions(PyObject *module, PyObject *args) {
    int bits = 0;
    if (!PyArg_ParseTuple(args, "i", &bits))
        return NULL;
    wide = widest(bits);
    return PyLong_FromLong(wide);
}
