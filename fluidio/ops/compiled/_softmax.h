/* Softmax by rows and its gradient; included once for each set of instructions. */

typedef float NAME(lanes) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(whole) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define V NAME(lanes)
#define I NAME(whole)

/* Return exp(x), for x between -64 and 0, by 2^n times a polynomial; NaN gives NaN. */
TARGET static inline V NAME(power)(V x) {
    V n = __builtin_convertvector(__builtin_convertvector(x * 1.44269504088896341f - 0.5f, I), V);
    V rest = x - n * 0.693359375f;
    rest = rest - n * -2.12194440e-4f;
    V sum = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    sum = sum * (rest * rest) + rest + 1.0f;
    return sum * (V)((__builtin_convertvector(n, I) + 127) << 23);
}

/* Return where `yes` is all ones the first vector, else the second. */
TARGET static inline V NAME(choose)(I yes, V one, V other) { return (V)(((I)one & yes) | ((I)other & ~yes)); }

/* Return exp(x - centre), where the difference counts as -64 at least. */
TARGET static inline V NAME(grown)(V x, float centre) {
    V below = x - centre;
    return NAME(power)(NAME(choose)((I)(below < -64.0f), (V){0} - 64.0f, below));
}

TARGET static float NAME(largest)(const float *x, Py_ssize_t width) {
    float found = x[0];
    Py_ssize_t i = 0;
    if (width >= LANES) {
        V most = *(const V *)x;
        for (i = LANES; i + LANES <= width; i += LANES) {
            V value = *(const V *)(x + i);
            most = NAME(choose)((I)(value > most), value, most);
        }
        for (int lane = 0; lane < LANES; lane++)
            found = most[lane] > found ? most[lane] : found;
    }
    for (; i < width; i++)
        found = x[i] > found ? x[i] : found;
    return found;
}

/* Fill the rows [begin, end) of the softmax, and the largest element and the denominator of each row. */
TARGET static void NAME(softmax)(const float *x, float *out, float *most, float *sums, Py_ssize_t width,
                                 Py_ssize_t begin, Py_ssize_t end) {
    for (Py_ssize_t row = begin; row < end; row++) {
        const float *from = x + row * width;
        float *to = out + row * width, centre = NAME(largest)(from, width);
        V sum[2] = {{0}, {0}}, last = {0};
        Py_ssize_t i = 0, rest = width % LANES;
        for (; i + LANES <= width; i += LANES) {
            V value = NAME(grown)(*(const V *)(from + i), centre);
            *(V *)(to + i) = value;
            sum[i / LANES % 2] += value;
        }
        if (rest) {
            memcpy(&last, from + i, 4 * rest);
            last = NAME(grown)(last, centre);
            memcpy(to + i, &last, 4 * rest);
        }
        sum[0] += sum[1];
        float total = 0;
        for (int lane = 0; lane < LANES; lane++)
            total += sum[0][lane];
        for (Py_ssize_t lane = 0; lane < rest; lane++)
            total += last[lane];
        for (i = 0; i < width; i++)
            to[i] /= total;
        most[row] = centre;
        sums[row] = total;
    }
}

/* Fill the rows [begin, end) of the gradient: out dout - out (the sum of out dout). */
TARGET static void NAME(softmax_grad)(const float *out, const float *dout, float *dx, Py_ssize_t width,
                                      Py_ssize_t begin, Py_ssize_t end) {
    for (Py_ssize_t at = begin * width; at < end * width; at += width) {
        V sum[2] = {{0}, {0}};
        Py_ssize_t i = 0;
        for (; i + LANES <= width; i += LANES)
            sum[i / LANES % 2] += *(const V *)(out + at + i) * *(const V *)(dout + at + i);
        sum[0] += sum[1];
        float total = 0;
        for (int lane = 0; lane < LANES; lane++)
            total += sum[0][lane];
        for (; i < width; i++)
            total += out[at + i] * dout[at + i];
        for (i = 0; i < width; i++)
            dx[at + i] = dout[at + i] * out[at + i] - out[at + i] * total;
    }
}
#undef I
