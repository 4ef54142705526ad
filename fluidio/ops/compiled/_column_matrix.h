/* The functions that move the elements of images to columns in memory and back: a part of _convolve.c. */

/* What threads know of columns. */
typedef struct {
    Grid g;
    const float *from;
    float *to;
    Columns *run;
    atomic_int failed;
} Matrix;

static void some_channels(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Matrix *m = work;
    Move *moves = malloc(sizeof(Move) * 3 * m->g.images * m->g.rows);
    if (moves == NULL)
        atomic_store(&m->failed, 1);
    else
        m->run(&m->g, m->from, m->to, begin, end, moves);
    free(moves);
}

/* Read (from, to, taps, (images, channels, height, width), (rows, cols, step_y, step_x), worth, threads), and move the
   elements of images to columns, or add them up the other way; a thread is worth so many. */
static PyObject *move_columns(PyObject *args, int back) {
    Py_buffer from, to, taps;
    Py_ssize_t worth, threads;
    Matrix m = {.run = back ? use->add_columns : use->take_columns};
    Grid *g = &m.g;
    if (!PyArg_ParseTuple(args, "y*w*y*(nnnn)(nnnn)nn", &from, &to, &taps, &g->images, &g->channels, &g->height,
                          &g->width, &g->rows, &g->cols, &g->step_y, &g->step_x, &worth, &threads))
        return NULL;
    const Py_buffer *images = back ? &to : &from, *columns = back ? &from : &to;
    Py_ssize_t most = PY_SSIZE_T_MAX >> 20;
    g->plane = g->height * g->width, g->image = g->channels * g->plane;
    g->tap = taps.buf, g->taps = taps.len / 24;
    int fit = g->images >= 1 && g->channels >= 1 && g->height >= 1 && g->width >= 1 && g->rows >= 1 && g->cols >= 1 &&
              g->step_y >= 1 && g->step_x >= 1 && g->taps >= 1 && g->images < most && g->rows < most &&
              images->len == 4 * g->images * g->image &&
              columns->len == 4 * g->channels * g->taps * g->images * g->rows * g->cols;
    if (fit) {
        m.from = from.buf, m.to = to.buf;
        Py_BEGIN_ALLOW_THREADS
        share(some_channels, &m, g->channels, up(worth, g->taps * g->images * g->rows * g->cols), threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&from), PyBuffer_Release(&to), PyBuffer_Release(&taps);
    if (!fit) {
        PyErr_SetString(PyExc_ValueError, "the sizes of columns do not fit their arrays");
        return NULL;
    }
    if (atomic_load(&m.failed))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* take_columns(images, columns, ...): each column holds what all taps meet at one place. */
static PyObject *take_columns(PyObject *module, PyObject *args) { return move_columns(args, 0); }

/* add_columns(columns, images, ...): each element becomes the sum of what columns hold for it. */
static PyObject *add_columns(PyObject *module, PyObject *args) { return move_columns(args, 1); }
