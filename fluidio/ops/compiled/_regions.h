/* Maxima of columns of pixels; included once for each set of instructions. */

/* Set `most` to the largest of each column of pixels, and `row` to the first row that has it, or -1. */
TARGET static void NAME(tops)(const float *restrict line, Py_ssize_t width, int64_t begin, int64_t end, int64_t left,
                              int64_t right, float *restrict most, int32_t *restrict row) {
    for (int64_t x = left; x < right; x++)
        most[x] = -FLT_MAX, row[x] = -1;
    for (int64_t y = begin; y < end; y++)
        for (int64_t x = left; x < right; x++) {
            float value = line[y * width + x], best = most[x];
            int32_t now = (int32_t)y, before = row[x];
            most[x] = value > best ? value : best;
            row[x] = value > best ? now : before;
        }
}
