/* Read a part of a file, check it and place it without the interpreter lock: fetch.py says what each function does.

   A file is read in pieces that stay in the second-level cache until they are checked and copied.
*/

#define _FILE_OFFSET_BITS 64
#include "../_python.h"

#include <errno.h>
#include <unistd.h>

#include "_crc32.h"

#define MOST_COLUMNS 64

static Crc32 best_crc32 = by_bytes;

/* Read `size` bytes at `offset`; fewer at the end of the file, -1 and errno when reading fails. A signal's handler
   runs in between, which needs the lock. */
static Py_ssize_t read_whole(int fd, uint8_t *to, size_t size, off_t offset, PyThreadState **state) {
    size_t done = 0;
    while (done < size) {
        ssize_t more = pread(fd, to + done, size - done, offset + (off_t)done);
        if (more == 0)
            break;
        if (more > 0) {
            done += (size_t)more;
        } else if (errno == EINTR) {
            PyEval_RestoreThread(*state);
            int raised = PyErr_CheckSignals();
            *state = PyEval_SaveThread();
            if (raised)
                return -1;
        } else {
            return -1;
        }
    }
    return (Py_ssize_t)done;
}

/* What a failed read leaves: its own exception, or that of a signal's handler. */
static PyObject *failed(int number) {
    if (!PyErr_Occurred()) {
        errno = number;
        PyErr_SetFromErrno(PyExc_OSError);
    }
    return NULL;
}

/* crc32(data, value=0, bits=512) -> the CRC-32, with vectors of at most so many bits. */
static PyObject *checksum(PyObject *module, PyObject *args) {
    Py_buffer data;
    unsigned int value = 0;
    int bits = 512;
    if (!PyArg_ParseTuple(args, "y*|Ii", &data, &value, &bits))
        return NULL;
    uint32_t found;
    Py_BEGIN_ALLOW_THREADS
    found = ~choose_crc32(bits)(~(uint32_t)value, data.buf, (size_t)data.len);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(found);
}

/* Bytes of every record: the same in all of them, or the data of a column. */
typedef struct {
    Py_buffer bytes;
    Py_ssize_t first, size;
} Span;

static void release(Span *spans, Py_ssize_t count) {
    while (count--)
        PyBuffer_Release(&spans[count].bytes);
}

/* Read pairs (first byte in a record, bytes); the bytes of columns are those of all records. */
static Py_ssize_t get_spans(PyObject *given, Span *spans, Py_ssize_t stride, Py_ssize_t records, int are_columns) {
    Py_ssize_t count = PyTuple_Size(given);
    if (count > MOST_COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "too many columns");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Span *span = &spans[i];
        PyObject *pair = PyTuple_GetItem(given, i);
        if (!PyTuple_Check(pair)) {
            PyErr_SetString(PyExc_TypeError, "a column is a tuple");
        } else if (PyArg_ParseTuple(pair, are_columns ? "nw*" : "ny*", &span->first, &span->bytes)) {
            span->size = are_columns ? span->bytes.len / records : span->bytes.len;
            int whole = !are_columns || span->size * records == span->bytes.len;
            if (whole && span->first >= 0 && span->size <= stride && span->first <= stride - span->size)
                continue;
            PyBuffer_Release(&span->bytes);
            PyErr_SetString(PyExc_ValueError, "a column is not inside the records");
        }
        release(spans, i);
        return -1;
    }
    return count;
}

/* Copy the columns of some records; 0 when bytes that must be the same are not. */
static int place(const uint8_t *at, Py_ssize_t record, Py_ssize_t records, Py_ssize_t stride, const Span *same,
                 Py_ssize_t sames, const Span *columns, Py_ssize_t count) {
    for (Py_ssize_t end = record + records; record < end; record++, at += stride) {
        for (Py_ssize_t i = 0; i < sames; i++)
            if (memcmp(at + same[i].first, same[i].bytes.buf, (size_t)same[i].size) != 0)
                return 0;
        for (Py_ssize_t i = 0; i < count; i++)
            memcpy((uint8_t *)columns[i].bytes.buf + record * columns[i].size, at + columns[i].first,
                   (size_t)columns[i].size);
    }
    return 1;
}

/* rows(fd, offset, records, stride, same, columns, scratch) -> the CRC-32 of the records; None when the file is too
   short or the records are others. */
static PyObject *rows(PyObject *module, PyObject *args) {
    PyObject *given_same, *given_columns;
    Py_buffer scratch;
    int fd;
    long long offset;
    Py_ssize_t records, stride;
    Span same[MOST_COLUMNS], columns[MOST_COLUMNS];
    if (!PyArg_ParseTuple(args, "iLnnO!O!w*", &fd, &offset, &records, &stride, &PyTuple_Type, &given_same,
                          &PyTuple_Type, &given_columns, &scratch))
        return NULL;
    Py_ssize_t sames = -1, count = -1;
    if (records < 1 || stride < 1 || stride > scratch.len || records > PY_SSIZE_T_MAX / stride)
        PyErr_SetString(PyExc_ValueError, "records of no size, or too large for the scratch buffer");
    else if ((sames = get_spans(given_same, same, stride, records, 0)) >= 0)
        count = get_spans(given_columns, columns, stride, records, 1);
    uint32_t value = ~0u;
    Py_ssize_t more = 0, done = 0;
    int number = 0, fits = 1;
    if (count >= 0) {
        Py_ssize_t together = scratch.len / stride;
        PyThreadState *state = PyEval_SaveThread();
        while (fits && done < records) {
            Py_ssize_t some = records - done < together ? records - done : together;
            size_t piece = (size_t)(some * stride);
            more = read_whole(fd, scratch.buf, piece, (off_t)offset, &state);
            if (more < 0)
                break;
            fits = (size_t)more == piece && place(scratch.buf, done, some, stride, same, sames, columns, count);
            value = best_crc32(value, scratch.buf, (size_t)more);
            offset += more;
            done += some;
        }
        number = errno;
        PyEval_RestoreThread(state);
        release(columns, count);
    }
    if (sames >= 0)
        release(same, sames);
    PyBuffer_Release(&scratch);
    if (count < 0)
        return NULL;
    if (more < 0)
        return failed(number);
    if (!fits)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(~value & 0xFFFFFFFFu);
}

#include "_fetch_ragged.h"

static PyMethodDef functions[] = {{"crc32", checksum, METH_VARARGS, NULL},
                                  {"rows", rows, METH_VARARGS, NULL},
                                  {"ragged", ragged, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static int prepare(PyObject *module) {
    prepare_crc32();
    best_crc32 = choose_crc32(512);
    return PyModule_AddIntConstant(module, "FAST", best_crc32 != by_bytes);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_fetch", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fetch(void) { return PyModuleDef_Init(&definition); }
