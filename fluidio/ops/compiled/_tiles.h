/* Correlations as matrix products in pieces that stay in the cache; included once for each set of instructions.

   Before including define what `_tile.h` wants.
*/

#include "_tile.h"

TARGET static inline void NAME(copy)(float *to, const float *from, Py_ssize_t count) {
    if (count < LANES) {
        copy_few(to, from, count);
        return;
    }
    for (Py_ssize_t i = 0; i + LANES <= count; i += LANES)
        *(V *)(to + i) = *(const V *)(from + i);
    *(V *)(to + count - LANES) = *(const V *)(from + count - LANES);
}

/* Copy every second float from `from` on: `count` of them. */
TARGET static inline void NAME(every_second)(float *to, const float *from, Py_ssize_t count) {
    Py_ssize_t i = 0;
#if !defined(__clang__)
    typedef int32_t choice __attribute__((vector_size(LANES * 4)));
    choice even;
    for (int lane = 0; lane < LANES; lane++)
        even[lane] = 2 * lane;
    for (; i + LANES < count; i += LANES) /* the second vector ends before the next float to copy */
        *(V *)(to + i) = __builtin_shuffle(*(const V *)(from + 2 * i), *(const V *)(from + 2 * i + LANES), even);
#endif
    for (; i < count; i++)
        to[i] = from[2 * i];
}

/* Do the moves of one tap for some channels: a row of `to` for each. Whole vectors are moved where that reads inside
   the source; what this writes too far is overwritten by the next move or row, or is slack behind the last. */
TARGET static void NAME(gather)(float *to, Py_ssize_t to_row, const float *from, Py_ssize_t plane, Py_ssize_t channels,
                                const float *end, const Move *moves, Py_ssize_t count, Py_ssize_t step) {
    for (Py_ssize_t channel = 0; channel < channels; channel++, to += to_row, from += plane)
        for (const Move *move = moves; move < moves + count; move++) {
            float *target = to + move->to;
            const float *source = from + move->from;
            Py_ssize_t rounded = (move->count + LANES - 1) / LANES * LANES;
            if (move->from < 0)
                for (Py_ssize_t i = 0; i < move->count; i += LANES)
                    *(V *)(target + i) = (V){0};
            else if (step == 1 && source + rounded <= end)
                for (Py_ssize_t i = 0; i < move->count; i += LANES)
                    *(V *)(target + i) = *(const V *)(source + i);
            else if (step == 2)
                NAME(every_second)(target, source, move->count);
            else
                for (Py_ssize_t i = 0; i < move->count; i++)
                    target[i] = source[i * step];
        }
}

/* Gather rows [first, last) of the columns of some places; rows are ordered by tap, then channel. */
TARGET static void NAME(columns)(const Grid *g, const float *from, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t first,
                                 Py_ssize_t last, float *to, Py_ssize_t to_row, Move *moves) {
    for (Py_ssize_t row = first; row < last;) {
        Py_ssize_t tap = row / g->channels, channel = row % g->channels;
        Py_ssize_t channels = g->channels - channel < last - row ? g->channels - channel : last - row;
        Py_ssize_t count = moves_of(g, tap, begin, end, moves);
        NAME(gather)(to + (row - first) * to_row, to_row, from + channel * g->plane, g->plane, channels, g->from_end,
                     moves, count, g->step_x);
        row += channels;
    }
}

/* Correlate the places [begin, end) of a grid with packed filters. */
TARGET static int NAME(correlate)(const Grid *g, const Target *t, const float *from, const float *packed, float *to,
                                  Py_ssize_t begin, Py_ssize_t end) {
    Py_ssize_t depth = g->taps * g->channels, filters = (t->filters + HIGH - 1) / HIGH * HIGH;
    Py_ssize_t chunk = depth < CHUNK ? depth : CHUNK;
    Py_ssize_t many = CACHED / (4 * PANEL * (chunk + filters));
    many = many < 1 ? 1 : many > 32 ? 32 : many;
    float *b = malloc(4 * (many * PANEL * chunk + PANEL));
    float *c = malloc(4 * many * PANEL * filters);
    Move *moves = malloc(sizeof(Move) * 3 * PANEL);
    if (b == NULL || c == NULL || moves == NULL) {
        free(b), free(c), free(moves);
        return -1;
    }
    for (Py_ssize_t block = begin; block < end; block += many * PANEL) {
        Py_ssize_t stop = block + many * PANEL < end ? block + many * PANEL : end;
        for (Py_ssize_t first = 0; first < depth; first += chunk) {
            Py_ssize_t last = first + chunk < depth ? first + chunk : depth;
            for (Py_ssize_t place = block; place < stop; place += PANEL) {
                float *panel = b + (place - block) * chunk, *product = c + (place - block) * filters;
                Py_ssize_t wide = stop - place < PANEL ? stop - place : PANEL;
                NAME(columns)(g, from, place, place + wide, first, last, panel, PANEL, moves);
                for (Py_ssize_t i = 0; i < filters; i += HIGH)
                    NAME(tile)(wide, last - first, packed + i * depth + first * HIGH, 1, HIGH, panel, PANEL,
                               product + i * PANEL, PANEL, first > 0);
            }
        }
        for (Py_ssize_t place = block; place < stop; place += PANEL) {
            Py_ssize_t wide = stop - place < PANEL ? stop - place : PANEL;
            Py_ssize_t count = runs_of(g, t, place, place + wide, moves);
            const float *product = c + (place - block) * filters;
            for (Py_ssize_t i = 0; i < t->filters; i++)
                put(to + i * t->plane, product + i * PANEL, moves, count, t->step_x);
        }
    }
    free(b), free(c), free(moves);
    return 0;
}

/* Arrange the filters [first, last) for the tiles: [filters / HIGH][tap, channel][HIGH]. */
TARGET static void NAME(pack)(const Grid *g, const Target *t, const Filters *w, const float *from, float *packed,
                              Py_ssize_t first, Py_ssize_t last) {
    packed += first * g->taps * g->channels;
    for (Py_ssize_t i = first; i < last; i += HIGH, packed += g->taps * g->channels * HIGH)
        for (Py_ssize_t channel = 0; channel < g->channels; channel++)
            for (Py_ssize_t tap = 0; tap < g->taps; tap++) {
                const float *source = from + i * w->filter + channel * w->channel + g->tap[3 * tap + 2];
                float *to = packed + (tap * g->channels + channel) * HIGH;
                for (Py_ssize_t high = 0; high < HIGH; high++)
                    to[high] = i + high < t->filters ? source[high * w->filter] : 0;
            }
}

/* Arrange the gradients of places [begin, end) as panels [filters / PANEL][place][PANEL]. */
TARGET static void NAME(turn)(const Target *t, const float *dy, Py_ssize_t area, Py_ssize_t begin, Py_ssize_t end,
                              float *to) {
    Py_ssize_t places = end - begin, lines[4] = {0, t->plane, 2 * t->plane, 3 * t->plane};
    for (Py_ssize_t filter = 0, some; filter < t->filters; filter += some) {
        float *column = to + filter / PANEL * PANEL * places + filter % PANEL;
        some = t->filters - filter < 4 ? 1 : 4;
        for (Py_ssize_t place = begin; place < end;) {
            Py_ssize_t image = place / area, at = place % area, i = 0;
            Py_ssize_t count = area - at < end - place ? area - at : end - place;
            const float *from = dy + image * t->image + filter * t->plane + at;
            for (; some == 4 && i + 4 <= count; i += 4, column += 4 * PANEL)
                turn_four(from + i, lines, column, PANEL);
            for (; i < count; i++, column += PANEL)
                for (Py_ssize_t j = 0; j < some; j++)
                    column[j] = from[lines[j] + i];
            place += count;
        }
    }
}

/* Compute the gradient of rows [first, last) of the filters, ordered by tap, then channel: dw[filter][channel][tap]. */
TARGET static int NAME(filter_gradient)(const Grid *g, const Target *t, const float *from, const float *dy, float *dw,
                                        Py_ssize_t first, Py_ssize_t last) {
    Py_ssize_t area = g->rows * g->cols, all = g->images * area;
    Py_ssize_t filters = (t->filters + PANEL - 1) / PANEL * PANEL, rows = (last - first + HIGH - 1) / HIGH * HIGH;
    float *a = calloc(ROWS * (PLACES + 16) + LANES, 4);
    float *b = calloc(filters * PLACES, 4);
    float *c = malloc(4 * rows * filters);
    Move *moves = malloc(sizeof(Move) * 3 * PLACES);
    if (a == NULL || b == NULL || c == NULL || moves == NULL) {
        free(a), free(b), free(c), free(moves);
        return -1;
    }
    for (Py_ssize_t begin = 0; begin < all; begin += PLACES) {
        Py_ssize_t end = begin + PLACES < all ? begin + PLACES : all, places = end - begin;
        NAME(turn)(t, dy, area, begin, end, b);
        for (Py_ssize_t row = first; row < last; row += ROWS) {
            Py_ssize_t stop = row + ROWS < last ? row + ROWS : last;
            NAME(columns)(g, from, begin, end, row, stop, a, PLACES + 16, moves);
            for (Py_ssize_t i = row; i < stop; i += HIGH)
                for (Py_ssize_t j = 0; j < t->filters; j += PANEL)
                    NAME(tile)(t->filters - j, places, a + (i - row) * (PLACES + 16), PLACES + 16, 1, b + j * places,
                               PANEL, c + (i - first) * filters + j, filters, begin > 0);
        }
    }
    for (Py_ssize_t some = 0; some < t->filters; some += PANEL)
        for (Py_ssize_t row = first; row < last; row++) {
            float *to = dw + row % g->channels * g->taps + row / g->channels;
            for (Py_ssize_t filter = some; filter < some + PANEL && filter < t->filters; filter++)
                to[filter * g->channels * g->taps] = c[(row - first) * filters + filter];
        }
    free(a), free(b), free(c), free(moves);
    return 0;
}

#include "_planes.h"
#include "_direct.h"
#include "_columns.h"
#include "_winograd.h"
