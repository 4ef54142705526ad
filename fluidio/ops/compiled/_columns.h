/* The columns of a convolution as a matrix in memory, [channel, tap] by [image, place], and back: for products of large
   matrices. Included by _tiles.h, once for each set of instructions. */

/* Fill the rows of the channels [begin, end). */
TARGET static void NAME(take_columns)(const Grid *g, const float *from, float *to, Py_ssize_t begin, Py_ssize_t end,
                                      Move *moves) {
    Py_ssize_t places = g->images * g->rows * g->cols, step = g->step_x;
    for (Py_ssize_t tap = 0; tap < g->taps; tap++) {
        Py_ssize_t count = moves_of(g, tap, 0, places, moves);
        for (Py_ssize_t channel = begin; channel < end; channel++)
            for (const Move *move = moves; move < moves + count; move++) {
                float *target = to + (channel * g->taps + tap) * places + move->to;
                const float *source = from + channel * g->plane + move->from;
                if (move->from < 0)
                    memset(target, 0, 4 * move->count);
                else if (step == 1)
                    NAME(copy)(target, source, move->count);
                else if (step == 2)
                    NAME(every_second)(target, source, move->count);
                else
                    for (Py_ssize_t i = 0; i < move->count; i++)
                        target[i] = source[i * step];
            }
    }
}

/* Set the channels [begin, end) of images to the sums of what columns hold for each element. */
TARGET static void NAME(add_columns)(const Grid *g, const float *from, float *to, Py_ssize_t begin, Py_ssize_t end,
                                     Move *moves) {
    Py_ssize_t places = g->images * g->rows * g->cols, step = g->step_x;
    for (Py_ssize_t image = 0; image < g->images; image++)
        memset(to + image * g->image + begin * g->plane, 0, 4 * (end - begin) * g->plane);
    for (Py_ssize_t tap = 0; tap < g->taps; tap++) {
        Py_ssize_t count = moves_of(g, tap, 0, places, moves);
        for (Py_ssize_t channel = begin; channel < end; channel++)
            for (const Move *move = moves; move < moves + count; move++) {
                const float *source = from + (channel * g->taps + tap) * places + move->to;
                float *target = to + channel * g->plane + move->from;
                if (move->from < 0)
                    continue;
                if (step == 1)
                    for (Py_ssize_t i = 0; i < move->count; i++)
                        target[i] += source[i];
                else
                    for (Py_ssize_t i = 0; i < move->count; i++)
                        target[i * step] += source[i];
            }
    }
}
