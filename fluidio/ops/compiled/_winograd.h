/* Correlations with 3 x 3 taps that visit every place, by Winograd: an output of 2 x 2 takes 16 products of what was
   added up before, instead of 36. Included by _tiles.h, once for each set of instructions.

   d: 4 x 4 inputs of an output tile, w: 3 x 3 taps, y: 2 x 2 outputs; [..] is 4 x 4, . goes by element:
   y = A' [(G w G') . (B' d B)] A, and for the gradient dw = C' [(H dy H') . (B' d B)] C, summed over tiles.
*/

/* A run of tiles in one row of tiles of one image. */
typedef struct {
    Py_ssize_t image, row, col, count;
} NAME(Run);

static inline NAME(Run) NAME(run)(const Grid *g, Py_ssize_t tile, Py_ssize_t end) {
    Py_ssize_t cols = (g->cols + 1) / 2, rows = (g->rows + 1) / 2, line = tile / cols, col = tile % cols;
    return (NAME(Run)){line / rows, line % rows, col, cols - col < end - tile ? cols - col : end - tile};
}

/* Copy `count` floats of a row of an image from x on; those outside the image are zero. */
TARGET static inline void NAME(line)(float *to, const float *image, Py_ssize_t height, Py_ssize_t width, Py_ssize_t y,
                                     Py_ssize_t x, Py_ssize_t count) {
    if (y < 0 || y >= height) {
        for (Py_ssize_t i = 0; i < count; i++)
            to[i] = 0;
        return;
    }
    Py_ssize_t left = clamp(-x, 0, count), right = clamp(width - x, left, count);
    const float *from = image + y * width + x;
    for (Py_ssize_t i = 0; i < left; i++)
        to[i] = 0;
    for (Py_ssize_t i = left; i < right; i++)
        to[i] = from[i];
    for (Py_ssize_t i = right; i < count; i++)
        to[i] = 0;
}

/* B' d B for the tiles [begin, end) of one channel: to[16][step]. */
TARGET static void NAME(spread_inputs)(const Grid *g, const float *from, Py_ssize_t begin, Py_ssize_t end, float *to,
                                       Py_ssize_t step) {
    float d[4][2 * TILES + 2], t[4][2 * TILES + 2];
    for (Py_ssize_t tile = begin; tile < end;) {
        NAME(Run) run = NAME(run)(g, tile, end);
        Py_ssize_t width = 2 * run.count + 2;
        for (int i = 0; i < 4; i++)
            NAME(line)(d[i], from + run.image * g->image, g->height, g->width, 2 * run.row + g->first_y + i,
                       2 * run.col + g->first_x, width);
        for (Py_ssize_t i = 0; i < width; i++) {
            t[0][i] = d[0][i] - d[2][i];
            t[1][i] = d[1][i] + d[2][i];
            t[2][i] = d[2][i] - d[1][i];
            t[3][i] = d[1][i] - d[3][i];
        }
        for (int row = 0; row < 4; row++) {
            float *at = to + 4 * row * step + (tile - begin);
            for (Py_ssize_t i = 0; i < run.count; i++) {
                float a = t[row][2 * i], b = t[row][2 * i + 1], c = t[row][2 * i + 2], e = t[row][2 * i + 3];
                at[i] = a - c;
                at[i + step] = b + c;
                at[i + 2 * step] = c - b;
                at[i + 3 * step] = b - e;
            }
        }
        tile += run.count;
    }
}

/* G w G' of HIGH filters and a channel: to[16][step]. Filters behind the last of `some` are zero. */
TARGET static inline void NAME(spread_taps)(const Grid *g, const Filters *w, const float *from, Py_ssize_t some,
                                            float *to, Py_ssize_t step) {
    float taps[9][HIGH], rows[4][3][HIGH];
    for (int tap = 0; tap < 9; tap++)
        for (Py_ssize_t high = 0; high < HIGH; high++)
            taps[tap][high] = high < some ? from[high * w->filter + g->tap[3 * g->order[tap] + 2]] : 0;
    for (int col = 0; col < 3; col++)
        for (int high = 0; high < HIGH; high++) {
            float a = taps[col][high], b = taps[3 + col][high], c = taps[6 + col][high];
            rows[0][col][high] = a;
            rows[1][col][high] = 0.5f * (a + b + c);
            rows[2][col][high] = 0.5f * (a - b + c);
            rows[3][col][high] = c;
        }
    for (int row = 0; row < 4; row++, to += 4 * step)
        for (int high = 0; high < HIGH; high++) {
            float a = rows[row][0][high], b = rows[row][1][high], c = rows[row][2][high];
            to[high] = a;
            to[step + high] = 0.5f * (a + b + c);
            to[2 * step + high] = 0.5f * (a - b + c);
            to[3 * step + high] = c;
        }
}

/* G w G' of the filters [first, last), laid out for the tiles of a product: [16][filters / HIGH][channels][HIGH] and
   APART. */
TARGET static void NAME(spread_filters)(const Grid *g, const Target *t, const Filters *w, const float *from, float *to,
                                        Py_ssize_t first, Py_ssize_t last) {
    Py_ssize_t filters = (t->filters + HIGH - 1) / HIGH * HIGH, step = filters * g->channels + APART;
    for (Py_ssize_t some = first; some < last; some += TOGETHER)
        for (Py_ssize_t channel = 0; channel < g->channels; channel++)
            for (Py_ssize_t i = some; i < some + TOGETHER && i < last; i += HIGH)
                NAME(spread_taps)(g, w, from + i * w->filter + channel * w->channel, t->filters - i,
                                  to + i * g->channels + channel * HIGH, step);
}

/* A' m A for the tiles [begin, end) of one filter, from m[16][step] to the output. */
TARGET static void NAME(gather_outputs)(const Grid *g, const Target *t, const float *m, Py_ssize_t step,
                                        Py_ssize_t begin, Py_ssize_t end, float *to) {
    float s[2][4][TILES], y[2 * TILES];
    for (Py_ssize_t tile = begin; tile < end;) {
        NAME(Run) run = NAME(run)(g, tile, end);
        const float *at = m + (tile - begin);
        for (int col = 0; col < 4; col++)
            for (Py_ssize_t i = 0; i < run.count; i++) {
                float a = at[col * step + i], b = at[(4 + col) * step + i], c = at[(8 + col) * step + i];
                s[0][col][i] = a + b + c;
                s[1][col][i] = b - c - at[(12 + col) * step + i];
            }
        for (Py_ssize_t row = 0; row < 2 && 2 * run.row + row < g->rows; row++) {
            for (Py_ssize_t i = 0; i < run.count; i++) {
                float a = s[row][0][i], b = s[row][1][i], c = s[row][2][i];
                y[2 * i] = a + b + c;
                y[2 * i + 1] = b - c - s[row][3][i];
            }
            Py_ssize_t count = 2 * run.count < g->cols - 2 * run.col ? 2 * run.count : g->cols - 2 * run.col;
            float *line = to + run.image * t->image + (t->y + 2 * run.row + row) * t->width + t->x + 2 * run.col;
            memcpy(line, y, 4 * count);
        }
        tile += run.count;
    }
}

/* Correlate the rows of tiles [begin, end), counted over all images. */
TARGET static int NAME(winograd)(const Grid *g, const Target *t, const float *from, const float *packed, float *to,
                                 Py_ssize_t begin, Py_ssize_t end) {
    Py_ssize_t cols = (g->cols + 1) / 2, filters = (t->filters + HIGH - 1) / HIGH * HIGH;
    Py_ssize_t step = clamp(CACHED / (64 * (g->channels + filters)) / PANEL, 1, TILES / PANEL) * PANEL;
    Py_ssize_t inputs = g->channels * step + APART, products = filters * step + APART;
    float *v = malloc(4 * (16 * inputs + PANEL)), *m = malloc(4 * 16 * products);
    if (v == NULL || m == NULL) {
        free(v), free(m);
        return -1;
    }
    for (Py_ssize_t tile = begin * cols; tile < end * cols; tile += step) {
        Py_ssize_t stop = tile + step < end * cols ? tile + step : end * cols;
        for (Py_ssize_t c = 0; c < g->channels; c++)
            NAME(spread_inputs)(g, from + c * g->plane, tile, stop, v + c * step, inputs);
        for (int k = 0; k < 16; k++)
            for (Py_ssize_t first = 0; first < g->channels; first += CHUNK) {
                Py_ssize_t depth = first + CHUNK < g->channels ? CHUNK : g->channels - first;
                for (Py_ssize_t place = 0; place < stop - tile; place += PANEL)
                    for (Py_ssize_t i = 0; i < filters; i += HIGH)
                        NAME(tile)(stop - tile - place, depth,
                                   packed + k * (filters * g->channels + APART) + i * g->channels + first * HIGH, 1, HIGH,
                                   v + k * inputs + first * step + place, step,
                                   m + k * products + i * step + place, step, first > 0);
            }
        for (Py_ssize_t i = 0; i < t->filters; i++)
            NAME(gather_outputs)(g, t, m + i * step, products, tile, stop, to + i * t->plane);
    }
    free(v), free(m);
    return 0;
}

/* H dy H' for the tiles [begin, end) of one filter: to[16][step], tiles PANEL apart. */
TARGET static void NAME(spread_gradients)(const Grid *g, const Target *t, const float *dy, Py_ssize_t begin,
                                          Py_ssize_t end, float *to, Py_ssize_t step) {
    float d[2][2 * TILES], r[4][2 * TILES];
    for (Py_ssize_t tile = begin; tile < end;) {
        NAME(Run) run = NAME(run)(g, tile, end);
        for (int i = 0; i < 2; i++)
            NAME(line)(d[i], dy + run.image * t->image, g->rows, g->cols, 2 * run.row + i, 2 * run.col, 2 * run.count);
        for (Py_ssize_t i = 0; i < 2 * run.count; i++) {
            r[0][i] = d[0][i];
            r[1][i] = 0.5f * (d[0][i] + d[1][i]);
            r[2][i] = 0.5f * (d[0][i] - d[1][i]);
            r[3][i] = d[1][i];
        }
        for (int row = 0; row < 4; row++)
            for (Py_ssize_t i = 0; i < run.count; i++) {
                float *at = to + 4 * row * step + (tile - begin + i) * PANEL, a = r[row][2 * i], b = r[row][2 * i + 1];
                at[0] = a;
                at[step] = 0.5f * (a + b);
                at[2 * step] = 0.5f * (a - b);
                at[3 * step] = b;
            }
        tile += run.count;
    }
}

/* C' s C of one channel and a run of filters, from s[16][step] to dw[filter][channel][tap]. */
TARGET static void NAME(gather_filters)(const Grid *g, const float *s, Py_ssize_t step, Py_ssize_t filters, float *dw) {
    for (Py_ssize_t filter = 0; filter < filters; filter++, s++, dw += 9 * g->channels) {
        float r[3][4];
        for (int col = 0; col < 4; col++) {
            float a = s[col * step], b = s[(4 + col) * step], c = s[(8 + col) * step], e = s[(12 + col) * step];
            r[0][col] = a + b + c;
            r[1][col] = b - c;
            r[2][col] = b + c - e;
        }
        for (int row = 0; row < 3; row++) {
            dw[3 * row] = r[row][0] + r[row][1] + r[row][2];
            dw[3 * row + 1] = r[row][1] - r[row][2];
            dw[3 * row + 2] = r[row][1] + r[row][2] - r[row][3];
        }
    }
}

/* The gradient of the filters, a block of tiles after the other: v and d are B' d B and H dy H' of the block. */
typedef struct {
    const Grid *g;
    const Target *t;
    const float *from, *dy;
    float *dw, *v, *d, *s;
    Py_ssize_t rows, filters, inputs, outputs, sums;  /* rows: channels; both rounded up to tiles */
    Py_ssize_t tiles, first, tile, stop;              /* first: of the block that sets the sums */
    atomic_int *failed;
} NAME(Gradient);

/* Spread the inputs of channels, then the gradients of filters, counted from `rows` on. */
TARGET static void NAME(spread_both)(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const NAME(Gradient) *n = work;
    for (Py_ssize_t i = begin; i < end; i++)
        if (i < n->g->channels)
            NAME(spread_inputs)(n->g, n->from + i * n->g->plane, n->tile, n->stop, n->v + i * (TILES + 16), n->inputs);
        else {
            Py_ssize_t f = i - n->g->channels;
            NAME(spread_gradients)(n->g, n->t, n->dy + f * n->t->plane, n->tile, n->stop,
                                   n->d + f / PANEL * PANEL * TILES + f % PANEL, n->outputs);
        }
}

/* Add up the products of some rows of tiles, of which each of the 16 matrices has rows / HIGH. */
TARGET static void NAME(add_products)(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const NAME(Gradient) *n = work;
    Py_ssize_t each = n->rows / HIGH;
    for (Py_ssize_t unit = begin; unit < end; unit++) {
        Py_ssize_t k = unit / each, i = unit % each * HIGH;
        for (Py_ssize_t j = 0; j < n->t->filters; j += PANEL)
            NAME(tile)(n->t->filters - j, n->stop - n->tile, n->v + k * n->inputs + i * (TILES + 16), TILES + 16, 1,
                       n->d + k * n->outputs + j * TILES, PANEL, n->s + k * n->sums + i * n->filters + j, n->filters,
                       n->tile > n->first);
    }
}

/* Go on to the block of tiles from `tile` on, before `end`. */
static int NAME(block)(NAME(Gradient) *n, Py_ssize_t end) {
    n->stop = n->tile + TILES < end ? n->tile + TILES : end;
    return n->tile < end;
}

static int NAME(allocate)(NAME(Gradient) *n) {
    n->v = calloc(16 * n->inputs, 4), n->d = calloc(16 * n->outputs, 4);
    return n->v != NULL && n->d != NULL;
}

/* Compute the sums of some groups of blocks, each in its own memory, without a wait after each block. */
TARGET static void NAME(some_groups)(void *work, Py_ssize_t begin, Py_ssize_t end) {
    NAME(Gradient) n = *(const NAME(Gradient) *)work;
    Py_ssize_t blocks = up(n.tiles, TILES);
    float *sums = n.s;
    if (!NAME(allocate)(&n)) {
        atomic_store(n.failed, 1);
        end = begin;
    }
    for (Py_ssize_t group = begin; group < end; group++) {
        Py_ssize_t last = clamp(blocks * (group + 1) / GROUPS * TILES, 0, n.tiles);
        n.s = sums + group * 16 * n.sums;
        for (n.tile = n.first = blocks * group / GROUPS * TILES; NAME(block)(&n, last); n.tile += TILES) {
            NAME(spread_both)(&n, 0, n.g->channels + n.t->filters);
            NAME(add_products)(&n, 0, 16 * (n.rows / HIGH));
        }
    }
    free(n.v), free(n.d);
}

/* Add the sums of all groups to those of the first, from some floats on. */
TARGET static void NAME(add_groups)(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const NAME(Gradient) *n = work;
    for (Py_ssize_t group = 1; group < GROUPS; group++) {
        const float *other = n->s + group * 16 * n->sums;
        for (Py_ssize_t i = begin; i < end; i++)
            n->s[i] += other[i];
    }
}

TARGET static void NAME(gather_channels)(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const NAME(Gradient) *n = work;
    for (Py_ssize_t c = begin; c < end; c++)
        NAME(gather_filters)(n->g, n->s + c * n->filters, n->sums, n->t->filters, n->dw + 9 * c);
}

/* Compute the gradient of the filters of a group. */
static int NAME(winograd_gradient)(const Grid *g, const Target *t, const float *from, const float *dy, float *dw,
                                   Py_ssize_t worth, Py_ssize_t threads) {
    Py_ssize_t tiles = (g->cols + 1) / 2 * ((g->rows + 1) / 2) * g->images;
    Py_ssize_t filters = (t->filters + PANEL - 1) / PANEL * PANEL, rows = (g->channels + HIGH - 1) / HIGH * HIGH;
    atomic_int failed = 0;
    NAME(Gradient) n = {.g = g, .t = t, .from = from, .dy = dy, .dw = dw, .rows = rows, .filters = filters};
    n.inputs = rows * (TILES + 16) + APART, n.outputs = filters * TILES + APART, n.sums = rows * filters + APART;
    n.tiles = tiles, n.failed = &failed;
    int grouped = tiles > 2 * GROUPS * TILES && 4 * 16 * n.sums <= CACHED;
    n.s = malloc(4 * 16 * n.sums * (grouped ? GROUPS : 1));
    if (n.s == NULL || !(grouped || NAME(allocate)(&n)))
        atomic_store(&failed, 1);
    else if (grouped) {
        share(NAME(some_groups), &n, GROUPS, 1, threads);
        share(NAME(add_groups), &n, 16 * n.sums, up(worth / ARRANGED, GROUPS), threads);
    } else
        for (; NAME(block)(&n, tiles); n.tile += TILES) {
            share(NAME(spread_both), &n, g->channels + t->filters, up(worth / ARRANGED, 16 * (n.stop - n.tile)), threads);
            share(NAME(add_products), &n, 16 * (rows / HIGH), up(worth, HIGH * filters * (n.stop - n.tile)), threads);
        }
    if (!atomic_load(&failed))
        share(NAME(gather_channels), &n, g->channels, up(worth / ARRANGED, 16 * filters), threads);
    free(n.v), free(n.d), free(n.s);
    return atomic_load(&failed) ? -1 : 0;
}
