/* Convolutions that keep to the cache: fast_conv.py says what each function does, conv.py does the same in NumPy.

   A place is an element of the output, a tap an element of the kernel, the columns are the matrix [tap and channel,
   place] of what each tap meets at each place. They are gathered piece by piece, multiplied and forgotten.
   The arrays come from our own kernels; their sizes are checked against the numbers given with them.
*/

#include "../../_python.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_pool.h"

#if !defined(__GNUC__)
#error "needs the vectors of GCC or Clang; NumPy does the same"
#endif

#define CHUNK 192            /* rows of columns multiplied together */
#define CACHED (512 << 10)   /* bytes of a core's L2 cache to use */
#define PLACES 256           /* places in a piece of the filter gradient */
#define ROWS 128             /* its rows; a multiple of every HIGH */
#define TILES 128            /* 2 x 2 outputs in a Winograd piece; a multiple of every PANEL */
#define APART 16             /* floats between matrices, so that their rows do not compete for one set of the cache */
#define WORTH_WINOGRAD 24    /* channels and filters above which it is faster */
#define NOT_MANY 32          /* channels or filters below which the direct way wins with narrow vectors, and */
#define A_FEW 8              /* channels below which it does for the filter's gradient */
#define FEW 2                /* filters per group that are not worth columns */
#define TOGETHER 16          /* filters whose taps are read channel by channel; a multiple of every HIGH */
#define GROUPS 8             /* of Winograd pieces, whose sums threads compute by themselves where there are many */
#define UNIT 32              /* filters that stay together: as many as the widest panel */
#define PLACES_PER_FILTER 4  /* places that are gathered in the time in which a filter is arranged */
#define ARRANGED 64          /* multiplications in the time in which an element is arranged */

#include "_four.h"
#include "_grid.h"

#define LOOPS "_tiles.h"
#include "_sets.h"
#include "_widest.h"

typedef void Pack(const Grid *, const Target *, const Filters *, const float *, float *, Py_ssize_t, Py_ssize_t);
typedef int Correlate(const Grid *, const Target *, const float *, const float *, float *, Py_ssize_t, Py_ssize_t);

typedef void Columns(const Grid *, const float *, float *, Py_ssize_t, Py_ssize_t, Move *);

typedef struct {
    Py_ssize_t high, lanes;
    Pack *pack, *spread_filters;
    Correlate *correlate, *direct, *planes, *winograd;
    Correlate *filter_gradient, *direct_gradient, *planes_gradient, *winograd_gradient;
    Columns *take_columns, *add_columns;
} Set;

#define SET(high, bits)                                                                                                \
    {high,                                                                                                             \
     bits / 32,                                                                                                        \
     pack_##bits,                                                                                                      \
     spread_filters_##bits,                                                                                            \
     correlate_##bits,                                                                                                 \
     direct_##bits,                                                                                                    \
     planes_##bits,                                                                                                    \
     winograd_##bits,                                                                                                  \
     filter_gradient_##bits,                                                                                           \
     direct_gradient_##bits,                                                                                           \
     planes_gradient_##bits,                                                                                           \
     winograd_gradient_##bits,                                                                                         \
     take_columns_##bits,                                                                                              \
     add_columns_##bits}
static const Set sets[] = {
    SET(4, 128),
#if defined(__x86_64__)
    SET(4, 256),
    SET(8, 512),
#endif
};
static const Set *use = sets;

/* instructions(bits) -> bits: use vectors of at most this many bits; return the width the processor supports. */
static PyObject *instructions(PyObject *module, PyObject *args) {
    int bits = 0;
    if (!PyArg_ParseTuple(args, "i", &bits))
        return NULL;
    bits = widest(bits);
    use = sets + (bits == 512 ? 2 : bits == 256);
    return PyLong_FromLong(bits);
}

/* The arguments of both functions below. */
typedef struct {
    Py_buffer images, outs, filters, taps; /* outs: the product, or the gradient of the output */
    Py_ssize_t groups, out_height, worth, threads; /* a thread is worth so many multiplications */
    Grid g;
    Target t;
    Filters w;
} Work;

static void release(Work *work) {
    PyBuffer_Release(&work->images);
    PyBuffer_Release(&work->outs);
    PyBuffer_Release(&work->filters);
    PyBuffer_Release(&work->taps);
}

/* Return whether places, taps and arrays match, so that nothing outside the arrays is accessed. */
static int fits(const Work *work) {
    const Grid *g = &work->g;
    const Target *t = &work->t;
    Py_ssize_t kernel = 0, count = work->groups * t->filters * g->channels;
    if (work->groups < 1 || g->images < 0 || g->channels < 1 || t->filters < 1 || g->taps < 1 || g->rows < 1 ||
        g->cols < 1 || g->height < 1 || g->width < 1 || g->step_x < 1 || g->step_y < 1 || t->step_x < 1 ||
        t->step_y < 1 || t->x < 0 || t->y < 0 || t->y + (g->rows - 1) * t->step_y >= work->out_height ||
        t->x + (g->cols - 1) * t->step_x >= t->width || work->images.len != 4 * g->images * g->image ||
        work->outs.len != 4 * g->images * t->image || work->filters.len % (4 * count) != 0)
        return 0;
    kernel = work->filters.len / 4 / count;
    for (Py_ssize_t tap = 0; tap < g->taps; tap++)
        if (g->tap[3 * tap + 2] < 0 || g->tap[3 * tap + 2] >= kernel)
            return 0;
    return (work->w.filter == kernel && work->w.channel == kernel * t->filters) ||
           (work->w.channel == kernel && work->w.filter == kernel * g->channels);
}

/* Read (images, outs, filters, taps, groups, (images, channels, height, width), (filters, height, width),
   (rows, cols, step_y, step_x), (y, x, step_y, step_x), (filter, channel), worth, threads): sizes of the images and of
   the output for a group, the grid of places, where they go in the output, how filters lie in memory, and how many
   multiplications a thread is worth. */
static int take(Work *work, PyObject *args, const char *format) {
    Grid *g = &work->g;
    Target *t = &work->t;
    if (!PyArg_ParseTuple(args, format, &work->images, &work->outs, &work->filters, &work->taps, &work->groups,
                          &g->images, &g->channels, &g->height, &g->width, &t->filters, &work->out_height, &t->width,
                          &g->rows, &g->cols, &g->step_y, &g->step_x, &t->y, &t->x, &t->step_y, &t->step_x,
                          &work->w.filter, &work->w.channel, &work->worth, &work->threads))
        return 0;
    g->plane = g->height * g->width;
    g->image = work->groups * g->channels * g->plane;
    g->tap = work->taps.buf;
    g->taps = work->taps.len / 24;
    g->from_end = (const float *)((const char *)work->images.buf + work->images.len);
    t->plane = work->out_height * t->width;
    t->image = work->groups * t->filters * t->plane;
    if (fits(work))
        return 1;
    PyErr_SetString(PyExc_ValueError, "the sizes of a convolution do not fit its arrays");
    release(work);
    return 0;
}

/* Return whether Winograd's method is possible and worthwhile; store the order of the taps. */
static int by_winograd(Work *work) {
    Grid *g = &work->g;
    const Target *t = &work->t;
    if (g->taps != 9 || g->step_x != 1 || g->step_y != 1 || t->step_x != 1 || t->step_y != 1 ||
        g->channels < WORTH_WINOGRAD || t->filters < WORTH_WINOGRAD)
        return 0;
    g->first_y = g->first_x = PY_SSIZE_T_MAX;
    for (int i = 0; i < 9; i++) {
        g->first_y = g->tap[3 * i] < g->first_y ? g->tap[3 * i] : g->first_y;
        g->first_x = g->tap[3 * i + 1] < g->first_x ? g->tap[3 * i + 1] : g->first_x;
    }
    for (int i = 0, seen = 0; i < 9; i++) {
        int64_t y = g->tap[3 * i] - g->first_y, x = g->tap[3 * i + 1] - g->first_x;
        if (y > 2 || x > 2 || seen >> (3 * y + x) & 1)
            return 0;
        seen |= 1 << (3 * y + x);
        g->order[3 * y + x] = i;
    }
    return 1;
}

/* Return whether each tap meets the image at some place. Then a band of the direct method is not much larger than the
   image, however large the dilation. */
static int all_meet(const Grid *g) {
    for (const int64_t *tap = g->tap; tap < g->tap + 3 * g->taps; tap += 3)
        if (tap[0] + (g->rows - 1) * g->step_y < 0 || tap[0] >= g->height || tap[1] + (g->cols - 1) * g->step_x < 0 ||
            tap[1] >= g->width)
            return 0;
    return 1;
}

/* Return the instruction set for the direct method (vectors that rows fill); NULL if impossible or not worthwhile. */
static const Set *directly(const Work *work) {
    const Grid *g = &work->g;
    const Target *t = &work->t;
    if (t->step_x != 1 || t->step_y != 1 || t->filters <= FEW || g->taps == 1 || !all_meet(g))
        return NULL;
    int narrow = g->channels < NOT_MANY || t->filters < NOT_MANY;
    for (const Set *set = use; set == use || (narrow && set >= sets && 2 * set->lanes == use->lanes); set--)
        if (g->cols >= set->lanes && (g->cols + set->lanes - 1) / set->lanes * set->lanes * 4 <= g->cols * 5)
            return set;
    return NULL;
}

/* Return the first row of tiles that begins at or after a row of places. */
static Py_ssize_t tile_row(const Grid *g, Py_ssize_t row) {
    return row / g->rows * ((g->rows + 1) / 2) + (row % g->rows + 1) / 2;
}

/* What threads know of a convolution: how it is computed, and the arranged filters of all groups. */
typedef struct {
    const Work *work;
    const Set *set;
    Pack *pack;
    float *packed;
    Py_ssize_t packed_group; /* floats from one group to the next */
    Correlate *run;
    int winograd, by_rows; /* by_rows: rows of places, not places, are counted */
    atomic_int failed;
} Plan;

static Py_ssize_t padded(const Set *set, Py_ssize_t filters) { return (filters + set->high - 1) / set->high * set->high; }

static Py_ssize_t packed_size(const Plan *p, Py_ssize_t filters) {
    const Grid *g = &p->work->g;
    Py_ssize_t all = padded(p->set, filters);
    return p->winograd ? 16 * (all * g->channels + APART) : all * g->channels * g->taps;
}

static const float *group_of(const Py_buffer *buffer, const Work *work, Py_ssize_t group) {
    return (const float *)buffer->buf + group * (buffer->len / 4 / work->groups);
}

/* Compute some rows of places for some filters of a group, with these filters arranged. */
static int rows_of_group(const Plan *p, const Target *t, Py_ssize_t group, Py_ssize_t first, const float *packed,
                         Py_ssize_t begin, Py_ssize_t end) {
    const Work *work = p->work;
    const Grid *g = &work->g;
    const float *from = (const float *)work->images.buf + group * g->channels * g->plane;
    float *to = (float *)work->outs.buf + (group * work->t.filters + first) * t->plane;
    if (p->winograd)
        return p->run(g, t, from, packed, to, tile_row(g, begin), tile_row(g, end));
    return p->by_rows ? p->run(g, t, from, packed, to, begin, end)
                      : p->run(g, t, from, packed, to, begin * g->cols, end * g->cols);
}

/* Arrange filters, `high` at a time, counted over all groups. */
static void pack_some(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const Plan *p = work;
    const Target *t = &p->work->t;
    Py_ssize_t each = padded(p->set, t->filters) / p->set->high;
    for (Py_ssize_t unit = begin, stop; unit < end; unit = stop) {
        Py_ssize_t group = unit / each, first = unit % each * p->set->high;
        stop = (group + 1) * each < end ? (group + 1) * each : end;
        Py_ssize_t last = (stop - group * each) * p->set->high;
        p->pack(&p->work->g, t, &p->work->w, group_of(&p->work->filters, p->work, group),
                p->packed + group * p->packed_group, first, last < t->filters ? last : t->filters);
    }
}

static void some_rows(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Plan *p = work;
    for (Py_ssize_t group = 0; group < p->work->groups; group++)
        if (rows_of_group(p, &p->work->t, group, 0, p->packed + group * p->packed_group, begin, end) != 0)
            atomic_store(&p->failed, 1);
}

/* Arrange some filters of the only group, and compute all places for them. */
static void some_filters(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Plan *p = work;
    Target some = p->work->t;
    Py_ssize_t first = begin * UNIT, last = end * UNIT < some.filters ? end * UNIT : some.filters;
    some.filters = last - first;
    float *packed = malloc(4 * packed_size(p, some.filters));
    if (packed == NULL) {
        atomic_store(&p->failed, 1);
        return;
    }
    const float *filters = (const float *)p->work->filters.buf + first * p->work->w.filter;
    p->pack(&p->work->g, &some, &p->work->w, filters, packed, 0, some.filters);
    if (rows_of_group(p, &some, 0, first, packed, 0, p->work->g.images * p->work->g.rows) != 0)
        atomic_store(&p->failed, 1);
    free(packed);
}

static void correlate_all(Plan *p) {
    const Work *work = p->work;
    Py_ssize_t rows = work->g.images * work->g.rows, depth = work->g.channels * work->g.taps, filters = work->t.filters;
    Py_ssize_t each = depth * work->groups * work->g.cols; /* multiplications for a row and a filter */
    if (work->groups == 1 && filters > rows * work->g.cols / PLACES_PER_FILTER) {
        share(some_filters, p, up(filters, UNIT), up(work->worth, each * (rows ? rows : 1) * UNIT), work->threads);
        return;
    }
    p->packed_group = packed_size(p, filters);
    p->packed = malloc(4 * p->packed_group * work->groups);
    if (p->packed == NULL) {
        atomic_store(&p->failed, 1);
        return;
    }
    share(pack_some, p, padded(p->set, filters) / p->set->high * work->groups,
          up(work->worth / ARRANGED, depth * p->set->high), work->threads);
    share(some_rows, p, rows, up(work->worth, each * filters), work->threads);
    free(p->packed);
}

static PyObject *finish(Work *work, int failed) {
    release(work);
    if (failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* correlate(...): fill all places. The method depends on neither threads nor how the work is divided. */
static PyObject *correlate(PyObject *module, PyObject *args) {
    Work work;
    if (!take(&work, args, "y*w*y*y*n(nnnn)(nnn)(nnnn)(nnnn)(nn)nn"))
        return NULL;
    Plan p = {.work = &work, .winograd = by_winograd(&work)};
    const Set *direct = p.winograd ? NULL : directly(&work);
    p.set = direct != NULL ? direct : use;
    p.pack = p.winograd ? p.set->spread_filters : p.set->pack;
    p.by_rows = direct != NULL || work.t.filters <= FEW;
    p.run = p.winograd                ? p.set->winograd
            : direct != NULL          ? p.set->direct
            : work.t.filters <= FEW   ? p.set->planes
                                      : p.set->correlate;
    Py_BEGIN_ALLOW_THREADS
    correlate_all(&p);
    Py_END_ALLOW_THREADS
    return finish(&work, atomic_load(&p.failed));
}

/* Compute some rows of the filters' gradient, ordered by tap, then channel; or all rows of some filters. */
static void gradient_part(Plan *p, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t first, Py_ssize_t last) {
    const Work *work = p->work;
    const Grid *g = &work->g;
    Target some = work->t;
    some.filters = last - first;
    for (Py_ssize_t group = 0; group < work->groups; group++)
        if (p->run(g, &some, (const float *)work->images.buf + group * g->channels * g->plane,
                   (const float *)work->outs.buf + (group * work->t.filters + first) * some.plane,
                   (float *)work->filters.buf + (group * work->t.filters + first) * g->channels * g->taps, begin,
                   end) != 0)
            atomic_store(&p->failed, 1);
}

static Py_ssize_t gradient_rows(const Plan *p) {
    return p->work->g.channels * (p->by_rows ? p->work->g.taps : 1);
}

static void gradient_of_rows(void *work, Py_ssize_t begin, Py_ssize_t end) {
    gradient_part(work, begin, end, 0, ((Plan *)work)->work->t.filters);
}

static void gradient_of_filters(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Py_ssize_t filters = ((Plan *)work)->work->t.filters;
    gradient_part(work, 0, gradient_rows(work), begin * UNIT, end * UNIT < filters ? end * UNIT : filters);
}

/* Compute the gradient of some channels of groups of few filters, counted over all groups. */
static void gradient_of_planes(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Plan *p = work;
    const Grid *g = &p->work->g;
    const Target *t = &p->work->t;
    for (Py_ssize_t unit = begin, stop; unit < end; unit = stop) {
        Py_ssize_t group = unit / g->channels, first = unit % g->channels;
        stop = (group + 1) * g->channels < end ? (group + 1) * g->channels : end;
        if (p->run(g, t, (const float *)p->work->images.buf + group * g->channels * g->plane,
                   (const float *)p->work->outs.buf + group * t->filters * t->plane,
                   (float *)p->work->filters.buf + group * t->filters * g->channels * g->taps, first,
                   first + stop - unit) != 0)
            atomic_store(&p->failed, 1);
    }
}

static void gradient_all(Plan *p) {
    const Work *work = p->work;
    const Grid *g = &work->g;
    Py_ssize_t filters = work->t.filters, depth = g->channels * g->taps, rows = gradient_rows(p);
    Py_ssize_t each = g->images * g->rows * g->cols * work->groups * (depth / rows); /* for a row and a filter */
    each = each > 0 ? each : 1;
    if (p->winograd)
        gradient_part(p, work->worth, work->threads, 0, filters);
    else if (filters <= FEW)
        share(gradient_of_planes, p, work->groups * g->channels,
              up(work->worth, g->images * g->rows * g->cols * filters * g->taps), work->threads);
    else if (work->groups == 1 && filters > depth)
        share(gradient_of_filters, p, up(filters, UNIT), up(work->worth, each * rows * UNIT), work->threads);
    else
        share(gradient_of_rows, p, rows, up(work->worth, each * filters), work->threads);
}

/* filter_gradient(...): fill the filters' gradient. */
static PyObject *filter_gradient(PyObject *module, PyObject *args) {
    Work work;
    if (!take(&work, args, "y*y*w*y*n(nnnn)(nnn)(nnnn)(nnnn)(nn)nn"))
        return NULL;
    const Grid *g = &work.g;
    const Target *t = &work.t;
    if (work.filters.len != 4 * work.groups * t->filters * g->channels * g->taps || g->rows != work.out_height ||
        g->cols != t->width) {
        PyErr_SetString(PyExc_ValueError, "a filter's gradient needs every tap and every place");
        release(&work);
        return NULL;
    }
    Plan p = {.work = &work, .by_rows = 1};
    p.run = t->filters <= FEW ? use->planes_gradient : use->filter_gradient;
    if (by_winograd(&work) && g->order[0] == 0 && g->order[8] == 8) {
        p.run = use->winograd_gradient;
        p.winograd = 1;
    } else if ((t->filters < NOT_MANY || g->channels < A_FEW) && directly(&work) != NULL) {
        p.run = directly(&work)->direct_gradient;
        p.by_rows = 0;
    }
    Py_BEGIN_ALLOW_THREADS
    gradient_all(&p);
    Py_END_ALLOW_THREADS
    return finish(&work, atomic_load(&p.failed));
}

#include "_column_matrix.h"

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"correlate", correlate, METH_VARARGS, NULL},
    {"filter_gradient", filter_gradient, METH_VARARGS, NULL},
    {"take_columns", take_columns, METH_VARARGS, NULL},
    {"add_columns", add_columns, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_convolve", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__convolve(void) { return PyModuleDef_Init(&definition); }
