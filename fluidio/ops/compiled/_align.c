/* Means of samples between pixels in the cells of regions: roi.py documents it and implements it in NumPy.

   A cell's mean is a sum over rows and columns of pixels with weights of their own, so that a region is read once. */

#include "../../_python.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_pool.h"

typedef struct {
    Py_buffer x, image, boxes, out;
    Py_ssize_t images, channels, height, width, rows, columns, ratio;
    int spreads, failed;
} Call;

/* The weights of pixels along one side: those of cell i are `weight[i * size ...]` from `low[i]` to before `high[i]`. */
typedef struct {
    float *weight;
    double *work;
    Py_ssize_t *low, *high, first, last;
} Side;

static double clipped(double x, double most) { return x >= 0 ? (x < most ? x : most) : 0; }

/* Average `count` samples in each cell, as `_weights` in roi.py does. */
static void weigh(const Side *room, Side *to, double start, double cell, Py_ssize_t cells, Py_ssize_t size,
                  Py_ssize_t count) {
    *to = *room;
    to->first = size, to->last = 0;
    for (Py_ssize_t i = 0; i < cells; i++) {
        double *work = to->work;
        Py_ssize_t low = size, high = 0;
        for (Py_ssize_t pass = 0; pass < 2; pass++)
            for (Py_ssize_t n = 0; n < count; n++) {
                double place = start + ((double)i + ((double)n + 0.5) / (double)count) * cell;
                double share = (place >= -1.0 && place <= (double)size) / (double)count;
                place = clipped(place, (double)size);
                Py_ssize_t at = (Py_ssize_t)place < size - 1 ? (Py_ssize_t)place : size - 1;
                Py_ssize_t next = at + 1 < size ? at + 1 : size - 1;
                double part = at >= size - 1 ? 0.0 : place - (double)at;
                if (pass == 0) {
                    work[at] = work[next] = 0;
                    low = at < low ? at : low, high = next + 1 > high ? next + 1 : high;
                } else {
                    work[at] += (1 - part) * share;
                    work[next] += part * share;
                }
            }
        for (Py_ssize_t p = low; p < high; p++) /* pixels between samples that lie far apart */
            to->weight[i * size + p] = 0;
        for (Py_ssize_t n = 0; n < count; n++) {
            double place = clipped(start + ((double)i + ((double)n + 0.5) / (double)count) * cell, (double)size);
            Py_ssize_t at = (Py_ssize_t)place < size - 1 ? (Py_ssize_t)place : size - 1;
            Py_ssize_t next = at + 1 < size ? at + 1 : size - 1;
            to->weight[i * size + at] = (float)work[at], to->weight[i * size + next] = (float)work[next];
        }
        to->low[i] = low, to->high[i] = high;
        to->first = low < to->first ? low : to->first, to->last = high > to->last ? high : to->last;
    }
}

/* One plane: means of cells from pixels. `lines` has a row of cells for each row of pixels. */
static void fill(const Call *c, const float *plane, const Side *down, const Side *across, float *out, float *lines) {
    for (Py_ssize_t y = down->first; y < down->last; y++)
        for (Py_ssize_t j = 0; j < c->columns; j++) {
            float sum = 0;
            for (Py_ssize_t x = across->low[j]; x < across->high[j]; x++)
                sum += plane[y * c->width + x] * across->weight[j * c->width + x];
            lines[y * c->columns + j] = sum;
        }
    for (Py_ssize_t i = 0; i < c->rows; i++) {
        float *cells = out + i * c->columns;
        memset(cells, 0, 4 * (size_t)c->columns);
        for (Py_ssize_t y = down->low[i]; y < down->high[i]; y++)
            for (Py_ssize_t j = 0; j < c->columns; j++)
                cells[j] += lines[y * c->columns + j] * down->weight[i * c->height + y];
    }
}

/* One plane: add the gradients of cells to pixels. */
static void scatter(const Call *c, float *plane, const Side *down, const Side *across, const float *d, float *lines) {
    for (Py_ssize_t y = down->first; y < down->last; y++)
        memset(lines + y * c->columns, 0, 4 * (size_t)c->columns);
    for (Py_ssize_t i = 0; i < c->rows; i++)
        for (Py_ssize_t y = down->low[i]; y < down->high[i]; y++)
            for (Py_ssize_t j = 0; j < c->columns; j++)
                lines[y * c->columns + j] += d[i * c->columns + j] * down->weight[i * c->height + y];
    for (Py_ssize_t y = down->first; y < down->last; y++)
        for (Py_ssize_t j = 0; j < c->columns; j++)
            for (Py_ssize_t x = across->low[j]; x < across->high[j]; x++)
                plane[y * c->width + x] += lines[y * c->columns + j] * across->weight[j * c->width + x];
}

/* All regions of some channels, region by region, so that sums have the same order with any threads. */
static void some(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    Py_ssize_t cells = c->rows * c->columns, most = c->rows > c->columns ? c->rows : c->columns;
    Py_ssize_t longest = c->height > c->width ? c->height : c->width;
    float *weights = malloc(4 * (size_t)(c->rows * c->height + c->columns * c->width + c->height * c->columns));
    double *doubles = malloc(8 * (size_t)longest);
    Py_ssize_t *limits = malloc(sizeof(Py_ssize_t) * 4 * (size_t)most);
    if (weights == NULL || doubles == NULL || limits == NULL)
        __atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
    else {
        Side one = {weights, doubles, limits, limits + most, 0, 0}, down, across;
        Side other = {weights + c->rows * c->height, doubles, limits + 2 * most, limits + 3 * most, 0, 0};
        float *lines = other.weight + c->columns * c->width;
        for (Py_ssize_t n = 0; n < c->image.len / 8; n++) {
            const double *box = (const double *)c->boxes.buf + 4 * n;
            double high = box[3] - box[1] > 1.0 ? box[3] - box[1] : 1.0, wide = box[2] - box[0] > 1.0 ? box[2] - box[0] : 1.0;
            double each = high / (double)c->rows, across_each = wide / (double)c->columns;
            weigh(&one, &down, box[1], each, c->rows, c->height, c->ratio > 0 ? c->ratio : (Py_ssize_t)ceil(each));
            weigh(&other, &across, box[0], across_each, c->columns, c->width,
                  c->ratio > 0 ? c->ratio : (Py_ssize_t)ceil(across_each));
            for (Py_ssize_t channel = begin; channel < end; channel++) {
                Py_ssize_t plane = ((const int64_t *)c->image.buf)[n] * c->channels + channel;
                float *pixels = (float *)c->x.buf + plane * c->height * c->width;
                float *out = (float *)c->out.buf + (n * c->channels + channel) * cells;
                if (c->spreads)
                    scatter(c, pixels, &down, &across, out, lines);
                else
                    fill(c, pixels, &down, &across, out, lines);
            }
        }
    }
    free(weights), free(doubles), free(limits);
}

/* Return whether the sizes fit the arrays, and the boxes are finite and small enough for their samples to be counted. */
static int fits(const Call *c) {
    Py_ssize_t regions = c->image.len / 8, cells = c->rows * c->columns, most = (Py_ssize_t)1 << 15;
    if (c->images < 0 || c->channels < 1 || c->channels >= most << 5 || c->height < 1 || c->height >= most ||
        c->width < 1 || c->width >= most || c->rows < 1 || c->rows >= most || c->columns < 1 || c->columns >= most ||
        c->ratio >= most || c->image.len % 8 || c->boxes.len != 32 * regions ||
        c->out.len / 4 / c->channels != regions * cells || c->out.len != 4 * regions * c->channels * cells ||
        c->x.len != 4 * c->images * c->channels * c->height * c->width)
        return 0;
    for (Py_ssize_t n = 0; n < regions; n++)
        if (((const int64_t *)c->image.buf)[n] < 0 || ((const int64_t *)c->image.buf)[n] >= c->images)
            return 0;
    for (Py_ssize_t i = 0; i < 4 * regions; i++)
        if (!(fabs(((const double *)c->boxes.buf)[i]) < 1e6))
            return 0;
    return 1;
}

/* align(x, image, boxes, out, (images, channels, height, width, rows, columns), ratio, spreads, threads): boxes of four
   doubles in pixels; fill `out`, or add the gradients in `out` to X. */
static PyObject *align(PyObject *module, PyObject *args) {
    Call c = {.failed = 0};
    Py_ssize_t threads;
    if (!PyArg_ParseTuple(args, "w*y*y*w*(nnnnnn)npn", &c.x, &c.image, &c.boxes, &c.out, &c.images, &c.channels,
                          &c.height, &c.width, &c.rows, &c.columns, &c.ratio, &c.spreads, &threads))
        return NULL;
    int ok = fits(&c);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(some, &c, c.channels, 8, threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&c.x), PyBuffer_Release(&c.image), PyBuffer_Release(&c.boxes), PyBuffer_Release(&c.out);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes of regions do not fit the arrays");
        return NULL;
    }
    if (c.failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"align", align, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_align", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__align(void) { return PyModuleDef_Init(&definition); }
