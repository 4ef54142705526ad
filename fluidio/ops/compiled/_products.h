/* Matrix products by tiles; included once for each set of instructions, after what `_tile.h` wants is defined. */

#include "_tile.h"

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
                turn_four(from + k, line + i, to + k * width + i, width);
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

/* Multiply the arranged rows [i, i + high) by the arranged columns [j, j + wide). */
TARGET static void NAME(block)(const Product *p, Py_ssize_t i, Py_ssize_t high, const float *a_panels, Py_ssize_t j,
                               Py_ssize_t wide, const float *b_panels) {
    for (Py_ssize_t x = 0; x < wide; x += PANEL) {
        Py_ssize_t width = least(wide - x, PANEL), first = place(&p->across, j + x);
        int apart = width < PANEL || (j + x) % p->across.fold + PANEL > p->across.fold;
        for (Py_ssize_t y = 0; y < high; y += HIGH) {
            const float *a = a_panels + y * p->deep, *b = b_panels + x * p->deep;
            float *to = p->c + (i + y) * p->row;
            if (apart || high - y < HIGH)
                NAME(edge)(least(high - y, HIGH), j + x, width, p->deep, a, b, to, p->row, &p->across, p->step > 0);
            else
                NAME(tile)(PANEL, p->deep, a, 1, HIGH, b, PANEL, to + first, p->row, p->step > 0);
        }
    }
}

/* Arrange the panels [begin, end) of the common side. */
TARGET static void NAME(arrange)(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const Product *p = work;
    Py_ssize_t width = p->by_rows ? PANEL : HIGH, last = least(end * width, p->some);
    NAME(panels)(p->by_rows ? &p->b : &p->a, p->first + begin * width, last - begin * width, p->step,
                 p->step + p->deep, width, p->common + begin * width * p->deep);
}

/* Arrange rows, or columns, of the other side piece by piece, and multiply them by the common panels. */
TARGET static void NAME(meet)(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Product *p = work;
    Py_ssize_t width = p->by_rows ? HIGH : PANEL, last = least(end * width, p->by_rows ? p->rows : p->columns);
    Py_ssize_t piece = least(last - begin * width, p->by_rows ? ROWS : COLUMNS);
    float *own = malloc(4 * p->deep * (piece + width));
    if (own == NULL) {
        atomic_store(&p->failed, 1);
        return;
    }
    for (Py_ssize_t at = begin * width; at < last; at += piece) {
        Py_ssize_t some = least(last - at, piece);
        NAME(panels)(p->by_rows ? &p->a : &p->b, at, some, p->step, p->step + p->deep, width, own);
        if (p->by_rows)
            NAME(block)(p, at, some, own, p->first, p->some, p->common);
        else
            for (Py_ssize_t i = 0; i < p->some; i += ROWS)
                NAME(block)(p, p->first + i, least(p->some - i, ROWS), p->common + i * p->deep, at, some, own);
    }
    free(own);
}

/* Compute C = A B. The shorter side is arranged once, for all threads. */
static void NAME(product)(Product *p, Py_ssize_t worth, Py_ssize_t threads) {
    Py_ssize_t shorter = p->by_rows ? p->columns : p->rows, longer = p->by_rows ? p->rows : p->columns;
    Py_ssize_t width = p->by_rows ? PANEL : HIGH, other = p->by_rows ? HIGH : PANEL;
    p->common = malloc(4 * least(p->depth, CHUNK) * (least(shorter, COLUMNS) + width));
    if (p->common == NULL) {
        atomic_store(&p->failed, 1);
        return;
    }
    for (p->first = 0; p->first < shorter; p->first += COLUMNS)
        for (p->step = 0; p->step < p->depth; p->step += CHUNK) {
            p->some = least(shorter - p->first, COLUMNS), p->deep = least(p->depth - p->step, CHUNK);
            share(NAME(arrange), p, up(p->some, width), up(worth / ARRANGED, width * p->deep), threads);
            share(NAME(meet), p, up(longer, other), up(worth, other * p->deep * p->some), threads);
        }
    free(p->common);
}

/* Compute the products [begin, end) of a batch of small matrices. */
TARGET static void NAME(some)(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Batch *n = work;
    Product p = n->each;
    Py_ssize_t deep = least(p.depth, CHUNK), high = least(p.rows, ROWS), wide = least(p.columns, COLUMNS);
    float *a = malloc(4 * deep * (high + HIGH)), *b = malloc(4 * deep * (wide + PANEL));
    if (a == NULL || b == NULL) {
        atomic_store(&n->each.failed, 1);
        end = begin;
    }
    for (Py_ssize_t i = begin; i < end; i++) {
        p.a.from = n->each.a.from + matrix_of(n, n->a_apart, i);
        p.b.from = n->each.b.from + matrix_of(n, n->b_apart, i);
        p.c = n->each.c + i * p.rows * p.columns;
        for (Py_ssize_t j = 0; j < p.columns; j += wide)
            for (p.step = 0; p.step < p.depth; p.step += deep) {
                Py_ssize_t columns = least(p.columns - j, wide);
                p.deep = least(p.depth - p.step, deep);
                NAME(panels)(&p.b, j, columns, p.step, p.step + p.deep, PANEL, b);
                for (Py_ssize_t y = 0; y < p.rows; y += high) {
                    Py_ssize_t rows = least(p.rows - y, high);
                    NAME(panels)(&p.a, y, rows, p.step, p.step + p.deep, HIGH, a);
                    NAME(block)(&p, y, rows, a, j, columns, b);
                }
            }
    }
    free(a), free(b);
}
