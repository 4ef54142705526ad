/* Samples between the pixels of images at positions that a network computes, for deformable convolutions: deformable.py
   does the same in NumPy. */

#include "../../_python.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

typedef struct {
    Py_ssize_t images, channels, height, width, groups, rows, columns; /* of the image; its groups; of the output */
    Py_ssize_t kernel[2], strides[2], pads[2], dilations[2];
} Sizes;

/* Four corners of each of some samples. */
typedef struct {
    int32_t *place[4];
    float *weight[4], *by_y[4], *by_x[4];
} Corners;

#define LOOPS "_samples.h"
#include "_sets.h"
#include "_wide.h"

/* What threads share; the arrays after `columns` are those of gradients. */
typedef struct {
    Py_buffer x, offset, mask, columns, dx, doffset, dmask;
    Sizes s;
    int backward, failed;
} Call;

#define ARRAYS 25 /* of one number for each place: positions, corners, work memory */

/* The samples of one group of one image, point by point of the filter. */
static void group(const Call *c, Py_ssize_t unit, float *room) {
    const Sizes *s = &c->s;
    Py_ssize_t places = s->rows * s->columns, points = s->kernel[0] * s->kernel[1], pixels = s->height * s->width;
    Py_ssize_t own = s->channels / s->groups;
    float *y = room, *x = y + places, *moved = x + places, *ones = moved + 4 * places, *spare = ones + places;
    Corners at;
    for (int k = 0; k < 4; k++) {
        at.place[k] = (int32_t *)(spare + (1 + k) * places);
        at.weight[k] = spare + (5 + k) * places, at.by_y[k] = spare + (9 + k) * places;
        at.by_x[k] = spare + (13 + k) * places;
    }
    for (Py_ssize_t i = 0; i < places; i++)
        ones[i] = 1;
    for (Py_ssize_t point = 0; point < points; point++) {
        Py_ssize_t number = unit * points + point;
        const float *offset = (const float *)c->offset.buf + number * 2 * places;
        const float *mask = c->mask.obj == NULL ? ones : (const float *)c->mask.buf + number * places;
        Py_ssize_t down = point / s->kernel[1] * s->dilations[0] - s->pads[0];
        Py_ssize_t right = point % s->kernel[1] * s->dilations[1] - s->pads[1];
        for (Py_ssize_t i = 0; i < s->rows; i++)
            for (Py_ssize_t j = 0; j < s->columns; j++) {
                Py_ssize_t n = i * s->columns + j;
                y[n] = offset[n] + (float)(i * s->strides[0] + down);
                x[n] = offset[places + n] + (float)(j * s->strides[1] + right);
            }
        CALL(corners, s, y, x, places, &at, c->backward);
        float *dy = NULL, *dmask = spare;
        if (c->backward) {
            dy = (float *)c->doffset.buf + number * 2 * places;
            memset(dy, 0, 8 * (size_t)places);
            if (c->dmask.obj != NULL)
                dmask = (float *)c->dmask.buf + number * places;
            memset(dmask, 0, 4 * (size_t)places);
        }
        for (Py_ssize_t channel = unit * own; channel < (unit + 1) * own; channel++) {
            const float *plane = (const float *)c->x.buf + channel * pixels;
            float *column = (float *)c->columns.buf + (channel * points + point) * places;
            if (!c->backward) {
                CALL(read, plane, &at, mask, places, column);
                continue;
            }
            CALL(gather, plane, &at, mask, column, places, dmask, dy, dy + places, moved);
            float *to = (float *)c->dx.buf + channel * pixels;
            for (int k = 0; k < 4; k++)
                for (Py_ssize_t i = 0; i < places; i++)
                    to[at.place[k][i]] += moved[k * places + i];
        }
    }
}

static void some(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Call *c = work;
    float *room = malloc(4 * (size_t)(ARRAYS * c->s.rows * c->s.columns));
    if (room == NULL) {
        __atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (Py_ssize_t unit = begin; unit < end; unit++)
        group(c, unit, room);
    free(room);
}

/* Return whether all sizes are sensible and fit the arrays. */
static int fits(const Call *c) {
    const Sizes *s = &c->s;
    const Py_ssize_t *all = &s->images, most = (Py_ssize_t)1 << 20;
    for (int i = 0; i < 15; i++)
        if (all[i] < (i == 0 || i == 11 || i == 12 ? 0 : 1) || all[i] >= most)
            return 0;
    Py_ssize_t points = s->kernel[0] * s->kernel[1], places = s->rows * s->columns, pixels = s->height * s->width;
    if (s->channels % s->groups || points >= most || places >= most << 4 || pixels >= most << 8)
        return 0;
    double samples = 4.0 * (double)s->images * (double)points * (double)places;
    if (samples * (double)s->channels > 9e15 || 4.0 * (double)s->images * (double)s->channels * (double)pixels > 9e15)
        return 0;
    Py_ssize_t each = 4 * s->images * points * places;
    return c->x.len == 4 * s->images * s->channels * pixels && c->offset.len == 2 * each * s->groups &&
           (c->mask.obj == NULL || c->mask.len == each * s->groups) && c->columns.len == each * s->channels &&
           (!c->backward || (c->dx.len == c->x.len && c->doffset.len == c->offset.len &&
                             (c->dmask.obj == NULL || c->dmask.len == each * s->groups)));
}

static PyObject *run(Call *c, Py_ssize_t threads) {
    int ok = fits(c);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(some, c, c->s.images * c->s.groups, 1, threads);
        Py_END_ALLOW_THREADS
    }
    Py_buffer *held[] = {&c->x, &c->offset, &c->mask, &c->columns, &c->dx, &c->doffset, &c->dmask};
    for (int i = 0; i < 7; i++)
        if (held[i]->obj != NULL)
            PyBuffer_Release(held[i]);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes of samples do not fit the arrays");
        return NULL;
    }
    if (c->failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

#define SIZES "(nnnnnnnnnnnnnnn)"
#define ALL(s)                                                                                                         \
    &s.images, &s.channels, &s.height, &s.width, &s.groups, &s.rows, &s.columns, &s.kernel[0], &s.kernel[1],           \
        &s.strides[0], &s.strides[1], &s.pads[0], &s.pads[1], &s.dilations[0], &s.dilations[1]

/* read(x, offset, mask or None, columns, sizes, threads): fill the columns [images, channels, points, places]. */
static PyObject *read_samples(PyObject *module, PyObject *args) {
    Call c = {.backward = 0};
    Py_ssize_t threads;
    if (!PyArg_ParseTuple(args, "y*y*z*w*" SIZES "n", &c.x, &c.offset, &c.mask, &c.columns, ALL(c.s), &threads))
        return NULL;
    return run(&c, threads);
}

/* spread(x, offset, mask or None, columns, dx, doffset, dmask or None, sizes, threads): from the gradients of columns,
   set those of the positions and of the mask, and add those of pixels to `dx`; set the columns to what `read` gives. */
static PyObject *spread(PyObject *module, PyObject *args) {
    Call c = {.backward = 1};
    Py_ssize_t threads;
    if (!PyArg_ParseTuple(args, "y*y*z*w*w*w*z*" SIZES "n", &c.x, &c.offset, &c.mask, &c.columns, &c.dx, &c.doffset,
                          &c.dmask, ALL(c.s), &threads))
        return NULL;
    return run(&c, threads);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"read", read_samples, METH_VARARGS, NULL},
    {"spread", spread, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_samples", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__samples(void) { return PyModuleDef_Init(&definition); }
