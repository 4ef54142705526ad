/* Convolutions that keep to the cache: fast_conv.py says what each function does, conv.py does the same in NumPy.

   A place is an element of the output, a tap an element of the kernel, the columns are the matrix [tap and channel,
   place] of what each tap meets at each place. They are gathered piece by piece, multiplied and forgotten.
   The arrays come from our own kernels; their sizes are checked against the numbers given with them.
*/

#include "../../_python.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* Where columns come from: images of one group, and the grid of places over them. */
typedef struct {
    Py_ssize_t images, channels, height, width, plane, image; /* plane, image: floats from one to the next */
    Py_ssize_t rows, cols, step_y, step_x, taps;
    const int64_t *tap; /* y, x and position in a filter, for each tap */
    const float *from_end;
    Py_ssize_t first_y, first_x; /* for 3 x 3 taps: the first one, and their order */
    int order[9];
} Grid;

/* Where products go: filters of one group; places lie `step` apart from (y, x) on. */
typedef struct {
    Py_ssize_t filters, width, plane, image, y, x, step_y, step_x;
} Target;

/* How filters lie in memory: floats from one filter or channel to the next. */
typedef struct {
    Py_ssize_t filter, channel;
} Filters;

/* A run of floats: from < 0 means zeros. */
typedef struct {
    Py_ssize_t to, from, count;
} Move;

static Py_ssize_t add_move(Move *moves, Py_ssize_t count, Py_ssize_t to, Py_ssize_t from, Py_ssize_t length, int dense) {
    if (length <= 0)
        return count;
    Move *before = moves + count - 1;
    if (count > 0 && ((from < 0 && before->from < 0) || (dense && from >= 0 && before->from >= 0 &&
                                                         before->from + before->count == from))) {
        before->count += length;
        return count;
    }
    moves[count] = (Move){to, from, length};
    return count + 1;
}

static Py_ssize_t clamp(Py_ssize_t value, Py_ssize_t low, Py_ssize_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Division that rounds up, for any sign of `a`. */
static Py_ssize_t up(Py_ssize_t a, Py_ssize_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

/* List the elements one tap covers at the places [begin, end): at most three moves per row of places. */
static Py_ssize_t moves_of(const Grid *g, Py_ssize_t tap, Py_ssize_t begin, Py_ssize_t end, Move *moves) {
    Py_ssize_t count = 0, area = g->rows * g->cols, dy = g->tap[3 * tap], dx = g->tap[3 * tap + 1];
    for (Py_ssize_t place = begin; place < end;) {
        Py_ssize_t image = place / area, row = place % area / g->cols, col = place % g->cols, to = place - begin;
        Py_ssize_t length = g->cols - col < end - place ? g->cols - col : end - place;
        Py_ssize_t y = row * g->step_y + dy, x = col * g->step_x + dx;
        place += length;
        if (y < 0 || y >= g->height) {
            count = add_move(moves, count, to, -1, length, 0);
            continue;
        }
        Py_ssize_t left = clamp(up(-x, g->step_x), 0, length), right = clamp(up(g->width - x, g->step_x), left, length);
        Py_ssize_t from = image * g->image + y * g->width + x;
        count = add_move(moves, count, to, -1, left, 0);
        count = add_move(moves, count, to + left, from + left * g->step_x, right - left, g->step_x == 1);
        count = add_move(moves, count, to + right, -1, length - right, 0);
    }
    return count;
}

/* List where the places [begin, end) go, `from` counting from `begin`. */
static Py_ssize_t runs_of(const Grid *g, const Target *t, Py_ssize_t begin, Py_ssize_t end, Move *moves) {
    Py_ssize_t count = 0, area = g->rows * g->cols;
    for (Py_ssize_t place = begin; place < end;) {
        Py_ssize_t image = place / area, row = place % area / g->cols, col = place % g->cols;
        Py_ssize_t length = g->cols - col < end - place ? g->cols - col : end - place;
        Py_ssize_t to = image * t->image + (t->y + row * t->step_y) * t->width + t->x + col * t->step_x;
        Move *before = moves + count - 1;
        if (count > 0 && t->step_x == 1 && before->to + before->count == to)
            before->count += length;
        else
            moves[count++] = (Move){to, place - begin, length};
        place += length;
    }
    return count;
}

static inline void put(float *to, const float *from, const Move *moves, Py_ssize_t count, Py_ssize_t step) {
    for (const Move *move = moves; move < moves + count; move++)
        if (step == 1)
            memcpy(to + move->to, from + move->from, 4 * move->count);
        else
            for (Py_ssize_t i = 0; i < move->count; i++)
                to[move->to + i * step] = from[move->from + i];
}

#define LOOPS "_tiles.h"
#include "_sets.h"

typedef int Correlate(const Grid *, const Target *, const float *, const float *, float *, Py_ssize_t, Py_ssize_t);

typedef struct {
    Py_ssize_t high, lanes;
    void (*pack)(const Grid *, const Target *, const Filters *, const float *, float *);
    void (*spread_filters)(const Grid *, const Target *, const Filters *, const float *, float *);
    Correlate *correlate, *direct, *planes, *winograd;
    Correlate *filter_gradient, *direct_gradient, *planes_gradient, *winograd_gradient;
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
     winograd_gradient_##bits}
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
    Py_ssize_t groups, out_height, begin, end, first, last; /* first, last: filters of a group */
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
   (rows, cols, step_y, step_x), (y, x, step_y, step_x), (filter, channel), (begin, end), (first, last)): sizes of the
   images and of the output for a group, the grid of places, where they go in the output, how filters lie in memory, the
   rows and the filters of each group to compute. */
static int take(Work *work, PyObject *args, const char *format) {
    Grid *g = &work->g;
    Target *t = &work->t;
    if (!PyArg_ParseTuple(args, format, &work->images, &work->outs, &work->filters, &work->taps, &work->groups,
                          &g->images, &g->channels, &g->height, &g->width, &t->filters, &work->out_height, &t->width,
                          &g->rows, &g->cols, &g->step_y, &g->step_x, &t->y, &t->x, &t->step_y, &t->step_x,
                          &work->w.filter, &work->w.channel, &work->begin, &work->end, &work->first, &work->last))
        return 0;
    work->first = clamp(work->first, 0, t->filters), work->last = clamp(work->last, work->first, t->filters);
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
        if (tap[0] <= -g->rows || tap[0] >= g->height || tap[1] <= -g->cols || tap[1] >= g->width)
            return 0;
    return 1;
}

/* Return the instruction set for the direct method (vectors that rows fill); NULL if impossible or not worthwhile. */
static const Set *directly(const Work *work) {
    const Grid *g = &work->g;
    const Target *t = &work->t;
    if (g->step_x != 1 || g->step_y != 1 || t->step_x != 1 || t->step_y != 1 || t->filters <= FEW ||
        g->taps == 1 || !all_meet(g))
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

static PyObject *finish(Work *work, int failed) {
    release(work);
    if (failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* correlate(...): fill the rows [begin, end) of places, counted over all images, for the filters [first, last). */
static PyObject *correlate(PyObject *module, PyObject *args) {
    Work work;
    if (!take(&work, args, "y*w*y*y*n(nnnn)(nnn)(nnnn)(nnnn)(nn)(nn)(nn)"))
        return NULL;
    const Grid *g = &work.g;
    const Target *t = &work.t;
    int winograd = by_winograd(&work);
    const Set *set = winograd ? NULL : directly(&work);
    int direct = set != NULL;
    if (!direct)
        set = use;
    Py_ssize_t begin = clamp(work.begin, 0, g->images * g->rows), end = clamp(work.end, begin, g->images * g->rows);
    Target some = *t; /* the method depends on all filters, so that results do not depend on how they are divided */
    some.filters = work.last - work.first;
    Py_ssize_t depth = g->channels * g->taps, padded = (some.filters + set->high - 1) / set->high * set->high;
    int few = t->filters <= FEW, failed = 0;
    Py_BEGIN_ALLOW_THREADS
    float *packed = malloc(4 * (winograd ? 16 * (padded * g->channels + APART) : padded * depth));
    failed = packed == NULL;
    for (Py_ssize_t group = 0; group < work.groups && !failed; group++) {
        const float *from = (const float *)work.images.buf + group * g->channels * g->plane;
        float *to = (float *)work.outs.buf + (group * t->filters + work.first) * t->plane;
        const float *filters = (const float *)work.filters.buf + group * (work.filters.len / 4 / work.groups);
        (winograd ? set->spread_filters : set->pack)(g, &some, &work.w, filters + work.first * work.w.filter, packed);
        failed = winograd ? set->winograd(g, &some, from, packed, to, tile_row(g, begin), tile_row(g, end))
                 : direct ? set->direct(g, &some, from, packed, to, begin, end)
                 : few    ? set->planes(g, &some, from, packed, to, begin, end)
                          : set->correlate(g, &some, from, packed, to, begin * g->cols, end * g->cols);
    }
    free(packed);
    Py_END_ALLOW_THREADS
    return finish(&work, failed);
}

/* filter_gradient(...): fill the rows [begin, end) of the filters' gradient, ordered by tap, then channel, for the
   filters [first, last). */
static PyObject *filter_gradient(PyObject *module, PyObject *args) {
    Work work;
    if (!take(&work, args, "y*y*w*y*n(nnnn)(nnn)(nnnn)(nnnn)(nn)(nn)(nn)"))
        return NULL;
    const Grid *g = &work.g;
    const Target *t = &work.t;
    Py_ssize_t depth = g->channels * g->taps;
    Py_ssize_t begin = clamp(work.begin, 0, depth), end = clamp(work.end, begin, depth);
    if (work.filters.len != 4 * work.groups * t->filters * depth || g->rows != work.out_height || g->cols != t->width) {
        PyErr_SetString(PyExc_ValueError, "a filter's gradient needs every tap and every place");
        release(&work);
        return NULL;
    }
    Correlate *run = t->filters <= FEW ? use->planes_gradient : use->filter_gradient;
    if (by_winograd(&work) && g->order[0] == 0 && g->order[8] == 8) {
        run = use->winograd_gradient;
        begin = up(begin, 9), end = up(end, 9);
    } else if ((t->filters < NOT_MANY || g->channels < A_FEW) && directly(&work) != NULL) {
        run = directly(&work)->direct_gradient;
        begin = up(begin, g->taps), end = up(end, g->taps);
    }
    Target some = *t;
    some.filters = work.last - work.first;
    int failed = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t group = 0; group < work.groups && !failed; group++)
        failed = run(g, &some, (const float *)work.images.buf + group * g->channels * g->plane,
                     (const float *)work.outs.buf + (group * t->filters + work.first) * t->plane,
                     (float *)work.filters.buf + (group * t->filters + work.first) * depth, begin, end);
    Py_END_ALLOW_THREADS
    return finish(&work, failed);
}

static PyMethodDef methods[] = {
    {"instructions", instructions, METH_VARARGS, NULL},
    {"correlate", correlate, METH_VARARGS, NULL},
    {"filter_gradient", filter_gradient, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_convolve", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__convolve(void) { return PyModuleDef_Init(&definition); }
