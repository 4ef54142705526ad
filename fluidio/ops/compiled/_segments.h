/* Sums and maxima of rows; included once for each set of instructions. */

/* Set `out` to the sum of some rows, added one after another, times a factor. */
TARGET static void NAME(add_rows)(const float *x, Py_ssize_t rows, Py_ssize_t columns, float factor, float *restrict out) {
    memcpy(out, x, 4 * (size_t)columns);
    for (Py_ssize_t row = 1; row < rows; row++)
        for (Py_ssize_t i = 0; i < columns; i++)
            out[i] += x[row * columns + i];
    if (factor != 1)
        for (Py_ssize_t i = 0; i < columns; i++)
            out[i] *= factor;
}

/* Set `out` to the largest of some rows, column by column, and `where` to the first row that has it: its number plus
   `first`. A NaN is the largest, and nowhere. */
TARGET static void NAME(largest)(const float *x, Py_ssize_t rows, Py_ssize_t columns, int32_t first, float *restrict out,
                                 int32_t *restrict where) {
    memcpy(out, x, 4 * (size_t)columns);
    for (Py_ssize_t i = 0; i < columns; i++)
        where[i] = first;
    for (Py_ssize_t row = 1; row < rows; row++)
        for (Py_ssize_t i = 0; i < columns; i++) {
            float value = x[row * columns + i], best = out[i];
            int more = !(value <= best) & (best == best);
            out[i] = more ? value : best;
            where[i] = more ? first + (int32_t)row : where[i];
        }
    for (Py_ssize_t i = 0; i < columns; i++)
        where[i] = out[i] == out[i] ? where[i] : -1;
}
