/* Greedy suppression of boxes that overlap better ones: nms.py documents it and implements it in NumPy. */

#include "../../_python.h"

#include <stdint.h>

static float area(const float *box, float extra) {
    float width = box[2] - box[0], height = box[3] - box[1];
    return width < 0 || height < 0 ? 0.0f : (width + extra) * (height + extra);
}

static float overlap(const float *a, const float *b, float extra) {
    float left = a[0] > b[0] ? a[0] : b[0], top = a[1] > b[1] ? a[1] : b[1];
    float right = a[2] < b[2] ? a[2] : b[2], bottom = a[3] < b[3] ? a[3] : b[3];
    if (b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1]) // one turned inside out may still meet others
        return 0.0f;
    float shared = (right - left + extra) * (bottom - top + extra);
    return shared / (area(a, extra) + area(b, extra) - shared);
}

static Py_ssize_t keep(const float *boxes, Py_ssize_t count, int64_t *kept, float threshold, float eta, float extra,
                       Py_ssize_t most) {
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < count && found != most; i++) {
        int apart = 1;
        for (Py_ssize_t j = 0; j < found && apart; j++)
            apart = overlap(boxes + 4 * kept[j], boxes + 4 * i, extra) <= threshold; // no for NaN: points in one place
        if (!apart)
            continue;
        kept[found++] = i;
        if (eta < 1 && threshold > 0.5f)
            threshold *= eta;
    }
    return found;
}

/* keep_apart(boxes, kept, threshold, eta, normalized, most): number the kept boxes in `kept`; return how many. */
static PyObject *keep_apart(PyObject *module, PyObject *args) {
    Py_buffer boxes, kept;
    float threshold, eta;
    int normalized;
    Py_ssize_t most, found;
    if (!PyArg_ParseTuple(args, "y*w*ffpn", &boxes, &kept, &threshold, &eta, &normalized, &most))
        return NULL;
    if (boxes.len % 16 != 0 || kept.len != boxes.len / 2) {
        PyBuffer_Release(&boxes);
        PyBuffer_Release(&kept);
        PyErr_SetString(PyExc_ValueError, "keep_apart needs boxes of four float32 and an int64 for each");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    found = keep(boxes.buf, boxes.len / 16, kept.buf, threshold, eta, normalized ? 0.0f : 1.0f, most);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&boxes);
    PyBuffer_Release(&kept);
    return PyLong_FromSsize_t(found);
}

static PyMethodDef methods[] = {{"keep_apart", keep_apart, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_suppress", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__suppress(void) { return PyModuleDef_Init(&definition); }
