/* Softmax along rows of float32: softmax.py says what each function does; NumPy does the same in several passes. */

#include "../../_python.h"

#include <stdint.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

#define LOOPS "_softmax.h"
#include "_sets.h"

#include "_wide.h"

/* What threads share: the arrays of a call. */
typedef struct {
    Py_buffer b[4];
    Py_ssize_t width, least, threads; /* a thread is worth `least` rows */
} Call;

/* Do a call's work on its threads if all sizes fit; release its arrays. */
static PyObject *run(Call *c, Part *part, int whole, int buffers) {
    Py_ssize_t rows = c->width > 0 ? c->b[0].len / 4 / c->width : 0;
    int ok = c->width > 0;
    for (int i = 0; i < buffers; i++)
        ok = ok && c->b[i].len == 4 * rows * (i < whole ? c->width : 1);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(part, c, rows, c->least, c->threads);
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

static void some_rows(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(softmax, c->b[0].buf, c->b[1].buf, c->b[2].buf, c->b[3].buf, c->width, begin, end);
}

/* softmax(x, out, largest, sums, width, least, threads): fill the softmax of each row, its maximum and denominator. */
static PyObject *softmax(PyObject *module, PyObject *args) {
    Call c;
    if (!PyArg_ParseTuple(args, "y*w*w*w*nnn", c.b, c.b + 1, c.b + 2, c.b + 3, &c.width, &c.least, &c.threads))
        return NULL;
    return run(&c, some_rows, 2, 4);
}

static void some_gradients(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    CALL(softmax_grad, c->b[0].buf, c->b[1].buf, c->b[2].buf, c->width, begin, end);
}

/* softmax_grad(out, dout, dx, width, least, threads) */
static PyObject *softmax_grad(PyObject *module, PyObject *args) {
    Call c;
    if (!PyArg_ParseTuple(args, "y*y*w*nnn", c.b, c.b + 1, c.b + 2, &c.width, &c.least, &c.threads))
        return NULL;
    return run(&c, some_gradients, 3, 3);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"softmax", softmax, METH_VARARGS, NULL},
    {"softmax_grad", softmax_grad, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_softmax", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__softmax(void) { return PyModuleDef_Init(&definition); }
