/* Loops over the planes of channels; included once for each set of instructions: define NAME(x), TARGET and LANES. */

typedef float NAME(lanes) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(whole) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define V NAME(lanes)
#define I NAME(whole)

/* Return the sum of all lanes. */
TARGET static inline float NAME(all_lanes)(V sum) {
    union {
        V whole;
        four part[LANES / 4];
    } lanes = {sum};
    for (int i = 1; i < LANES / 4; i++)
        lanes.part[0] += lanes.part[i];
    return (lanes.part[0][0] + lanes.part[0][1]) + (lanes.part[0][2] + lanes.part[0][3]);
}

/* Return the sum of a plane, and of its squares, around a centre. */
TARGET static double NAME(plane_sums)(const float *x, Py_ssize_t size, float centre, int square) {
    V sums[4] = {{0}, {0}, {0}, {0}};
    float rest = 0;
    Py_ssize_t i = 0;
    for (; i + 4 * LANES <= size; i += 4 * LANES)
        for (int j = 0; j < 4; j++) {
            V value = *(const V *)(x + i + j * LANES) - centre;
            sums[j] += square ? (V)(value * value) : value;
        }
    for (; i + LANES <= size; i += LANES) {
        V value = *(const V *)(x + i) - centre;
        sums[0] += square ? (V)(value * value) : value;
    }
    for (; i < size; i++)
        rest += square ? (x[i] - centre) * (x[i] - centre) : x[i] - centre;
    return rest + NAME(all_lanes)((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/* y = (x - mean) factor + bias, optionally plus another array and clamped at zero. */
TARGET static void NAME(scale_plane)(const float *x, const float *other, float *y, Py_ssize_t size, float mean,
                                     float factor, float bias, int relu) {
    if (other == NULL && !relu)
        for (Py_ssize_t i = 0; i < size; i++)
            y[i] = (x[i] - mean) * factor + bias;
    else if (other == NULL)
        for (Py_ssize_t i = 0; i < size; i++) {
            float value = (x[i] - mean) * factor + bias;
            y[i] = value < 0 ? 0 : value;
        }
    else if (!relu)
        for (Py_ssize_t i = 0; i < size; i++)
            y[i] = (x[i] - mean) * factor + bias + other[i];
    else
        for (Py_ssize_t i = 0; i < size; i++) {
            float value = (x[i] - mean) * factor + bias + other[i];
            y[i] = value < 0 ? 0 : value;
        }
}

/* Sum each of the channels [begin, end). */
TARGET static void NAME(sum_channels)(const Planes *p, const float *x, float *sums, Py_ssize_t begin, Py_ssize_t end) {
    for (Py_ssize_t c = begin; c < end; c++) {
        double total = 0;
        for (Py_ssize_t n = 0; n < p->images; n++)
            total += NAME(plane_sums)(x + (n * p->channels + c) * p->size, p->size, 0, 0);
        sums[c] = (float)total;
    }
}

/* Return how many channels of an array, at most SOME, stay in the cache from one pass to the next. */
TARGET static inline Py_ssize_t NAME(some_channels)(const Planes *p) {
    return clamp(CACHED / (4 * p->images * p->size), 1, SOME);
}

/* Normalise channels [begin, end) by their own mean and variance. Some channels are read from memory once, planes in
   their order: the later passes find them in the cache. */
TARGET static void NAME(normalise)(const Planes *p, const float *x, const float *other, float *y, const float *scale,
                                   const float *bias, float *mean, float *variance, float *inverse, float epsilon,
                                   int relu, Py_ssize_t begin, Py_ssize_t end) {
    double count = (double)p->images * (double)p->size;
    for (Py_ssize_t first = begin, stop; first < end; first = stop) {
        double totals[SOME] = {0}, squares[SOME] = {0};
        stop = clamp(first + NAME(some_channels)(p), first, end);
        for (Py_ssize_t n = 0; n < p->images; n++)
            for (Py_ssize_t c = first; c < stop; c++)
                totals[c - first] += NAME(plane_sums)(x + (n * p->channels + c) * p->size, p->size, 0, 0);
        for (Py_ssize_t c = first; c < stop; c++)
            mean[c] = (float)(totals[c - first] / count);
        for (Py_ssize_t n = 0; n < p->images; n++)
            for (Py_ssize_t c = first; c < stop; c++)
                squares[c - first] += NAME(plane_sums)(x + (n * p->channels + c) * p->size, p->size, mean[c], 1);
        for (Py_ssize_t c = first; c < stop; c++) {
            variance[c] = (float)(squares[c - first] / count);
            inverse[c] = 1 / sqrtf(variance[c] + epsilon);
        }
        for (Py_ssize_t n = 0; n < p->images; n++)
            for (Py_ssize_t c = first; c < stop; c++) {
                Py_ssize_t at = (n * p->channels + c) * p->size;
                NAME(scale_plane)(x + at, other == NULL ? NULL : other + at, y + at, p->size, mean[c],
                                  inverse[c] * scale[c], bias[c], relu);
            }
    }
}

/* Sum gradients d, and d (x - mean), of a plane; if `out` is given, d counts only where out > 0. */
TARGET static void NAME(gradient_sums)(const float *x, const float *d, const float *out, Py_ssize_t size, float mean,
                                       double *sum, double *dot) {
    V sums[2] = {{0}, {0}}, dots[2] = {{0}, {0}};
    float rest = 0, rest_dot = 0;
    Py_ssize_t i = 0;
    for (; i + 2 * LANES <= size; i += 2 * LANES)
        for (int j = 0; j < 2; j++) {
            V value = *(const V *)(d + i + j * LANES);
            if (out != NULL)
                value *= -__builtin_convertvector(*(const V *)(out + i + j * LANES) > 0, V);
            sums[j] += value;
            dots[j] += value * (*(const V *)(x + i + j * LANES) - mean);
        }
    for (; i + LANES <= size; i += LANES) {
        V value = *(const V *)(d + i);
        if (out != NULL)
            value *= -__builtin_convertvector(*(const V *)(out + i) > 0, V);
        sums[0] += value;
        dots[0] += value * (*(const V *)(x + i) - mean);
    }
    for (; i < size; i++) {
        float value = out == NULL ? d[i] : d[i] * (float)(out[i] > 0);
        rest += value;
        rest_dot += value * (x[i] - mean);
    }
    *sum += rest + NAME(all_lanes)(sums[0] + sums[1]);
    *dot += rest_dot + NAME(all_lanes)(dots[0] + dots[1]);
}

/* Compute a plane of X@GRAD. */
TARGET static void NAME(gradient_plane)(const float *x, const float *d, const float *out, float *dx, Py_ssize_t size,
                                        float mean, float factor, float slope, float shift) {
    if (out == NULL)
        for (Py_ssize_t i = 0; i < size; i++)
            dx[i] = d[i] * factor + (x[i] - mean) * slope + shift;
    else
        for (Py_ssize_t i = 0; i < size; i++)
            dx[i] = d[i] * (out[i] > 0 ? factor : 0) + (x[i] - mean) * slope + shift;
}

/* The gradients of `normalise`, or of scaling by given numbers (`fixed`), for channels [begin, end). */
TARGET static void NAME(normalise_grad)(const Planes *p, const float *x, const float *d, const float *out,
                                        const float *scale, const float *mean, const float *inverse, float *dx,
                                        float *dscale, float *dbias, int fixed, Py_ssize_t begin, Py_ssize_t end) {
    double count = (double)p->images * (double)p->size;
    for (Py_ssize_t first = begin, stop; first < end; first = stop) {
        double sums[SOME] = {0}, dots[SOME] = {0};
        stop = clamp(first + NAME(some_channels)(p), first, end);
        for (Py_ssize_t n = 0; n < p->images; n++)
            for (Py_ssize_t c = first; c < stop; c++) {
                Py_ssize_t at = (n * p->channels + c) * p->size;
                NAME(gradient_sums)(x + at, d + at, out == NULL ? NULL : out + at, p->size, mean[c], sums + c - first,
                                    dots + c - first);
            }
        for (Py_ssize_t c = first; c < stop; c++) {
            dbias[c] = (float)sums[c - first];
            dscale[c] = (float)(dots[c - first] * inverse[c]);
        }
        for (Py_ssize_t n = 0; n < p->images && dx != NULL; n++)
            for (Py_ssize_t c = first; c < stop; c++) {
                Py_ssize_t at = (n * p->channels + c) * p->size;
                float factor = scale[c] * inverse[c];
                float slope = fixed ? 0 : (float)(-factor * inverse[c] * inverse[c] * (dots[c - first] / count));
                float shift = fixed ? 0 : (float)(-factor * (sums[c - first] / count));
                NAME(gradient_plane)(x + at, d + at, out == NULL ? NULL : out + at, dx + at, p->size, mean[c], factor,
                                     slope, shift);
            }
    }
}

/* dx = d where out > 0, else 0 d. */
TARGET static void NAME(relu_grad)(const float *out, const float *d, float *dx, Py_ssize_t size) {
    for (Py_ssize_t i = 0; i < size; i++)
        dx[i] = d[i] * (out[i] > 0 ? 1.0f : 0.0f);
}

/* The largest of some elements, NaN if there is one. */
TARGET static float NAME(largest)(const float *x, Py_ssize_t count, float lowest) {
    float best = lowest;
    Py_ssize_t i = 0;
    if (count >= LANES) {
        V most = (V){0} + lowest;
        for (; i + LANES <= count; i += LANES) {
            V value = *(const V *)(x + i);
            I better = (I)(value > most) | (I)(value != value);
            most = (V)(((I)value & better) | ((I)most & ~better));
        }
        for (int lane = 0; lane < LANES; lane++)
            best = most[lane] > best || most[lane] != most[lane] ? most[lane] : best;
    }
    for (; i < count; i++)
        best = x[i] > best || x[i] != x[i] ? x[i] : best;
    return best;
}

/* Return whether there is one window, with all of the plane inside. */
static inline int NAME(is_whole)(const Windows *w) {
    return w->rows == 1 && w->cols == 1 && w->pad_y >= 0 && w->pad_x >= 0 && w->high - w->pad_y >= w->height &&
           w->wide - w->pad_x >= w->width;
}

/* The largest element of each window of planes [begin, end). */
TARGET static void NAME(max_pool)(const Windows *w, const float *x, float *out, float lowest, Py_ssize_t begin,
                                  Py_ssize_t end) {
    if (NAME(is_whole)(w)) {
        for (Py_ssize_t plane = begin, area = w->height * w->width; plane < end; plane++)
            out[plane] = NAME(largest)(x + plane * area, area, lowest);
        return;
    }
    for (Py_ssize_t line = begin * w->rows; line < end * w->rows; line++) {
        const float *plane = x + line / w->rows * w->height * w->width;
        Py_ssize_t top = line % w->rows * w->step_y - w->pad_y;
        float *best = out + line * w->cols;
        for (Py_ssize_t i = 0; i < w->cols; i++)
            best[i] = lowest;
        for (Py_ssize_t y = top < 0 ? 0 : top; y < top + w->high && y < w->height; y++)
            for (Py_ssize_t dx = -w->pad_x; dx < w->wide - w->pad_x; dx++) {
                Py_ssize_t first = clamp(up(-dx, w->step_x), 0, w->cols);
                Py_ssize_t last = clamp(up(w->width - dx, w->step_x), first, w->cols);
                const float *row = plane + y * w->width + dx;
                for (Py_ssize_t i = first; i < last; i++) {
                    float value = row[i * w->step_x];
                    best[i] = value > best[i] || value != value ? value : best[i];
                }
            }
    }
}

/* Give each window's gradient to its first largest element; `waiting` has room for a row of windows. */
TARGET static void NAME(max_pool_grad)(const Windows *w, const float *x, const float *out, const float *d, float *dx,
                                       int32_t *waiting, Py_ssize_t begin, Py_ssize_t end) {
    Py_ssize_t area = w->height * w->width;
    memset(dx + begin * area, 0, 4 * (end - begin) * area);
    if (NAME(is_whole)(w)) {
        for (Py_ssize_t plane = begin; plane < end; plane++)
            for (Py_ssize_t i = plane * area; i < (plane + 1) * area; i++)
                if (x[i] == out[plane]) {
                    dx[i] = d[plane];
                    break;
                }
        return;
    }
    for (Py_ssize_t line = begin * w->rows; line < end * w->rows; line++) {
        Py_ssize_t plane = line / w->rows * area, top = line % w->rows * w->step_y - w->pad_y;
        const float *best = out + line * w->cols, *gradient = d + line * w->cols;
        for (Py_ssize_t i = 0; i < w->cols; i++)
            waiting[i] = 1;
        for (Py_ssize_t y = top < 0 ? 0 : top; y < top + w->high && y < w->height; y++)
            for (Py_ssize_t at = -w->pad_x; at < w->wide - w->pad_x; at++) {
                Py_ssize_t first = clamp(up(-at, w->step_x), 0, w->cols);
                Py_ssize_t last = clamp(up(w->width - at, w->step_x), first, w->cols);
                const float *row = x + plane + y * w->width + at;
                float *target = dx + plane + y * w->width + at;
                for (Py_ssize_t i = first; i < last; i++) {
                    int32_t hit = waiting[i] & (row[i * w->step_x] == best[i]);
                    target[i * w->step_x] += hit ? gradient[i] : 0;
                    waiting[i] ^= hit;
                }
            }
    }
}

#undef V
#undef I
#undef LANES
#undef NAME
#undef TARGET
