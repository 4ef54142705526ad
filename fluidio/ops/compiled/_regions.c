/* Largest elements and means of the cells of regions: roi.py and roi_parts.py implement them in NumPy. */

#include "../../_python.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    Py_ssize_t images, channels, height, width, rows, columns;
} Sizes;

#define LOOPS "_regions.h"
#include "_sets.h"
#include "_wide.h"

/* `edges` are the first pixel and the one after the last of each row of cells, then of each column. The first of equal
   pixels is taken. */
static void largest(const Sizes *s, const float *plane, const int64_t *edges, float *out, int64_t *where, float *most,
                    int32_t *row) {
    const int64_t *across = edges + 2 * s->rows;
    int64_t left = s->width, right = 0;
    for (Py_ssize_t j = 0; j < s->columns; j++)
        if (across[2 * j] < across[2 * j + 1]) {
            left = across[2 * j] < left ? across[2 * j] : left;
            right = across[2 * j + 1] > right ? across[2 * j + 1] : right;
        }
    for (Py_ssize_t i = 0; i < s->rows; i++) {
        CALL(tops, plane, s->width, edges[2 * i], edges[2 * i + 1], left, right, most, row);
        for (Py_ssize_t j = 0; j < s->columns; j++, out++, where++) {
            float best = -FLT_MAX;
            int64_t at = -1, line = INT32_MAX;
            for (int64_t x = across[2 * j]; x < across[2 * j + 1]; x++)
                if (row[x] >= 0 && (most[x] > best || (most[x] == best && row[x] < line)))
                    best = most[x], line = row[x], at = line * s->width + x;
            *where = at;
            *out = edges[2 * i] < edges[2 * i + 1] && across[2 * j] < across[2 * j + 1] ? best : 0;
        }
    }
}

static int lies_inside(const Sizes *s, const int64_t *image, const int64_t *edges, Py_ssize_t begin, Py_ssize_t end) {
    Py_ssize_t each = 2 * (s->rows + s->columns);
    for (Py_ssize_t n = begin; n < end; n++) {
        if (image[n] < 0 || image[n] >= s->images)
            return 0;
        for (Py_ssize_t i = 0; i < each; i++)
            if (edges[n * each + i] < 0 || edges[n * each + i] > (i < 2 * s->rows ? s->height : s->width))
                return 0;
    }
    return 1;
}

/* pool(x, image, edges, out, where, (images, channels, height, width, rows, columns), begin, end): fill `out` and
   `where` for the regions [begin, end). */
static PyObject *pool(PyObject *module, PyObject *args) {
    Py_buffer x, image, edges, out, where;
    Sizes s;
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*(nnnnnn)nn", &x, &image, &edges, &out, &where, &s.images, &s.channels,
                          &s.height, &s.width, &s.rows, &s.columns, &begin, &end))
        return NULL;
    Py_ssize_t regions = image.len / 8, cells = s.rows * s.columns, many = (Py_ssize_t)1 << 20;
    int ok = s.images >= 0 && s.channels > 0 && s.height > 0 && s.height < INT32_MAX && s.width > 0 && s.rows > 0 &&
             s.columns > 0 && s.rows < many && s.columns < many && begin >= 0 && begin <= end && end <= regions &&
             edges.len == regions * 16 * (s.rows + s.columns) && out.len == 4 * regions * s.channels * cells &&
             where.len == 2 * out.len && x.len == 4 * s.images * s.channels * s.height * s.width &&
             lies_inside(&s, image.buf, edges.buf, begin, end);
    float *most = ok ? malloc(8 * (size_t)s.width) : NULL;
    if (most != NULL) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t n = begin; n < end; n++)
            for (Py_ssize_t c = 0; c < s.channels; c++) {
                Py_ssize_t plane = ((const int64_t *)image.buf)[n] * s.channels + c, at = (n * s.channels + c) * cells;
                largest(&s, (const float *)x.buf + plane * s.height * s.width,
                        (const int64_t *)edges.buf + n * 2 * (s.rows + s.columns), (float *)out.buf + at,
                        (int64_t *)where.buf + at, most, (int32_t *)(most + s.width));
            }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&x), PyBuffer_Release(&image), PyBuffer_Release(&edges);
    PyBuffer_Release(&out), PyBuffer_Release(&where);
    int memory = most != NULL;
    free(most);
    if (ok && !memory)
        return PyErr_NoMemory();
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes of regions do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Add up the pixels of each cell in the planes of its own, or, if `spreads`, add its share to all of them. */
static void average(const Sizes *s, float *planes, const int64_t *edges, float *out, int spreads) {
    const int64_t *across = edges + 2 * s->rows;
    for (Py_ssize_t i = 0; i < s->rows; i++)
        for (Py_ssize_t j = 0; j < s->columns; j++, out++, planes += s->height * s->width) {
            int64_t high = edges[2 * i + 1] - edges[2 * i], wide = across[2 * j + 1] - across[2 * j];
            if (high <= 0 || wide <= 0)
                continue;
            float count = (float)(high * wide), sum = 0, part = *out / count;
            for (int64_t y = edges[2 * i]; y < edges[2 * i + 1]; y++) {
                float *line = planes + y * s->width + across[2 * j];
                if (spreads)
                    for (int64_t x = 0; x < wide; x++)
                        line[x] += part;
                else
                    for (int64_t x = 0; x < wide; x++)
                        sum += line[x];
            }
            if (!spreads)
                *out = sum / count;
        }
}

/* means(x, image, edges, out, (images, channels, height, width, rows, columns), spreads): fill `out` with the means of
   cells, each of which has a plane of its own in x[image][channel]; or add the gradients in `out` to `x`. */
static PyObject *means(PyObject *module, PyObject *args) {
    Py_buffer x, image, edges, out;
    Sizes s;
    int spreads;
    if (!PyArg_ParseTuple(args, "w*y*y*w*(nnnnnn)p", &x, &image, &edges, &out, &s.images, &s.channels, &s.height,
                          &s.width, &s.rows, &s.columns, &spreads))
        return NULL;
    Py_ssize_t regions = image.len / 8, cells = s.rows * s.columns, most = (Py_ssize_t)1 << 20;
    int ok = s.images >= 0 && s.channels > 0 && s.height > 0 && s.width > 0 && s.rows > 0 && s.columns > 0 &&
             s.rows < most && s.columns < most && edges.len == regions * 16 * (s.rows + s.columns) &&
             out.len == 4 * regions * s.channels * cells &&
             x.len == 4 * s.images * s.channels * cells * s.height * s.width &&
             lies_inside(&s, image.buf, edges.buf, 0, regions);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t n = 0; n < regions; n++)
            for (Py_ssize_t c = 0; c < s.channels; c++) {
                Py_ssize_t first = (((const int64_t *)image.buf)[n] * s.channels + c) * cells;
                average(&s, (float *)x.buf + first * s.height * s.width,
                        (const int64_t *)edges.buf + n * 2 * (s.rows + s.columns),
                        (float *)out.buf + (n * s.channels + c) * cells, spreads);
            }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&x), PyBuffer_Release(&image), PyBuffer_Release(&edges), PyBuffer_Release(&out);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes of regions do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"pool", pool, METH_VARARGS, NULL},
    {"means", means, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_regions", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__regions(void) { return PyModuleDef_Init(&definition); }
