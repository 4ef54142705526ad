/* Matrix products by tiles; included once for each set of instructions, after what `_tile.h` wants is defined. */

#include "_tile.h"

/* Arrange 4 x 4 floats: lines become columns of `to`. */
static inline void NAME(turn)(const float *from, const Py_ssize_t *line, float *to, Py_ssize_t to_row) {
    four a = *(const four *)(from + line[0]), b = *(const four *)(from + line[1]);
    four c = *(const four *)(from + line[2]), d = *(const four *)(from + line[3]);
    four ab = MIX(a, b, 0, 4, 1, 5), cd = MIX(c, d, 0, 4, 1, 5);
    *(four *)to = MIX(ab, cd, 0, 1, 4, 5);
    *(four *)(to + to_row) = MIX(ab, cd, 2, 3, 6, 7);
    ab = MIX(a, b, 2, 6, 3, 7), cd = MIX(c, d, 2, 6, 3, 7);
    *(four *)(to + 2 * to_row) = MIX(ab, cd, 0, 1, 4, 5);
    *(four *)(to + 3 * to_row) = MIX(ab, cd, 2, 3, 6, 7);
}

/* Arrange `some` lines of `depth` floats as [depth][width]. */
TARGET static void NAME(panel)(const float *from, const Py_ssize_t *line, Py_ssize_t some, Py_ssize_t step,
                               Py_ssize_t depth, Py_ssize_t width, float *to) {
    Py_ssize_t k = 0;
    if (some == width && line[some - 1] == line[0] + some - 1)
        for (from += line[0]; k < depth; k++)
            for (Py_ssize_t i = 0; i < width; i += 4)
                *(four *)(to + k * width + i) = *(const four *)(from + k * step + i);
    else if (some == width && step == 1)
        for (; k + 4 <= depth; k += 4)
            for (Py_ssize_t i = 0; i < width; i += 4)
                NAME(turn)(from + k, line + i, to + k * width + i, width);
    for (; k < depth; k++)
        for (Py_ssize_t i = 0; i < some; i++)
            to[k * width + i] = from[line[i] + k * step];
}

/* Arrange `count` lines, from steps [begin, end), as panels [count / width][steps][width], zeros behind the last. */
TARGET static void NAME(panels)(const Side *side, Py_ssize_t first, Py_ssize_t count, Py_ssize_t begin, Py_ssize_t end,
                                Py_ssize_t width, float *to) {
    Py_ssize_t line[PANEL];
    for (Py_ssize_t i = 0; i < count; i += width) {
        Py_ssize_t some = least(count - i, width);
        for (Py_ssize_t j = 0; j < some; j++)
            line[j] = place(&side->lines, first + i + j);
        if (some < width)
            memset(to, 0, 4 * width * (end - begin));
        for (Py_ssize_t k = begin, stop; k < end; to += width * (stop - k), k = stop) {
            stop = least(end, (k / side->steps.fold + 1) * side->steps.fold);
            NAME(panel)(side->from + place(&side->steps, k), line, some, side->steps.apart, stop - k, width, to);
        }
    }
}

/* Set (or add to) a tile of C of which only some rows and columns exist, or whose columns lie apart. */
TARGET static void NAME(edge)(Py_ssize_t rows, Py_ssize_t column, Py_ssize_t width, Py_ssize_t depth, const float *a,
                              const float *b, float *c, Py_ssize_t c_row, const Axis *columns, int add) {
    float whole[HIGH * PANEL] = {0};
    if (add)
        for (Py_ssize_t j = 0; j < width; j++)
            for (Py_ssize_t i = 0, at = place(columns, column + j); i < rows; i++)
                whole[i * PANEL + j] = c[at + i * c_row];
    NAME(tile)(width, depth, a, 1, HIGH, b, PANEL, whole, PANEL, add);
    for (Py_ssize_t j = 0; j < width; j++)
        for (Py_ssize_t i = 0, at = place(columns, column + j); i < rows; i++)
            c[at + i * c_row] = whole[i * PANEL + j];
}

/* Compute the rows [top, bottom) and columns [left, right) of C = A B. */
TARGET static int NAME(product)(const Side *a, const Side *b, float *c, Py_ssize_t c_row, const Axis *c_columns,
                                Py_ssize_t depth, Py_ssize_t top, Py_ssize_t bottom, Py_ssize_t left,
                                Py_ssize_t right) {
    Py_ssize_t columns = least(right - left, COLUMNS), rows = least(bottom - top, ROWS), chunk = least(depth, CHUNK);
    float *b_panels = malloc(4 * chunk * (columns + PANEL)), *a_panels = malloc(4 * chunk * (rows + HIGH));
    if (a_panels == NULL || b_panels == NULL) {
        free(a_panels), free(b_panels);
        return -1;
    }
    for (Py_ssize_t j = left; j < right; j += columns)
        for (Py_ssize_t k = 0; k < depth; k += chunk) {
            Py_ssize_t wide = least(right - j, columns), deep = least(depth - k, chunk);
            NAME(panels)(b, j, wide, k, k + deep, PANEL, b_panels);
            for (Py_ssize_t i = top; i < bottom; i += rows) {
                Py_ssize_t high = least(bottom - i, rows);
                NAME(panels)(a, i, high, k, k + deep, HIGH, a_panels);
                for (Py_ssize_t x = 0; x < wide; x += PANEL) {
                    Py_ssize_t width = least(wide - x, PANEL), first = place(c_columns, j + x);
                    int apart = width < PANEL || (j + x) % c_columns->fold + PANEL > c_columns->fold;
                    for (Py_ssize_t y = 0; y < high; y += HIGH) {
                        const float *a_panel = a_panels + y * deep, *b_panel = b_panels + x * deep;
                        float *to = c + (i + y) * c_row;
                        if (apart || high - y < HIGH)
                            NAME(edge)(least(high - y, HIGH), j + x, width, deep, a_panel, b_panel, to, c_row,
                                       c_columns, k > 0);
                        else
                            NAME(tile)(PANEL, deep, a_panel, 1, HIGH, b_panel, PANEL, to + first, c_row, k > 0);
                    }
                }
            }
        }
    free(a_panels), free(b_panels);
    return 0;
}
