/* Merge and add rows by their numbers: add_rows.py says how; NumPy does the same in several passes. */

#include "../_python.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BITS 11 /* of a number by which one pass sorts */
#define BUCKETS (1 << BITS)

/* A row's number, and where it was. */
typedef struct {
    int64_t number;
    Py_ssize_t at;
} Item;

/* Sort items by number; those with the same stay in order. Return the array of the two that then holds them. */
static Item *sorted(Item *items, Item *other, Py_ssize_t count, int64_t most) {
    for (int shift = 0; shift < 63 && most >> shift; shift += BITS) {
        Py_ssize_t begin[BUCKETS] = {0}, next = 0;
        for (Py_ssize_t i = 0; i < count; i++)
            begin[items[i].number >> shift & (BUCKETS - 1)]++;
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            Py_ssize_t size = begin[bucket];
            begin[bucket] = next;
            next += size;
        }
        for (Py_ssize_t i = 0; i < count; i++)
            other[begin[items[i].number >> shift & (BUCKETS - 1)]++] = items[i];
        Item *swapped = items;
        items = other;
        other = swapped;
    }
    return items;
}

/* Write each number once, ascending, and the sum of its rows, added in order. Return how many there are. */
static Py_ssize_t merged(const Item *items, Py_ssize_t count, const float *values, Py_ssize_t width, int64_t *numbers,
                         float *sums) {
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < count; found++, sums += width) {
        numbers[found] = items[i].number;
        memcpy(sums, values + items[i].at * width, 4 * width);
        for (i++; i < count && items[i].number == numbers[found]; i++)
            for (Py_ssize_t j = 0; j < width; j++)
                sums[j] += values[items[i].at * width + j];
    }
    return found;
}

/* Return the largest number; -1 if one is negative. */
static int64_t largest(const int64_t *index, Py_ssize_t count) {
    int64_t most = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (index[i] < 0)
            return -1;
        most = index[i] > most ? index[i] : most;
    }
    return most;
}

/* merge(index, values, numbers, sums) -> count: fill the beginning of `numbers` and `sums`; -1 if an index is negative.
 */
static PyObject *merge(PyObject *module, PyObject *args) {
    Py_buffer index, values, numbers, sums;
    if (!PyArg_ParseTuple(args, "y*y*w*w*", &index, &values, &numbers, &sums))
        return NULL;
    Py_ssize_t count = index.len / 8, width = count ? values.len / 4 / count : 0, found = -2;
    Item *items = NULL;
    int ok = index.len == 8 * count && numbers.len == index.len && values.len == 4 * width * count && sums.len == values.len;
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        int64_t most = largest(index.buf, count);
        if (most < 0)
            found = -1;
        else if ((items = malloc(2 * (count + 1) * sizeof(Item))) != NULL) {
            for (Py_ssize_t i = 0; i < count; i++)
                items[i] = (Item){((const int64_t *)index.buf)[i], i};
            found = merged(sorted(items, items + count, count, most), count, values.buf, width, numbers.buf, sums.buf);
        }
        Py_END_ALLOW_THREADS
    }
    free(items);
    PyBuffer_Release(&index), PyBuffer_Release(&values), PyBuffer_Release(&numbers), PyBuffer_Release(&sums);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes do not fit the arrays");
        return NULL;
    }
    return found == -2 ? PyErr_NoMemory() : PyLong_FromSsize_t(found);
}

/* Add values[i] to target[index[i]], one after another; -1 if an index is not one of `height` rows: nothing is added. */
static Py_ssize_t added(float *target, Py_ssize_t height, const int64_t *index, Py_ssize_t count, const float *values,
                        Py_ssize_t width) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (index[i] < 0 || index[i] >= height)
            return -1;
    for (Py_ssize_t i = 0; i < count; i++)
        for (Py_ssize_t j = 0; j < width; j++)
            target[index[i] * width + j] += values[i * width + j];
    return count;
}

/* add(target, index, values) -> whether all rows could be added: none is, if one is outside the target. */
static PyObject *add(PyObject *module, PyObject *args) {
    Py_buffer target, index, values;
    if (!PyArg_ParseTuple(args, "w*y*y*", &target, &index, &values))
        return NULL;
    Py_ssize_t count = index.len / 8, width = count ? values.len / 4 / count : 0, found = -1;
    int ok = index.len == 8 * count && values.len == 4 * width * count && width > 0 && target.len % (4 * width) == 0;
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
        found = added(target.buf, target.len / (4 * width), index.buf, count, values.buf, width);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&target), PyBuffer_Release(&index), PyBuffer_Release(&values);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "the sizes do not fit the arrays");
        return NULL;
    }
    return PyBool_FromLong(found >= 0);
}

static PyMethodDef methods[] = {
    {"merge", merge, METH_VARARGS, NULL}, {"add", add, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_merge", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__merge(void) { return PyModuleDef_Init(&definition); }
