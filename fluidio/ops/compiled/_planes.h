/* Correlations of one or two filters for a group, depthwise ones for instance: plane by plane, without columns.
   Included by _tiles.h, once for each set of instructions.

   A plane is copied with its padding, its rows and columns apart by their remainders modulo the steps (`phases`). Then a
   tap meets all places at one distance: rows of `pitch` floats follow each other, and vectors run across their ends. The
   sums behind the last place of a row are for nothing.
*/

#define ABREAST 4 /* vectors of sums that are added up at a time */
#define AT_ONCE 9 /* taps whose gradients are added up at a time */

/* A padded plane of some rows of places. `size` floats, with slack for vectors that end behind the last place. */
typedef struct {
    Py_ssize_t first_y, first_x, lines, pitch, phase, size, places;
} NAME(Plane);

static NAME(Plane) NAME(plane)(const Grid *g, Py_ssize_t rows, Py_ssize_t cols) {
    Py_ssize_t top = g->tap[0], bottom = top, left = g->tap[1], right = left;
    for (Py_ssize_t tap = 1; tap < g->taps; tap++) {
        Py_ssize_t y = g->tap[3 * tap], x = g->tap[3 * tap + 1];
        top = y < top ? y : top, bottom = y > bottom ? y : bottom;
        left = x < left ? x : left, right = x > right ? x : right;
    }
    NAME(Plane) plane = {top, left, rows + (bottom - top) / g->step_y, cols + (right - left) / g->step_x, 0, 0, 0};
    plane.phase = plane.lines * plane.pitch;
    plane.size = g->step_y * g->step_x * plane.phase + ABREAST * LANES;
    plane.places = (rows - 1) * plane.pitch + g->cols;
    return plane;
}

/* Set where each tap begins in a plane; the last is repeated up to `count`. */
static void NAME(set_distances)(const Grid *g, const NAME(Plane) *plane, Py_ssize_t count, Py_ssize_t *at) {
    for (Py_ssize_t i = 0; i < count; i++) {
        const int64_t *tap = g->tap + 3 * (i < g->taps ? i : g->taps - 1);
        Py_ssize_t y = tap[0] - plane->first_y, x = tap[1] - plane->first_x;
        Py_ssize_t phase = y % g->step_y * g->step_x + x % g->step_x;
        at[i] = phase * plane->phase + y / g->step_y * plane->pitch + x / g->step_x;
    }
}

static Py_ssize_t *NAME(distances)(const Grid *g, const NAME(Plane) *plane, Py_ssize_t count) {
    Py_ssize_t *at = malloc(sizeof(Py_ssize_t) * count);
    if (at != NULL)
        NAME(set_distances)(g, plane, count, at);
    return at;
}

/* Fill a plane for the rows of places from `row` on; what is outside the image stays zero, if it was. */
TARGET static void NAME(fill_plane)(const Grid *g, const NAME(Plane) *plane, const float *image, Py_ssize_t row,
                                    float *to) {
    Py_ssize_t top = row * g->step_y + plane->first_y;
    for (Py_ssize_t phase = 0; phase < g->step_x; phase++) {
        Py_ssize_t x = plane->first_x + phase, left = clamp(up(-x, g->step_x), 0, plane->pitch);
        Py_ssize_t count = clamp(up(g->width - x, g->step_x), left, plane->pitch) - left;
        for (Py_ssize_t first = 0; first < g->step_y; first++) {
            float *target = to + (first * g->step_x + phase) * plane->phase + left;
            const float *source = image + (top + first) * g->width + x + left * g->step_x;
            for (Py_ssize_t i = 0, y = top + first; i < plane->lines; i++, y += g->step_y, target += plane->pitch) {
                if (y < 0 || y >= g->height)
                    memset(target, 0, 4 * count);
                else if (g->step_x == 1)
                    NAME(copy)(target, source, count);
                else if (g->step_x == 2)
                    NAME(every_second)(target, source, count);
                else
                    for (Py_ssize_t j = 0; j < count; j++)
                        target[j] = source[j * g->step_x];
                source += g->step_y * g->width;
            }
        }
    }
}

/* Add to the sums, or set them to, the products of taps and what they meet: `high` filters apart in `w`. */
TARGET static void NAME(add_taps)(const Py_ssize_t *at, Py_ssize_t taps, const float *w, Py_ssize_t apart,
                                  const float *plane, float *sums, Py_ssize_t count, int add) {
    for (Py_ssize_t i = 0; i < count; i += ABREAST * LANES) {
        V sum[ABREAST];
        for (int j = 0; j < ABREAST; j++)
            sum[j] = add ? *(V *)(sums + i + j * LANES) : (V){0};
        for (Py_ssize_t tap = 0; tap < taps; tap++) {
            float factor = w[tap * apart];
            for (int j = 0; j < ABREAST; j++)
                sum[j] += factor * *(const V *)(plane + at[tap] + i + j * LANES);
        }
        for (int j = 0; j < ABREAST; j++)
            *(V *)(sums + i + j * LANES) = sum[j];
    }
}

/* Correlate rows [begin, end) of places, counted over all images, with the packed filters of a tile. */
TARGET static int NAME(planes)(const Grid *g, const Target *t, const float *from, const float *packed, float *to,
                               Py_ssize_t begin, Py_ssize_t end) {
    NAME(Plane) plane = NAME(plane)(g, g->rows, g->cols);
    float *memory = malloc(4 * (plane.size + plane.phase + ABREAST * LANES)), *sums = memory;
    Py_ssize_t *at = malloc(sizeof(Py_ssize_t) * g->taps);
    int failed = memory == NULL || at == NULL;
    for (Py_ssize_t line = begin, rows, before = 0; line < end && !failed; line += rows, before = rows) {
        Py_ssize_t image = line / g->rows, row = line % g->rows;
        rows = g->rows - row < end - line ? g->rows - row : end - line;
        if (rows != before) {
            plane = NAME(plane)(g, rows, g->cols);
            NAME(set_distances)(g, &plane, g->taps, at);
            memset(memory, 0, 4 * plane.size);
            sums = memory + plane.size;
        }
        for (Py_ssize_t filter = 0; filter < t->filters; filter++) {
            for (Py_ssize_t channel = 0; channel < g->channels; channel++) {
                if (filter == 0 || g->channels > 1)
                    NAME(fill_plane)(g, &plane, from + image * g->image + channel * g->plane, row, memory);
                NAME(add_taps)(at, g->taps, packed + channel * HIGH + filter, g->channels * HIGH, memory, sums,
                               plane.places, channel > 0);
            }
            float *target = to + image * t->image + filter * t->plane + (t->y + row * t->step_y) * t->width + t->x;
            for (Py_ssize_t i = 0; i < rows; i++, target += t->step_y * t->width)
                if (t->step_x == 1)
                    NAME(copy)(target, sums + i * plane.pitch, g->cols);
                else
                    for (Py_ssize_t j = 0; j < g->cols; j++)
                        target[j * t->step_x] = sums[i * plane.pitch + j];
        }
    }
    free(memory), free(at);
    return failed ? -1 : 0;
}

/* Add the products of `taps` taps with the gradients of all places of a plane. */
TARGET static inline void NAME(add_gradients)(const Py_ssize_t *at, int taps, const float *plane, const float *dy,
                                              Py_ssize_t count, double *total) {
    V sum[AT_ONCE];
    for (int tap = 0; tap < AT_ONCE; tap++)
        sum[tap] = (V){0};
    for (Py_ssize_t i = 0; i < count; i += LANES) {
        V d = *(const V *)(dy + i);
        for (int tap = 0; tap < taps; tap++)
            sum[tap] += d * *(const V *)(plane + at[tap] + i);
    }
    for (int tap = 0; tap < taps; tap++) {
        float all = 0;
        for (int lane = 0; lane < LANES; lane++)
            all += sum[tap][lane];
        total[tap] += all;
    }
}

/* Compute the gradient of the channels [first, last) of the filters: dw[filter][channel][tap]. */
TARGET static int NAME(planes_gradient)(const Grid *g, const Target *t, const float *from, const float *dy, float *dw,
                                        Py_ssize_t first, Py_ssize_t last) {
    NAME(Plane) plane = NAME(plane)(g, g->rows, g->cols);
    Py_ssize_t *at = malloc(sizeof(Py_ssize_t) * g->taps), room = plane.phase + LANES;
    float *memory = calloc(plane.size + t->filters * room, 4), *gradients = memory + plane.size;
    double *total = calloc((last - first) * t->filters * g->taps, sizeof(double));
    int failed = at == NULL || memory == NULL || total == NULL;
    if (!failed)
        NAME(set_distances)(g, &plane, g->taps, at);
    for (Py_ssize_t image = 0; image < g->images && !failed; image++) {
        for (Py_ssize_t filter = 0; filter < t->filters; filter++)
            for (Py_ssize_t row = 0; row < g->rows; row++)
                NAME(copy)(gradients + filter * room + row * plane.pitch,
                           dy + image * t->image + filter * t->plane + row * t->width, g->cols);
        for (Py_ssize_t channel = first; channel < last; channel++) {
            NAME(fill_plane)(g, &plane, from + image * g->image + channel * g->plane, 0, memory);
            for (Py_ssize_t filter = 0; filter < t->filters; filter++) {
                double *sums = total + ((channel - first) * t->filters + filter) * g->taps;
                Py_ssize_t tap = 0;
                for (; tap + AT_ONCE <= g->taps; tap += AT_ONCE)
                    NAME(add_gradients)(at + tap, AT_ONCE, memory, gradients + filter * room, plane.places, sums + tap);
                for (; tap + 3 <= g->taps; tap += 3)
                    NAME(add_gradients)(at + tap, 3, memory, gradients + filter * room, plane.places, sums + tap);
                for (; tap < g->taps; tap++)
                    NAME(add_gradients)(at + tap, 1, memory, gradients + filter * room, plane.places, sums + tap);
            }
        }
    }
    for (Py_ssize_t i = 0; i < (last - first) * t->filters * g->taps && !failed; i++) {
        Py_ssize_t tap = i % g->taps, filter = i / g->taps % t->filters, channel = first + i / g->taps / t->filters;
        dw[(filter * g->channels + channel) * g->taps + tap] = (float)total[i];
    }
    free(at), free(memory), free(total);
    return failed ? -1 : 0;
}
#undef ABREAST
#undef AT_ONCE
