/* Correlations that visit every place, for few filters: vectors of places are loaded straight from a copy of the image
   with its padding, so that nothing is gathered. Included by _tiles.h, once for each set of instructions.

   A band is some rows of places of one image, with all that their taps meet; its edges are zeros.
*/

typedef struct {
    Py_ssize_t first_y, first_x, high, stride, plane, left, right; /* high: rows; left, right: inside the image */
} NAME(Band);

/* Return the shape of a band of `rows` rows of places, each of `cols` places. */
static NAME(Band) NAME(band)(const Grid *g, Py_ssize_t rows, Py_ssize_t cols) {
    Py_ssize_t top = g->tap[0], bottom = top, left = g->tap[1], right = left;
    for (Py_ssize_t tap = 1; tap < g->taps; tap++) {
        Py_ssize_t y = g->tap[3 * tap], x = g->tap[3 * tap + 1];
        top = y < top ? y : top, bottom = y > bottom ? y : bottom;
        left = x < left ? x : left, right = x > right ? x : right;
    }
    NAME(Band) band = {top, left, rows + bottom - top, cols + right - left, 0, 0, 0};
    band.plane = band.high * band.stride + LANES;
    band.left = clamp(-left, 0, band.stride);
    band.right = clamp(g->width - left, band.left, band.stride);
    return band;
}

TARGET static inline void NAME(copy)(float *to, const float *from, Py_ssize_t count) {
    if (count < LANES) {
        copy_few(to, from, count);
        return;
    }
    for (Py_ssize_t i = 0; i + LANES <= count; i += LANES)
        *(V *)(to + i) = *(const V *)(from + i);
    *(V *)(to + count - LANES) = *(const V *)(from + count - LANES);
}

/* Fill the inside of a band whose first row of places is `row`; the edges are unchanged. */
TARGET static void NAME(fill)(const Grid *g, const NAME(Band) *band, const float *image, Py_ssize_t channels,
                              Py_ssize_t row, float *to) {
    for (Py_ssize_t channel = 0; channel < channels; channel++, image += g->plane, to += band->plane)
        for (Py_ssize_t i = 0; i < band->high; i++) {
            Py_ssize_t y = row + band->first_y + i, count = band->right - band->left;
            float *target = to + i * band->stride + band->left;
            if (y < 0 || y >= g->height)
                memset(target, 0, 4 * count);
            else
                NAME(copy)(target, image + y * g->width + band->first_x + band->left, count);
        }
}

/* Return the positions of the taps in a band; the last is repeated as padding, whose sums are not read. */
static Py_ssize_t *NAME(offsets)(const Grid *g, const NAME(Band) *band, Py_ssize_t count) {
    Py_ssize_t *offset = malloc(sizeof(Py_ssize_t) * count);
    for (Py_ssize_t tap = 0; offset != NULL && tap < count; tap++) {
        const int64_t *at = g->tap + 3 * (tap < g->taps ? tap : g->taps - 1);
        offset[tap] = (at[0] - band->first_y) * band->stride + at[1] - band->first_x;
    }
    return offset;
}

#define DEFINE_DIRECT(vectors)                                                                                         \
    TARGET static void NAME(direct##vectors)(const Grid *g, const Py_ssize_t *offset, Py_ssize_t plane,                \
                                             const float *a, const float *const *b, float *const *c, Py_ssize_t c_row, \
                                             Py_ssize_t filters) {                                                     \
        V sum[HIGH][vectors];                                                                                          \
        for (int i = 0; i < HIGH; i++)                                                                                 \
            for (int j = 0; j < vectors; j++)                                                                          \
                sum[i][j] = (V){0};                                                                                    \
        for (Py_ssize_t tap = 0; tap < g->taps; tap++) {                                                               \
            Py_ssize_t at = offset[tap];                                                                               \
            for (Py_ssize_t channel = 0; channel < g->channels; channel++, at += plane, a += HIGH) {                   \
                V right[vectors];                                                                                      \
                for (int j = 0; j < vectors; j++)                                                                      \
                    right[j] = *(const V *)(b[j] + at);                                                                \
                for (int i = 0; i < HIGH; i++)                                                                         \
                    for (int j = 0; j < vectors; j++)                                                                  \
                        sum[i][j] += a[i] * right[j];                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        for (int i = 0; i < HIGH; i++)                                                                                 \
            if (i < filters)                                                                                           \
                for (int j = 0; j < vectors; j++)                                                                      \
                    *(V *)(c[j] + i * c_row) = sum[i][j];                                                              \
    }

/* Set up to HIGH filters at some vectors of places. */
DEFINE_DIRECT(1)
DEFINE_DIRECT(2)
#if WIDE > 2
DEFINE_DIRECT(3)
#endif
#undef DEFINE_DIRECT

/* Correlate rows [begin, end) of places, counted over all images; a row has at least LANES places. */
TARGET static int NAME(direct)(const Grid *g, const Target *t, const float *from, const float *packed, float *to,
                               Py_ssize_t begin, Py_ssize_t end) {
    NAME(Band) band = NAME(band)(g, 0, g->cols);
    Py_ssize_t rows = clamp(CACHED / 2 / (4 * g->channels * band.stride) - band.high, 1, g->rows);
    band = NAME(band)(g, rows, g->cols);
    float *copy = calloc(g->channels * band.plane, 4);
    Py_ssize_t *offset = NAME(offsets)(g, &band, g->taps), across = (g->cols + LANES - 1) / LANES;
    if (copy == NULL || offset == NULL) {
        free(copy), free(offset);
        return -1;
    }
    for (Py_ssize_t line = begin; line < end;) {
        Py_ssize_t image = line / g->rows, row = line % g->rows, count = g->rows - row < rows ? g->rows - row : rows;
        count = end - line < count ? end - line : count;
        NAME(fill)(g, &band, from + image * g->image, g->channels, row, copy);
        float *out = to + image * t->image + (t->y + row) * t->width + t->x;
        for (Py_ssize_t at = 0; at < count * across; at += WIDE) {
            const float *b[WIDE];
            float *c[WIDE];
            for (int j = 0; j < WIDE && at + j < count * across; j++) {
                Py_ssize_t y = (at + j) / across, x = clamp((at + j) % across * LANES, 0, g->cols - LANES);
                b[j] = copy + y * band.stride + x;
                c[j] = out + y * t->width + x;
            }
            Py_ssize_t vectors = count * across - at, depth = g->taps * g->channels;
            for (Py_ssize_t i = 0; i < t->filters; i += HIGH) {
                (vectors == 1 ? NAME(direct1)
#if WIDE > 2
                 : vectors > 2 ? NAME(direct3)
#endif
                               : NAME(direct2))(g, offset, band.plane, packed + i * depth, b, c, t->plane, t->filters - i);
                for (int j = 0; j < WIDE && j < vectors; j++)
                    c[j] += HIGH * t->plane;
            }
        }
        line += count;
    }
    free(copy), free(offset);
    return 0;
}

#define TAPS 3 /* of a tile of the gradient: TAPS x HIGH sums, each a vector */

/* Add to the sums of three taps of one channel and HIGH filters over the rows of some bands. */
TARGET static void NAME(direct_sums)(const Py_ssize_t *offset, const float *x, Py_ssize_t x_band, Py_ssize_t stride,
                                     const float *dy, Py_ssize_t dy_band, Py_ssize_t dy_plane, Py_ssize_t bands,
                                     Py_ssize_t rows, Py_ssize_t cols, V *sums) {
    V sum[TAPS][HIGH];
    for (int tap = 0; tap < TAPS; tap++)
        for (int i = 0; i < HIGH; i++)
            sum[tap][i] = sums[tap * HIGH + i];
    for (Py_ssize_t band = 0; band < bands; band++, x += x_band, dy += dy_band)
        for (Py_ssize_t row = 0; row < rows; row++)
            for (Py_ssize_t col = 0; col < cols; col += LANES) {
                V left[TAPS];
                for (int tap = 0; tap < TAPS; tap++)
                    left[tap] = *(const V *)(x + row * stride + col + offset[tap]);
                for (int i = 0; i < HIGH; i++) {
                    V right = *(const V *)(dy + i * dy_plane + row * cols + col);
                    for (int tap = 0; tap < TAPS; tap++)
                        sum[tap][i] += left[tap] * right;
                }
            }
    for (int tap = 0; tap < TAPS; tap++)
        for (int i = 0; i < HIGH; i++)
            sums[tap * HIGH + i] = sum[tap][i];
}

/* Compute the gradient of the channels [first, last) of the filters: dw[filter][channel][tap]. */
TARGET static int NAME(direct_gradient)(const Grid *g, const Target *t, const float *from, const float *dy, float *dw,
                                        Py_ssize_t first, Py_ssize_t last) {
    Py_ssize_t cols = (g->cols + LANES - 1) / LANES * LANES, filters = (t->filters + HIGH - 1) / HIGH * HIGH;
    Py_ssize_t triples = (g->taps + TAPS - 1) / TAPS, channels = last - first, area = g->rows * cols;
    NAME(Band) band = NAME(band)(g, g->rows, cols);
    Py_ssize_t x_band = channels * band.plane, dy_band = filters * area;
    Py_ssize_t many = clamp(CACHED / 2 / (4 * (x_band + dy_band)), 1, 16);
    float *x = calloc(many * x_band, 4), *memory = calloc(many * dy_band + LANES, 4);
    float *right = (float *)(((uintptr_t)memory + 4 * LANES - 1) & ~(uintptr_t)(4 * LANES - 1)); /* whole lines */
    V *sums = calloc(channels * triples * filters * TAPS, sizeof(V));
    Py_ssize_t *offset = NAME(offsets)(g, &band, triples * TAPS);
    int failed = x == NULL || memory == NULL || sums == NULL || offset == NULL;
    for (Py_ssize_t image = 0; image < g->images && !failed; image += many) {
        Py_ssize_t bands = g->images - image < many ? g->images - image : many;
        for (Py_ssize_t i = 0; i < bands; i++) {
            NAME(fill)(g, &band, from + (image + i) * g->image + first * g->plane, channels, 0, x + i * x_band);
            for (Py_ssize_t filter = 0; filter < t->filters; filter++)
                for (Py_ssize_t row = 0; row < g->rows; row++)
                    NAME(copy)(right + i * dy_band + filter * area + row * cols,
                               dy + (image + i) * t->image + filter * t->plane + row * t->width, g->cols);
        }
        V *at = sums;
        for (Py_ssize_t channel = 0; channel < channels; channel++)
            for (Py_ssize_t triple = 0; triple < triples; triple++)
                for (Py_ssize_t filter = 0; filter < filters; filter += HIGH, at += TAPS * HIGH)
                    NAME(direct_sums)(offset + triple * TAPS, x + channel * band.plane, x_band, band.stride,
                                      right + filter * area, dy_band, area, bands, g->rows, cols, at);
    }
    for (Py_ssize_t i = 0; i < channels * triples * TAPS * filters && !failed; i++) {
        Py_ssize_t tile = i / (TAPS * HIGH), row = tile / (filters / HIGH); /* a row of tiles: a triple of taps */
        Py_ssize_t tap = row % triples * TAPS + i / HIGH % TAPS, channel = first + row / triples;
        Py_ssize_t filter = tile % (filters / HIGH) * HIGH + i % HIGH;
        float total = 0;
        for (int lane = 0; lane < LANES; lane++)
            total += sums[i][lane];
        if (tap < g->taps && filter < t->filters)
            dw[(filter * g->channels + channel) * g->taps + tap] = total;
    }
    free(x), free(memory), free(sums), free(offset);
    return failed ? -1 : 0;
}
#undef TAPS
