/* Matrix products by tiles; included once for each set of instructions, after what `_tile.h` wants is defined. */

#include "_tile.h"

/* Arrange 4 x 4 floats, rows of `from` becoming columns of `to`. */
static inline void NAME(turn)(const float *from, Py_ssize_t row, float *to, Py_ssize_t to_row) {
    four a = *(const four *)from, b = *(const four *)(from + row);
    four c = *(const four *)(from + 2 * row), d = *(const four *)(from + 3 * row);
    four ab = MIX(a, b, 0, 4, 1, 5), cd = MIX(c, d, 0, 4, 1, 5);
    *(four *)to = MIX(ab, cd, 0, 1, 4, 5);
    *(four *)(to + to_row) = MIX(ab, cd, 2, 3, 6, 7);
    ab = MIX(a, b, 2, 6, 3, 7), cd = MIX(c, d, 2, 6, 3, 7);
    *(four *)(to + 2 * to_row) = MIX(ab, cd, 0, 1, 4, 5);
    *(four *)(to + 3 * to_row) = MIX(ab, cd, 2, 3, 6, 7);
}

/* Arrange `count` lines of `depth` floats as panels [count / width][depth][width], zeros behind the last line. */
TARGET static void NAME(panels)(const float *from, Py_ssize_t line, Py_ssize_t step, Py_ssize_t count,
                                Py_ssize_t depth, Py_ssize_t width, float *to) {
    for (Py_ssize_t first = 0; first < count; first += width, to += width * depth) {
        const float *source = from + first * line;
        Py_ssize_t some = count - first < width ? count - first : width, k = 0;
        if (some < width)
            memset(to, 0, 4 * width * depth);
        if (line == 1)
            for (; k < depth; k++)
                if (some == width)
                    for (Py_ssize_t i = 0; i < width; i += 4)
                        *(four *)(to + k * width + i) = *(const four *)(source + k * step + i);
                else
                    for (Py_ssize_t i = 0; i < some; i++)
                        to[k * width + i] = source[k * step + i];
        else if (step == 1 && some == width)
            for (; k + 4 <= depth; k += 4)
                for (Py_ssize_t i = 0; i < width; i += 4)
                    NAME(turn)(source + i * line + k, line, to + k * width + i, width);
        for (; k < depth; k++)
            for (Py_ssize_t i = 0; i < some; i++)
                to[k * width + i] = source[i * line + k * step];
    }
}

/* Set (or add to) a tile of C at the edge, of which only some rows and columns exist. */
TARGET static void NAME(edge)(Py_ssize_t rows, Py_ssize_t width, Py_ssize_t depth, const float *a, const float *b,
                              float *c, Py_ssize_t c_row, int add) {
    float whole[HIGH * PANEL] = {0};
    if (add)
        for (Py_ssize_t i = 0; i < rows; i++)
            memcpy(whole + i * PANEL, c + i * c_row, 4 * width);
    NAME(tile)(width, depth, a, 1, HIGH, b, PANEL, whole, PANEL, add);
    for (Py_ssize_t i = 0; i < rows; i++)
        memcpy(c + i * c_row, whole + i * PANEL, 4 * width);
}

/* Compute the rows [top, bottom) and columns [left, right) of C = A B. */
TARGET static int NAME(product)(const Matrix *a, const Matrix *b, float *c, Py_ssize_t c_row, Py_ssize_t depth,
                                Py_ssize_t top, Py_ssize_t bottom, Py_ssize_t left, Py_ssize_t right) {
    Py_ssize_t columns = least(right - left, COLUMNS), rows = least(bottom - top, ROWS), chunk = least(depth, CHUNK);
    float *b_panels = malloc(4 * chunk * (columns + PANEL)), *a_panels = malloc(4 * chunk * (rows + HIGH));
    if (a_panels == NULL || b_panels == NULL) {
        free(a_panels), free(b_panels);
        return -1;
    }
    for (Py_ssize_t j = left; j < right; j += columns)
        for (Py_ssize_t k = 0; k < depth; k += chunk) {
            Py_ssize_t wide = least(right - j, columns), deep = least(depth - k, chunk);
            NAME(panels)(b->from + k * b->row + j * b->column, b->column, b->row, wide, deep, PANEL, b_panels);
            for (Py_ssize_t i = top; i < bottom; i += rows) {
                Py_ssize_t high = least(bottom - i, rows);
                NAME(panels)(a->from + i * a->row + k * a->column, a->row, a->column, high, deep, HIGH, a_panels);
                for (Py_ssize_t x = 0; x < wide; x += PANEL)
                    for (Py_ssize_t y = 0; y < high; y += HIGH) {
                        const float *a_panel = a_panels + y * deep, *b_panel = b_panels + x * deep;
                        float *to = c + (i + y) * c_row + j + x;
                        if (high - y >= HIGH && wide - x >= PANEL)
                            NAME(tile)(PANEL, deep, a_panel, 1, HIGH, b_panel, PANEL, to, c_row, k > 0);
                        else
                            NAME(edge)(least(high - y, HIGH), least(wide - x, PANEL), deep, a_panel, b_panel, to,
                                       c_row, k > 0);
                    }
            }
        }
    free(a_panels), free(b_panels);
    return 0;
}

#undef V
#undef PANEL
#undef DEFINE_TILE
#undef LANES
#undef WIDE
#undef HIGH
#undef NAME
#undef TARGET
