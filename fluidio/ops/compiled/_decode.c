/* Loops over sequences: edit distances, the best path of tags, the best candidates of a beam, chunks of tags.
   edit_distance.py, crf.py, beam_search.py and chunk_eval.py do the same in NumPy. */

#include "../../_python.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Return whether offsets ascend from 0 to at most `most`; set the longest part. */
static int ascends(const Py_buffer *offsets, int64_t most, int64_t *longest) {
    const int64_t *at = offsets->buf;
    Py_ssize_t count = offsets->len / 8;
    *longest = 0;
    if (count < 1 || offsets->len % 8 || at[0] < 0 || at[count - 1] > most)
        return 0;
    for (Py_ssize_t n = 1; n < count; n++) {
        if (at[n] < at[n - 1])
            return 0;
        if (at[n] - at[n - 1] > *longest)
            *longest = at[n] - at[n - 1];
    }
    return 1;
}

static PyObject *unfit(int ok, int memory) {
    if (ok && !memory)
        return PyErr_NoMemory();
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the offsets or sizes do not fit the arrays");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* The number of insertions, deletions and replacements that turn one list into another; `line` has room for b + 1. */
static int64_t distance(const int64_t *one, int64_t a, const int64_t *other, int64_t b, int64_t *line) {
    for (int64_t j = 0; j <= b; j++)
        line[j] = j;
    for (int64_t i = 0; i < a; i++) {
        int64_t corner = line[0], left = i + 1;
        line[0] = left;
        for (int64_t j = 0; j < b; j++) {
            int64_t best = corner + (one[i] != other[j]), above = line[j + 1];
            best = above + 1 < best ? above + 1 : best;
            best = left + 1 < best ? left + 1 : best;
            corner = above;
            line[j + 1] = left = best;
        }
    }
    return line[b];
}

/* distances(guesses, guess_at, truths, truth_at, out): int64 tokens, their offsets, and a distance for each pair. */
static PyObject *distances(PyObject *module, PyObject *args) {
    Py_buffer one, one_at, other, other_at, out;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*", &one, &one_at, &other, &other_at, &out))
        return NULL;
    int64_t longest = 0, most = 0, *line = NULL;
    int ok = ascends(&one_at, one.len / 8, &most) && ascends(&other_at, other.len / 8, &longest) &&
             one_at.len == other_at.len && out.len == one_at.len - 8;
    if (ok && (line = malloc(8 * (size_t)(longest + 1))) != NULL) {
        const int64_t *a = one_at.buf, *b = other_at.buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t n = 0; n < out.len / 8; n++)
            ((int64_t *)out.buf)[n] = distance((const int64_t *)one.buf + a[n], a[n + 1] - a[n],
                                               (const int64_t *)other.buf + b[n], b[n + 1] - b[n], line);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&one), PyBuffer_Release(&one_at), PyBuffer_Release(&other), PyBuffer_Release(&other_at);
    PyBuffer_Release(&out);
    free(line);
    return unfit(ok, line != NULL);
}

/* Set `to[j]` to the best of scores[i] + moves[i][j], and `from[j]` to its i; the first of equal ones, a NaN before all. */
static void step(const float *scores, const float *moves, int32_t tags, float *restrict to, int32_t *restrict from) {
    for (int32_t j = 0; j < tags; j++) {
        to[j] = scores[0] + moves[j];
        from[j] = 0;
    }
    for (int32_t i = 1; i < tags; i++)
        for (int32_t j = 0; j < tags; j++) {
            float reach = scores[i] + moves[(Py_ssize_t)i * tags + j], best = to[j];
            int better = !(reach <= best) & (best == best);
            to[j] = better ? reach : best;
            from[j] = better ? i : from[j];
        }
}

static void best_path(const float *x, const float *moves, int32_t tags, int64_t times, int64_t *path, float *scores,
                      int32_t *back) {
    const float *start = moves, *stop = moves + tags, *inner = moves + 2 * (Py_ssize_t)tags;
    float *now = scores, *after = scores + tags;
    for (int32_t j = 0; j < tags; j++)
        now[j] = x[j] + start[j];
    for (int64_t t = 1; t < times; t++) {
        step(now, inner, tags, after, back + t * tags);
        for (int32_t j = 0; j < tags; j++)
            after[j] += x[t * tags + j];
        float *swap = now;
        now = after, after = swap;
    }
    int32_t last = 0;
    float best = now[0] + stop[0];
    for (int32_t j = 1; j < tags; j++) {
        float end = now[j] + stop[j];
        if (best == best && !(end <= best))
            best = end, last = j;
    }
    for (int64_t t = times - 1; t >= 0; t--) {
        path[t] = last;
        if (t)
            last = back[t * tags + last];
    }
}

/* tags(emission, transition, offsets, out): fill `out` with the best tag of each row, sequence by sequence. */
static PyObject *tags(PyObject *module, PyObject *args) {
    Py_buffer x, moves, offsets, out;
    if (!PyArg_ParseTuple(args, "y*y*y*w*", &x, &moves, &offsets, &out))
        return NULL;
    int64_t rows = out.len / 8, longest = 0, width = rows ? x.len / 4 / rows : 0;
    int ok = ascends(&offsets, rows, &longest) && rows * 8 == out.len && width >= (rows > 0) && width < 1 << 15 &&
             x.len == rows * width * 4 && (rows == 0 || moves.len == 4 * (width + 2) * width);
    float *scores = ok ? malloc(8 * (size_t)(width + 1)) : NULL;
    int32_t *back = scores ? malloc(4 * (size_t)(longest * width + 1)) : NULL;
    if (back != NULL) {
        const int64_t *at = offsets.buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t n = 0; n + 1 < offsets.len / 8; n++)
            if (at[n] < at[n + 1])
                best_path((const float *)x.buf + at[n] * width, moves.buf, (int32_t)width, at[n + 1] - at[n],
                          (int64_t *)out.buf + at[n], scores, back);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&x), PyBuffer_Release(&moves), PyBuffer_Release(&offsets), PyBuffer_Release(&out);
    int memory = back != NULL;
    free(scores), free(back);
    return unfit(ok, memory);
}

typedef struct {
    double score;
    int64_t row, column;
} Candidate;

/* Keep the best candidates of one source, best first; return their number. Of equal scores the later row wins; within a
   row the latest one takes the last place. */
static int64_t lead(const double *total, const uint8_t *ended, int64_t begin, int64_t end, int64_t width, int64_t beam,
                    Candidate *best) {
    int64_t count = 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t column = 0; column < (ended[row] && width ? 1 : width); column++) {
            Candidate new = {total[row * width + column], row, column};
            if (count < beam)
                count++;
            else if (new.score < best[count - 1].score ||
                     (new.score == best[count - 1].score && row < best[count - 1].row))
                continue;
            int64_t place = count - 1;
            for (; place && (best[place - 1].score < new.score ||
                             (best[place - 1].score == new.score && best[place - 1].row < row));
                 place--)
                best[place] = best[place - 1];
            best[place] = new;
        }
    return count;
}

/* leaders(total, ended, offsets, beam, rows, columns, counts): the best `beam` candidates of each source, best first;
   `ended` rows have one. `rows` and `columns` have `beam` places for each source. */
static PyObject *leaders(PyObject *module, PyObject *args) {
    Py_buffer total, ended, offsets, rows, columns, counts;
    Py_ssize_t beam;
    if (!PyArg_ParseTuple(args, "y*y*y*nw*w*w*", &total, &ended, &offsets, &beam, &rows, &columns, &counts))
        return NULL;
    int64_t longest = 0, all = ended.len, width = all ? total.len / 8 / all : 0, sources = offsets.len / 8 - 1;
    int ok = beam > 0 && beam < 1 << 24 && ascends(&offsets, all, &longest) && total.len == 8 * all * width &&
             counts.len == 8 * sources && rows.len == 8 * sources * beam && columns.len == rows.len;
    Candidate *best = ok ? malloc((size_t)beam * sizeof(Candidate)) : NULL;
    if (best != NULL) {
        const int64_t *at = offsets.buf;
        Py_BEGIN_ALLOW_THREADS
        for (int64_t n = 0; n < sources; n++) {
            int64_t found = lead(total.buf, ended.buf, at[n], at[n + 1], width, beam, best);
            ((int64_t *)counts.buf)[n] = found;
            for (int64_t i = 0; i < found; i++) {
                ((int64_t *)rows.buf)[n * beam + i] = best[i].row;
                ((int64_t *)columns.buf)[n * beam + i] = best[i].column;
            }
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&total), PyBuffer_Release(&ended), PyBuffer_Release(&offsets), PyBuffer_Release(&rows);
    PyBuffer_Release(&columns), PyBuffer_Release(&counts);
    int memory = best != NULL;
    free(best);
    return unfit(ok, memory);
}

/* How the tags of a type are numbered (-1: none), and which types count. */
typedef struct {
    int64_t tags, begin, end, single, types;
    const uint8_t *excluded;
} Scheme;

/* Return whether a chunk begins at a row, of which the one before is `before` (-1: none). */
static int begins(const Scheme *s, int64_t before, int64_t here) {
    int64_t kind = here / s->tags, tag = here % s->tags, last = before % s->tags;
    if (kind >= s->types)
        return 0;
    return before < 0 || before / s->tags >= s->types || before / s->tags != kind || tag == s->begin ||
           tag == s->single || last == s->end || last == s->single;
}

/* Count the chunks of both lists, and those that both have, in one sequence. */
static void count_chunks(const Scheme *s, const int64_t *const lists[2], int64_t rows, int64_t counts[3]) {
    int64_t start[2] = {-1, -1}; /* of the open chunk; -1: none */
    for (int64_t row = 0; row <= rows; row++) {
        int ended[2];
        int64_t from[2] = {start[0], start[1]};
        for (int side = 0; side < 2; side++) {
            const int64_t *ids = lists[side];
            int fresh = row < rows && begins(s, row ? ids[row - 1] : -1, ids[row]);
            ended[side] = from[side] >= 0 && (row == rows || fresh || ids[row] / s->tags >= s->types);
            if (ended[side]) {
                counts[side] += !s->excluded[ids[row - 1] / s->tags];
                start[side] = -1;
            }
            if (fresh)
                start[side] = row;
        }
        if (ended[0] && ended[1] && from[0] == from[1]) {
            int64_t kind = lists[0][row - 1] / s->tags;
            counts[2] += kind == lists[1][row - 1] / s->tags && !s->excluded[kind];
        }
    }
}

/* chunks(guesses, truths, offsets, excluded, (tags, begin, end, single), counts): add to `counts` the chunks that were
   guessed, those that are there, and those that are both; `excluded` has a byte for each type. */
static PyObject *chunks(PyObject *module, PyObject *args) {
    Py_buffer one, other, offsets, excluded, counts;
    long long tags, begin, end, single;
    if (!PyArg_ParseTuple(args, "y*y*y*y*(LLLL)w*", &one, &other, &offsets, &excluded, &tags, &begin, &end, &single,
                          &counts))
        return NULL;
    int64_t longest = 0;
    int ok = ascends(&offsets, one.len / 8, &longest) && one.len == other.len && one.len % 8 == 0 && tags >= 1 &&
             counts.len == 24;
    for (Py_ssize_t i = 0; ok && i < one.len / 8; i++)
        ok = ((const int64_t *)one.buf)[i] >= 0 && ((const int64_t *)other.buf)[i] >= 0;
    if (ok) {
        Scheme s = {tags, begin, end, single, excluded.len, excluded.buf};
        const int64_t *at = offsets.buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t n = 0; n + 1 < offsets.len / 8; n++) {
            const int64_t *const lists[2] = {(const int64_t *)one.buf + at[n], (const int64_t *)other.buf + at[n]};
            count_chunks(&s, lists, at[n + 1] - at[n], counts.buf);
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&one), PyBuffer_Release(&other), PyBuffer_Release(&offsets), PyBuffer_Release(&excluded);
    PyBuffer_Release(&counts);
    return unfit(ok, 1);
}

static PyMethodDef methods[] = {
    {"distances", distances, METH_VARARGS, NULL},
    {"tags", tags, METH_VARARGS, NULL},
    {"leaders", leaders, METH_VARARGS, NULL},
    {"chunks", chunks, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_decode", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__decode(void) { return PyModuleDef_Init(&definition); }
