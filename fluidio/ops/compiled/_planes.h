/* Correlations of one or two filters for a group, depthwise ones for instance: plane by plane, without columns.
   Included by _tiles.h, once for each set of instructions. */

/* The columns of places [*first, *last) of a row that a tap meets inside the image. */
static inline void NAME(inside)(const Grid *g, Py_ssize_t dx, Py_ssize_t *first, Py_ssize_t *last) {
    *first = clamp(up(-dx, g->step_x), 0, g->cols);
    *last = clamp(up(g->width - dx, g->step_x), *first, g->cols);
}

/* Correlate rows [begin, end) of places, counted over all images, with the packed filters of a tile. */
TARGET static int NAME(planes)(const Grid *g, const Target *t, const float *from, const float *packed, float *to,
                               Py_ssize_t begin, Py_ssize_t end) {
    float *sum = malloc(4 * g->cols);
    if (sum == NULL)
        return -1;
    for (Py_ssize_t line = begin; line < end; line++)
        for (Py_ssize_t filter = 0; filter < t->filters; filter++) {
            Py_ssize_t image = line / g->rows, row = line % g->rows, first, last;
            memset(sum, 0, 4 * g->cols);
            for (Py_ssize_t k = 0; k < g->taps * g->channels; k++) {
                Py_ssize_t tap = k / g->channels, channel = k % g->channels, dx = g->tap[3 * tap + 1];
                Py_ssize_t y = row * g->step_y + g->tap[3 * tap];
                if (y < 0 || y >= g->height)
                    continue;
                NAME(inside)(g, dx, &first, &last);
                const float *source = from + image * g->image + channel * g->plane + y * g->width + dx;
                const float w = packed[k * HIGH + filter];
                if (g->step_x == 1)
                    for (Py_ssize_t i = first; i < last; i++)
                        sum[i] += w * source[i];
                else
                    for (Py_ssize_t i = first; i < last; i++)
                        sum[i] += w * source[i * g->step_x];
            }
            float *target = to + image * t->image + filter * t->plane + (t->y + row * t->step_y) * t->width + t->x;
            for (Py_ssize_t i = 0; i < g->cols; i++)
                target[i * t->step_x] = sum[i];
        }
    free(sum);
    return 0;
}

/* Return the sum of products of a tap's elements in one channel with the gradients of one filter. */
TARGET static float NAME(tap_gradient)(const Grid *g, const Target *t, const float *from, const float *dy,
                                       Py_ssize_t tap) {
    Py_ssize_t first, last, dx = g->tap[3 * tap + 1], step = g->step_x;
    double total = 0;
    NAME(inside)(g, dx, &first, &last);
    for (Py_ssize_t image = 0; image < g->images; image++) {
        V sums = {0};
        float rest = 0;
        for (Py_ssize_t row = 0; row < g->rows; row++) {
            Py_ssize_t y = row * g->step_y + g->tap[3 * tap], i = first;
            if (y < 0 || y >= g->height)
                continue;
            const float *source = from + image * g->image + y * g->width + dx;
            const float *gradient = dy + image * t->image + row * t->width;
            if (step == 1)
                for (; i + LANES <= last; i += LANES)
                    sums += *(const V *)(source + i) * *(const V *)(gradient + i);
            for (; i < last; i++)
                rest += source[i * step] * gradient[i];
        }
        for (int lane = 0; lane < LANES; lane++)
            rest += sums[lane];
        total += rest;
    }
    return (float)total;
}

/* The same as filter_gradient for a group of few filters. */
TARGET static int NAME(planes_gradient)(const Grid *g, const Target *t, const float *from, const float *dy, float *dw,
                                        Py_ssize_t first, Py_ssize_t last) {
    for (Py_ssize_t k = first; k < last; k++)
        for (Py_ssize_t filter = 0; filter < t->filters; filter++) {
            Py_ssize_t tap = k / g->channels, channel = k % g->channels;
            dw[(filter * g->channels + channel) * g->taps + tap] =
                NAME(tap_gradient)(g, t, from + channel * g->plane, dy + filter * t->plane, tap);
        }
    return 0;
}
