/* Copies of arrays whose dims were put in another order: turned.py says when. Elements that are neighbours in the source
   lie far apart in the copy, so square tiles go through a buffer: each line of the cache is read and written once. */

#include "../../_python.h"

#include <stdint.h>
#include <string.h>

#include "_pool.h"

#define MOST 16 /* dims */
#define TILE 16 /* elements of a tile's side: a line of the cache, or two */

/* The dims of the copy, outermost first; that of `near` elements lies side by side in the source. */
typedef struct {
    const char *from;
    char *to;
    Py_ssize_t shape[MOST], strides[MOST], steps[MOST], item;
    int dims, near;
} Call;

/* Copy `high` by `wide` elements: rows of the tile are `step` bytes apart in the copy, columns `stride` in the source. */
#define DEFINE(type)                                                                                                   \
    static void tile_##type(const char *from, char *to, Py_ssize_t stride, Py_ssize_t step, Py_ssize_t high,           \
                            Py_ssize_t wide) {                                                                         \
        type held[TILE][TILE];                                                                                         \
        if (high == TILE && wide == TILE) {                                                                            \
            for (int j = 0; j < TILE; j++)                                                                             \
                for (int i = 0; i < TILE; i++)                                                                         \
                    memcpy(&held[i][j], from + j * stride + i * (Py_ssize_t)sizeof(type), sizeof(type));               \
            for (int i = 0; i < TILE; i++)                                                                             \
                memcpy(to + i * step, held[i], sizeof held[i]);                                                        \
            return;                                                                                                    \
        }                                                                                                              \
        for (Py_ssize_t i = 0; i < high; i++)                                                                          \
            for (Py_ssize_t j = 0; j < wide; j++)                                                                      \
                memcpy(to + i * step + j * (Py_ssize_t)sizeof(type),                                                   \
                       from + j * stride + i * (Py_ssize_t)sizeof(type), sizeof(type));                                \
    }

DEFINE(uint32_t)
DEFINE(uint64_t)

/* Copy a band of tiles: a unit is one index of all dims but the near and the last, and a band of the near one. */
static void some(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const Call *c = work;
    int last = c->dims - 1;
    Py_ssize_t high = c->shape[c->near], bands = (high + TILE - 1) / TILE;
    for (Py_ssize_t unit = begin; unit < end; unit++) {
        Py_ssize_t rest = unit / bands, row = unit % bands * TILE;
        const char *from = c->from + row * c->item;
        char *to = c->to + row * c->steps[c->near];
        for (int dim = last - 1; dim >= 0; dim--)
            if (dim != c->near) {
                from += rest % c->shape[dim] * c->strides[dim];
                to += rest % c->shape[dim] * c->steps[dim];
                rest /= c->shape[dim];
            }
        for (Py_ssize_t column = 0; column < c->shape[last]; column += TILE) {
            Py_ssize_t wide = c->shape[last] - column, tall = high - row;
            (c->item == 4 ? tile_uint32_t : tile_uint64_t)(
                from + column * c->strides[last], to + column * c->item, c->strides[last], c->steps[c->near],
                tall < TILE ? tall : TILE, wide < TILE ? wide : TILE);
        }
    }
}

/* Describe the copy, with dims that lie together as one; return whether its elements are to be taken in tiles. */
static int plan(Call *c, const Py_buffer *x) {
    c->from = x->buf, c->item = x->itemsize, c->dims = 0, c->near = -1;
    for (int i = 0; i < x->ndim; i++) {
        int before = c->dims - 1;
        if (x->shape[i] == 1)
            continue;
        if (before >= 0 && c->strides[before] == x->strides[i] * x->shape[i]) {
            c->shape[before] *= x->shape[i];
            c->strides[before] = x->strides[i];
        } else {
            c->shape[c->dims] = x->shape[i];
            c->strides[c->dims++] = x->strides[i];
        }
    }
    Py_ssize_t step = c->item;
    for (int i = c->dims - 1; i >= 0; i--) {
        c->steps[i] = step;
        step *= c->shape[i];
        if (c->strides[i] == c->item)
            c->near = i;
    }
    return c->near >= 0 && c->near < c->dims - 1;
}

/* copy(x, out, threads) -> bool: set `out` to the elements of X, which has any strides, in their order. False: the
   order is no reason for tiles, and nothing was done. */
static PyObject *copy(PyObject *module, PyObject *args) {
    PyObject *given;
    Py_buffer x, out;
    Py_ssize_t threads;
    if (!PyArg_ParseTuple(args, "Ow*n", &given, &out, &threads))
        return NULL;
    if (PyObject_GetBuffer(given, &x, PyBUF_STRIDED_RO) < 0) {
        PyBuffer_Release(&out);
        return NULL;
    }
    Call c;
    int ok = (x.itemsize == 4 || x.itemsize == 8) && x.ndim <= MOST && x.len == out.len, tiles = 0;
    if (ok && (tiles = x.len > 0 && plan(&c, &x))) {
        c.to = out.buf;
        Py_ssize_t bands = (c.shape[c.near] + TILE - 1) / TILE, units = bands;
        for (int i = 0; i < c.dims - 1; i++)
            units *= i == c.near ? 1 : c.shape[i];
        Py_ssize_t each = TILE * c.shape[c.dims - 1];
        Py_BEGIN_ALLOW_THREADS
        share(some, &c, units, (1 << 16) / each + 1, threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&x), PyBuffer_Release(&out);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "copy needs items of 4 or 8 bytes, up to 16 dims, and memory of the same size");
        return NULL;
    }
    return PyBool_FromLong(tiles);
}

static PyMethodDef methods[] = {{"copy", copy, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_turn", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__turn(void) { return PyModuleDef_Init(&definition); }
