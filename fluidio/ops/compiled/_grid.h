/* Grids of places and what taps meet there, as lists of runs of floats. */

/* Have a vector in a register. */
#if defined(__x86_64__)
#define IN_REGISTER(vector) __asm__("" : "+v"(vector))
#else
#define IN_REGISTER(vector) (void)(vector)
#endif

/* Where columns come from: images of one group, and the grid of places over them. */
typedef struct {
    Py_ssize_t images, channels, height, width, plane, image; /* plane, image: floats from one to the next */
    Py_ssize_t rows, cols, step_y, step_x, taps;
    const int64_t *tap; /* y, x and position in a filter, for each tap */
    const float *from_end;
    Py_ssize_t first_y, first_x; /* for 3 x 3 taps: the first one, and their order */
    int order[9];
} Grid;

/* Where products go: filters of one group; places lie `step` apart from (y, x) on. */
typedef struct {
    Py_ssize_t filters, width, plane, image, y, x, step_y, step_x;
} Target;

/* How filters lie in memory: floats from one filter or channel to the next. */
typedef struct {
    Py_ssize_t filter, channel;
} Filters;

/* A run of floats: from < 0 means zeros. */
typedef struct {
    Py_ssize_t to, from, count;
} Move;

static Py_ssize_t add_move(Move *moves, Py_ssize_t count, Py_ssize_t to, Py_ssize_t from, Py_ssize_t length, int dense) {
    if (length <= 0)
        return count;
    Move *before = moves + count - 1;
    if (count > 0 && ((from < 0 && before->from < 0) || (dense && from >= 0 && before->from >= 0 &&
                                                         before->from + before->count == from))) {
        before->count += length;
        return count;
    }
    moves[count] = (Move){to, from, length};
    return count + 1;
}

static Py_ssize_t clamp(Py_ssize_t value, Py_ssize_t low, Py_ssize_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Division that rounds up, for any sign of `a`. */
static Py_ssize_t up(Py_ssize_t a, Py_ssize_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

/* List the elements one tap covers at the places [begin, end): at most three moves per row of places. */
static Py_ssize_t moves_of(const Grid *g, Py_ssize_t tap, Py_ssize_t begin, Py_ssize_t end, Move *moves) {
    Py_ssize_t count = 0, area = g->rows * g->cols, dy = g->tap[3 * tap], dx = g->tap[3 * tap + 1];
    for (Py_ssize_t place = begin; place < end;) {
        Py_ssize_t image = place / area, row = place % area / g->cols, col = place % g->cols, to = place - begin;
        Py_ssize_t length = g->cols - col < end - place ? g->cols - col : end - place;
        Py_ssize_t y = row * g->step_y + dy, x = col * g->step_x + dx;
        place += length;
        if (y < 0 || y >= g->height) {
            count = add_move(moves, count, to, -1, length, 0);
            continue;
        }
        Py_ssize_t left = clamp(up(-x, g->step_x), 0, length), right = clamp(up(g->width - x, g->step_x), left, length);
        Py_ssize_t from = image * g->image + y * g->width + x;
        count = add_move(moves, count, to, -1, left, 0);
        count = add_move(moves, count, to + left, from + left * g->step_x, right - left, g->step_x == 1);
        count = add_move(moves, count, to + right, -1, length - right, 0);
    }
    return count;
}

/* List where the places [begin, end) go, `from` counting from `begin`. */
static Py_ssize_t runs_of(const Grid *g, const Target *t, Py_ssize_t begin, Py_ssize_t end, Move *moves) {
    Py_ssize_t count = 0, area = g->rows * g->cols;
    for (Py_ssize_t place = begin; place < end;) {
        Py_ssize_t image = place / area, row = place % area / g->cols, col = place % g->cols;
        Py_ssize_t length = g->cols - col < end - place ? g->cols - col : end - place;
        Py_ssize_t to = image * t->image + (t->y + row * t->step_y) * t->width + t->x + col * t->step_x;
        Move *before = moves + count - 1;
        if (count > 0 && t->step_x == 1 && before->to + before->count == to)
            before->count += length;
        else
            moves[count++] = (Move){to, place - begin, length};
        place += length;
    }
    return count;
}

/* Copy up to 16 floats, by pairs of pieces that overlap. */
static inline void copy_few(float *to, const float *from, Py_ssize_t count) {
    if (count >= 8) {
        memcpy(to, from, 32);
        memcpy(to + count - 8, from + count - 8, 32);
    } else if (count >= 4) {
        memcpy(to, from, 16);
        memcpy(to + count - 4, from + count - 4, 16);
    } else
        for (Py_ssize_t i = 0; i < count; i++)
            to[i] = from[i];
}

static inline void put(float *to, const float *from, const Move *moves, Py_ssize_t count, Py_ssize_t step) {
    for (const Move *move = moves; move < moves + count; move++)
        if (step == 1)
            memcpy(to + move->to, from + move->from, 4 * move->count);
        else
            for (Py_ssize_t i = 0; i < move->count; i++)
                to[move->to + i * step] = from[move->from + i];
}
