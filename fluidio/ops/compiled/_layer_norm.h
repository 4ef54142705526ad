/* Normalisation of rows; included once for each set of instructions: define NAME(x), TARGET and LANES. */

typedef float NAME(lanes) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define V NAME(lanes)

/* Return the sum of (x - centre), or of its squares. */
TARGET static double NAME(row_sum)(const float *x, Py_ssize_t width, float centre, int square) {
    V sums[2] = {{0}, {0}};
    double total = 0;
    Py_ssize_t i = 0;
    for (; i + 2 * LANES <= width; i += 2 * LANES)
        for (int j = 0; j < 2; j++) {
            V value = *(const V *)(x + i + j * LANES) - centre;
            if (square)
                value *= value;
            sums[j] += value;
        }
    for (; i < width; i++)
        total += square ? (x[i] - centre) * (x[i] - centre) : x[i] - centre;
    V sum = sums[0] + sums[1];
    for (int lane = 0; lane < LANES; lane++)
        total += sum[lane];
    return total;
}

/* Normalise rows [begin, end). */
TARGET static void NAME(layer_norm)(const Rows *r, const float *x, const float *scale, const float *bias, float *y,
                                    float *mean, float *variance, Py_ssize_t begin, Py_ssize_t end) {
    for (Py_ssize_t row = begin; row < end; row++) {
        const float *from = x + row * r->width;
        float *restrict to = y + row * r->width;
        float centre = (float)(NAME(row_sum)(from, r->width, 0, 0) / (double)r->width);
        variance[row] = (float)(NAME(row_sum)(from, r->width, centre, 1) / (double)r->width);
        float inverse = 1 / sqrtf(variance[row] + r->epsilon);
        mean[row] = centre;
        if (scale != NULL && bias != NULL)
            for (Py_ssize_t i = 0; i < r->width; i++)
                to[i] = (from[i] - centre) * inverse * scale[i] + bias[i];
        else
            for (Py_ssize_t i = 0; i < r->width; i++)
                to[i] = (from[i] - centre) * inverse * (scale == NULL ? 1 : scale[i]) + (bias == NULL ? 0 : bias[i]);
    }
}

/* Compute the gradient of one row, and add to those of scale and bias; d has room for a row. */
TARGET static void NAME(row_grad)(const Rows *r, const float *x, const float *scale, const float *dy, float mean,
                                  float inverse, float *restrict d, float *restrict normal, float *restrict dx,
                                  float *restrict dscale, float *restrict dbias) {
    Py_ssize_t width = r->width;
    for (Py_ssize_t i = 0; i < width; i++) {
        normal[i] = (x[i] - mean) * inverse;
        dscale[i] += dy[i] * normal[i];
        dbias[i] += dy[i];
    }
    if (dx == NULL)
        return;
    for (Py_ssize_t i = 0; i < width; i++)
        d[i] = scale == NULL ? dy[i] : dy[i] * scale[i];
    float shift = (float)(NAME(row_sum)(d, width, 0, 0) / (double)width), slope = 0;
    V sums = {0};
    double dot = 0;
    Py_ssize_t i = 0;
    for (; i + LANES <= width; i += LANES)
        sums += *(const V *)(d + i) * *(const V *)(normal + i);
    for (; i < width; i++)
        dot += d[i] * normal[i];
    for (int lane = 0; lane < LANES; lane++)
        dot += sums[lane];
    slope = (float)(dot / (double)width);
    for (i = 0; i < width; i++)
        dx[i] = (d[i] - shift - normal[i] * slope) * inverse;
}

/* Compute the gradients of the blocks [begin, end) of rows; `sums` has a row of dscale and one of dbias per block. */
TARGET static void NAME(layer_norm_grad)(const Rows *r, const float *x, const float *scale, const float *mean,
                                         const float *variance, const float *dy, float *dx, float *sums, float *work,
                                         Py_ssize_t begin, Py_ssize_t end) {
    for (Py_ssize_t block = begin; block < end; block++) {
        float *dscale = sums + 2 * block * r->width, *dbias = dscale + r->width;
        Py_ssize_t stop = (block + 1) * r->block < r->rows ? (block + 1) * r->block : r->rows;
        memset(dscale, 0, 8 * r->width);
        for (Py_ssize_t row = block * r->block; row < stop; row++)
            NAME(row_grad)(r, x + row * r->width, scale, dy + row * r->width, mean[row],
                           1 / sqrtf(variance[row] + r->epsilon), work, work + r->width,
                           dx == NULL ? NULL : dx + row * r->width, dscale, dbias);
    }
}

#undef V
#undef LANES
#undef NAME
#undef TARGET
