/* Boxes that overlap: greedy suppression by better ones, all overlaps of two lists, scores lowered by overlaps, and
   neighbours that are merged. nms.py, nms_variants.py and detection_boxes.py say how, and do it in NumPy. */

#include "../../_python.h"

#include <math.h>
#include <stdint.h>

#include "_pool.h"

static float area(const float *box, float extra) {
    float width = box[2] - box[0], height = box[3] - box[1];
    return width < 0 || height < 0 ? 0.0f : (width + extra) * (height + extra);
}

static float overlap(const float *a, const float *b, float extra) {
    float left = a[0] > b[0] ? a[0] : b[0], top = a[1] > b[1] ? a[1] : b[1];
    float right = a[2] < b[2] ? a[2] : b[2], bottom = a[3] < b[3] ? a[3] : b[3];
    if (b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1]) // one turned inside out may still meet others
        return 0.0f;
    float shared = (right - left + extra) * (bottom - top + extra);
    return shared / (area(a, extra) + area(b, extra) - shared);
}

static Py_ssize_t keep(const float *boxes, Py_ssize_t count, int64_t *kept, float threshold, float eta, float extra,
                       Py_ssize_t most) {
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < count && found != most; i++) {
        int apart = 1;
        for (Py_ssize_t j = 0; j < found && apart; j++)
            apart = overlap(boxes + 4 * kept[j], boxes + 4 * i, extra) <= threshold; // no for NaN: points in one place
        if (!apart)
            continue;
        kept[found++] = i;
        if (eta < 1 && threshold > 0.5f)
            threshold *= eta;
    }
    return found;
}

/* keep_apart(boxes, kept, threshold, eta, normalized, most): number the kept boxes in `kept`; return how many. */
static PyObject *keep_apart(PyObject *module, PyObject *args) {
    Py_buffer boxes, kept;
    float threshold, eta;
    int normalized;
    Py_ssize_t most, found;
    if (!PyArg_ParseTuple(args, "y*w*ffpn", &boxes, &kept, &threshold, &eta, &normalized, &most))
        return NULL;
    if (boxes.len % 16 != 0 || kept.len != boxes.len / 2) {
        PyBuffer_Release(&boxes);
        PyBuffer_Release(&kept);
        PyErr_SetString(PyExc_ValueError, "keep_apart needs boxes of four float32 and an int64 for each");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    found = keep(boxes.buf, boxes.len / 16, kept.buf, threshold, eta, normalized ? 0.0f : 1.0f, most);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&boxes);
    PyBuffer_Release(&kept);
    return PyLong_FromSsize_t(found);
}

/* What threads share: two lists of boxes, and the table of their overlaps. */
typedef struct {
    Py_buffer x, y, out;
    float extra, tiny, least;
} Call;

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))

static void line_of_overlaps(const float *box, const float *across, Py_ssize_t count, float extra, float tiny,
                             float least, float *restrict out) {
    const float *left = across, *top = left + count, *right = top + count, *bottom = right + count;
    float x0 = box[0], y0 = box[1], x1 = box[2], y1 = box[3], own = (x1 - x0 + extra) * (y1 - y0 + extra);
    for (Py_ssize_t j = 0; j < count; j++) {
        float wide = SMALLER(x1, right[j]) - LARGER(x0, left[j]) + extra;
        float high = SMALLER(y1, bottom[j]) - LARGER(y0, top[j]) + extra;
        float shared = LARGER(wide, 0.0f) * LARGER(high, 0.0f);
        float other = (right[j] - left[j] + extra) * (bottom[j] - top[j] + extra);
        float all = own + other - shared + tiny;
        out[j] = shared / LARGER(all, least);
    }
}

static void some_overlaps(void *work, Py_ssize_t begin, Py_ssize_t end) {
    const Call *c = work;
    Py_ssize_t count = c->y.len / 16;
    for (Py_ssize_t i = begin; i < end; i++)
        line_of_overlaps((const float *)c->x.buf + 4 * i, c->y.buf, count, c->extra, c->tiny, c->least,
                         (float *)c->out.buf + i * count);
}

/* overlaps(x, y, out, extra, tiny, least, threads): out[i][j] = the shared area of two boxes through that of both plus
   `tiny`, which is at least `least`. Y holds the left sides of all boxes, then the tops, and so on. */
static PyObject *overlaps(PyObject *module, PyObject *args) {
    Call c;
    Py_ssize_t threads;
    if (!PyArg_ParseTuple(args, "y*y*w*fffn", &c.x, &c.y, &c.out, &c.extra, &c.tiny, &c.least, &threads))
        return NULL;
    Py_ssize_t rows = c.x.len / 16, columns = c.y.len / 16;
    int ok = c.x.len % 16 == 0 && c.y.len % 16 == 0 && c.out.len % 4 == 0 &&
             (rows == 0 || columns == 0 ? c.out.len == 0
                                        : c.out.len / 4 / rows == columns && c.out.len / 4 % rows == 0);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        share(some_overlaps, &c, c.out.len ? rows : 0, columns < 1 << 15 ? (1 << 15) / (columns + 1) + 1 : 1, threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&c.x), PyBuffer_Release(&c.y), PyBuffer_Release(&c.out);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "overlaps needs boxes of four float32 and a table for them");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Set `decay` to what the scores of boxes, best first, are multiplied by; `most` has room for a number for each, and
   `line` too. A NaN stays. */
static void lower(const float *boxes, Py_ssize_t count, float *decay, float *most, float *line, float extra,
                  int gaussian, float sigma) {
    for (Py_ssize_t i = 0; i < count; i++) {
        float best = 0, least = 1;
        for (Py_ssize_t j = 0; j < i; j++) {
            line[j] = overlap(boxes + 4 * i, boxes + 4 * j, extra);
            best = best == best && !(line[j] <= best) ? line[j] : best;
        }
        most[i] = best;
        for (Py_ssize_t j = 0; j < i; j++) {
            float part = gaussian ? expf((most[j] * most[j] - line[j] * line[j]) * sigma) : (1 - line[j]) / (1 - most[j]);
            least = least == least && !(part >= least) ? part : least;
        }
        decay[i] = least;
    }
}

/* decay(boxes, out, work, normalized, gaussian, sigma): boxes best first; `work` has room for two numbers for each. */
static PyObject *decay(PyObject *module, PyObject *args) {
    Py_buffer boxes, out, work;
    int normalized, gaussian;
    float sigma;
    if (!PyArg_ParseTuple(args, "y*w*w*ppf", &boxes, &out, &work, &normalized, &gaussian, &sigma))
        return NULL;
    int ok = boxes.len % 16 == 0 && out.len == boxes.len / 4 && work.len == 2 * out.len;
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        lower(boxes.buf, boxes.len / 16, out.buf, work.buf, (float *)work.buf + boxes.len / 16,
              normalized ? 0.0f : 1.0f, gaussian, sigma);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&boxes), PyBuffer_Release(&out), PyBuffer_Release(&work);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "decay needs boxes of four float32 and three float32 for each");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* merge(boxes, scores, stands, threshold, normalized): merge each box with the last one that stands if they overlap by
   more, weighted by their scores; say in `stands` which boxes do. */
static PyObject *merge(PyObject *module, PyObject *args) {
    Py_buffer boxes, scores, stands;
    double threshold;
    int normalized;
    if (!PyArg_ParseTuple(args, "w*w*w*dp", &boxes, &scores, &stands, &threshold, &normalized))
        return NULL;
    int ok = boxes.len % 16 == 0 && scores.len == boxes.len / 4 && stands.len == boxes.len / 16;
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        float *box = boxes.buf, *score = scores.buf;
        uint8_t *stand = stands.buf;
        Py_ssize_t count = stands.len, last = 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            stand[i] = 0;
            if (i && overlap(box + 4 * i, box + 4 * last, normalized ? 0.0f : 1.0f) > threshold) {
                float total = score[i] + score[last];
                for (int side = 0; side < 4; side++)
                    box[4 * last + side] = (box[4 * i + side] * score[i] + box[4 * last + side] * score[last]) / total;
                score[last] = total;
            } else if (i) {
                stand[last] = 1;
                last = i;
            }
        }
        if (count)
            stand[last] = 1;
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&boxes), PyBuffer_Release(&scores), PyBuffer_Release(&stands);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "merge needs boxes of four float32, a float32 and a byte for each");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"keep_apart", keep_apart, METH_VARARGS, NULL}, {"overlaps", overlaps, METH_VARARGS, NULL},
    {"decay", decay, METH_VARARGS, NULL},           {"merge", merge, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)take_share}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_suppress", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__suppress(void) { return PyModuleDef_Init(&definition); }
