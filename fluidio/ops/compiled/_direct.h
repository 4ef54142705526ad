/* Correlations for few filters: vectors of places are loaded straight from a copy of the image with its padding, so that
   nothing is gathered. Included by _tiles.h, once for each set of instructions.

   The copy is a Plane (_planes.h) for each channel: some rows of places of one image, with all that their taps meet.
*/

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
    NAME(Plane) plane = NAME(plane)(g, 0, g->cols);
    Py_ssize_t line_size = g->channels * g->step_y * g->step_x * plane.pitch;
    Py_ssize_t rows = clamp(CACHED / 2 / 4 / line_size - plane.lines, 1, g->rows);
    plane = NAME(plane)(g, rows, g->cols);
    float *copy = calloc(g->channels * plane.size, 4);
    Py_ssize_t *offset = NAME(distances)(g, &plane, g->taps), across = (g->cols + LANES - 1) / LANES;
    if (copy == NULL || offset == NULL) {
        free(copy), free(offset);
        return -1;
    }
    for (Py_ssize_t line = begin; line < end;) {
        Py_ssize_t image = line / g->rows, row = line % g->rows, count = g->rows - row < rows ? g->rows - row : rows;
        count = end - line < count ? end - line : count;
        for (Py_ssize_t channel = 0; channel < g->channels; channel++)
            NAME(fill_plane)(g, &plane, from + image * g->image + channel * g->plane, row, copy + channel * plane.size);
        float *out = to + image * t->image + (t->y + row) * t->width + t->x;
        for (Py_ssize_t at = 0; at < count * across; at += WIDE) {
            const float *b[WIDE];
            float *c[WIDE];
            for (int j = 0; j < WIDE && at + j < count * across; j++) {
                Py_ssize_t y = (at + j) / across, x = clamp((at + j) % across * LANES, 0, g->cols - LANES);
                b[j] = copy + y * plane.pitch + x;
                c[j] = out + y * t->width + x;
            }
            Py_ssize_t vectors = count * across - at, depth = g->taps * g->channels;
            for (Py_ssize_t i = 0; i < t->filters; i += HIGH) {
                (vectors == 1 ? NAME(direct1)
#if WIDE > 2
                 : vectors > 2 ? NAME(direct3)
#endif
                               : NAME(direct2))(g, offset, plane.size, packed + i * depth, b, c, t->plane, t->filters - i);
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
                    IN_REGISTER(right); /* GCC would load it again for each tap */
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
    NAME(Plane) plane = NAME(plane)(g, g->rows, cols);
    Py_ssize_t x_band = channels * plane.size, dy_band = filters * area;
    Py_ssize_t many = clamp(CACHED / 2 / (4 * (x_band + dy_band)), 1, 16);
    float *x = calloc(many * x_band, 4), *memory = calloc(many * dy_band + LANES, 4);
    float *right = (float *)(((uintptr_t)memory + 4 * LANES - 1) & ~(uintptr_t)(4 * LANES - 1)); /* whole lines */
    V *sums = calloc(channels * triples * filters * TAPS, sizeof(V));
    Py_ssize_t *offset = NAME(distances)(g, &plane, triples * TAPS);
    int failed = x == NULL || memory == NULL || sums == NULL || offset == NULL;
    for (Py_ssize_t image = 0; image < g->images && !failed; image += many) {
        Py_ssize_t bands = g->images - image < many ? g->images - image : many;
        for (Py_ssize_t i = 0; i < bands; i++) {
            for (Py_ssize_t channel = 0; channel < channels; channel++)
                NAME(fill_plane)(g, &plane, from + (image + i) * g->image + (first + channel) * g->plane, 0,
                                 x + i * x_band + channel * plane.size);
            for (Py_ssize_t filter = 0; filter < t->filters; filter++)
                for (Py_ssize_t row = 0; row < g->rows; row++)
                    NAME(copy)(right + i * dy_band + filter * area + row * cols,
                               dy + (image + i) * t->image + filter * t->plane + row * t->width, g->cols);
        }
        for (Py_ssize_t filter = 0; filter < filters; filter += HIGH)
            for (Py_ssize_t channel = 0; channel < channels; channel++)
                for (Py_ssize_t triple = 0; triple < triples; triple++)
                    NAME(direct_sums)(offset + triple * TAPS, x + channel * plane.size, x_band, plane.pitch,
                                      right + filter * area, dy_band, area, bands, g->rows, cols,
                                      sums + ((channel * triples + triple) * filters + filter) * TAPS);
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
