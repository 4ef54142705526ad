/* Read, check and place records whose tensors differ in height: fetch.py says what `ragged` does.

   A record that a piece cuts in two is moved in front of the next piece, which is read to the same aligned place.
*/

#include "_prefix.h"

/* One tensor of all records: the same bytes before data of one size, or a pattern before data of any height. */
typedef struct {
    Py_buffer framing, start, tail, out, offsets; /* framing.obj is NULL when nothing is held */
    Pattern like;
    int is_ragged, is_uniform;
    uint64_t size; /* bytes of data in each record, when not ragged */
    uint64_t used; /* bytes of data so far */
    int64_t height;
} Tensor;

static void release_tensors(Tensor *tensors, Py_ssize_t count) {
    for (; count--; tensors++) {
        Py_buffer *all[] = {&tensors->framing, &tensors->start, &tensors->tail, &tensors->out, &tensors->offsets};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            PyBuffer_Release(all[i]);
    }
}

/* Read (framing, out) or (before, has_lod, start, tail, row_size, out, offsets); 0 and an exception when it is neither. */
static int get_tensor(PyObject *given, Tensor *one, Py_ssize_t records) {
    memset(one, 0, sizeof *one);
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a tensor is a tuple");
        return 0;
    }
    one->is_uniform = 1;
    one->is_ragged = PyTuple_Size(given) != 2;
    if (!one->is_ragged) {
        if (!PyArg_ParseTuple(given, "y*w*", &one->framing, &one->out))
            return 0;
        one->size = (uint64_t)(one->out.len / records);
        if (one->out.len % records == 0)
            return 1;
        PyErr_SetString(PyExc_ValueError, "an array has room for a part of a record");
        return 0;
    }
    Py_ssize_t row_size;
    int has_lod;
    if (!PyArg_ParseTuple(given, "y*py*y*nw*w*", &one->framing, &has_lod, &one->start, &one->tail, &row_size, &one->out,
                          &one->offsets))
        return 0;
    if (row_size < 1 || one->offsets.itemsize != 8 || one->offsets.len / 8 != records + 1) {
        PyErr_SetString(PyExc_ValueError, "rows of no size, or other offsets than one more than there are records");
        return 0;
    }
    one->like = (Pattern){one->framing.buf, (uint64_t)one->framing.len, has_lod,
                          one->start.buf,   (uint64_t)one->start.len,   one->tail.buf,
                          (uint64_t)one->tail.len, (uint64_t)row_size};
    *(int64_t *)one->offsets.buf = 0;
    return 1;
}

/* Copy the data of a record's tensors; 0 when they are not as expected. */
static int place_record(const uint8_t *bytes, uint64_t at, uint64_t end, Py_ssize_t record, Tensor *tensors,
                        Py_ssize_t count) {
    for (Tensor *one = tensors; one < tensors + count; one++) {
        uint64_t size = one->size;
        if (!one->is_ragged) {
            uint64_t framing = (uint64_t)one->framing.len;
            if (end - at < framing || memcmp(bytes + at, one->framing.buf, framing) != 0 || end - at - framing < size)
                return 0;
            at += framing;
        } else {
            int64_t rows, first, last, *offsets = (int64_t *)one->offsets.buf + record;
            if (!read_prefix(bytes, at, end, &one->like, &rows, &first, &last))
                return 0;
            at = (uint64_t)first;
            size = (uint64_t)(last - first);
            offsets[1] = offsets[0] + rows;
            if (record == 0)
                one->height = rows;
            one->is_uniform &= rows == one->height;
        }
        if (size > (uint64_t)one->out.len - one->used)
            return 0;
        memcpy((uint8_t *)one->out.buf + one->used, bytes + at, size);
        one->used += size;
        at += size;
    }
    return at == end;
}

/* Place the records that are complete in bytes..end; returns where the next one begins, NULL when they are not as
   expected. */
static const uint8_t *place_records(const uint8_t *bytes, const uint8_t *end, Py_ssize_t *record, Py_ssize_t records,
                                    Tensor *tensors, Py_ssize_t count) {
    while (end - bytes >= 4) {
        uint64_t size = 4 + (uint64_t)little32(bytes);
        if ((uint64_t)(end - bytes) < size)
            break;
        if (*record == records || !place_record(bytes, 4, size, *record, tensors, count))
            return NULL;
        bytes += size;
        ++*record;
    }
    return bytes;
}

/* Return (CRC-32, ((rows, whether all records have as many), ...)). */
static PyObject *summary(uint32_t value, const Tensor *tensors, Py_ssize_t count, Py_ssize_t records) {
    PyObject *heights = PyList_New(0);
    for (Py_ssize_t i = 0; heights != NULL && i < count; i++) {
        if (!tensors[i].is_ragged)
            continue;
        long long rows = ((int64_t *)tensors[i].offsets.buf)[records];
        PyObject *pair = Py_BuildValue("(LN)", rows, PyBool_FromLong(tensors[i].is_uniform));
        if (pair == NULL || PyList_Append(heights, pair) < 0)
            Py_CLEAR(heights);
        Py_XDECREF(pair);
    }
    return heights == NULL ? NULL : Py_BuildValue("(IN)", (unsigned int)value, heights);
}

/* ragged(fd, offset, size, records, tensors, scratch, room): `room` bytes of scratch are for the beginning of a record
   whose end is in the next piece. None when the file is too short or the records are others. */
static PyObject *ragged(PyObject *module, PyObject *args) {
    PyObject *given;
    Py_buffer scratch;
    int fd;
    long long offset;
    Py_ssize_t size, records, room, known = 0;
    Tensor tensors[MOST_COLUMNS];
    if (!PyArg_ParseTuple(args, "iLnnO!w*n", &fd, &offset, &size, &records, &PyTuple_Type, &given, &scratch, &room))
        return NULL;
    Py_ssize_t count = PyTuple_Size(given);
    if (size < 1 || records < 1 || count < 1 || count > MOST_COLUMNS || room < 0 || room >= scratch.len) {
        PyErr_SetString(PyExc_ValueError, "no records, no or too many tensors, or no room to read");
        count = 0;
    }
    while (known < count && get_tensor(PyTuple_GetItem(given, known), &tensors[known], records))
        known++;
    PyObject *result = NULL;
    if (!PyErr_Occurred()) {
        uint8_t *piece = (uint8_t *)scratch.buf + room;
        const uint8_t *next = piece;
        size_t most = (size_t)(scratch.len - room), left = (size_t)size;
        Py_ssize_t more = 0, done = 0;
        uint32_t value = ~0u;
        PyThreadState *state = PyEval_SaveThread();
        while (left && next != NULL) {
            size_t some = left < most ? left : most;
            more = read_whole(fd, piece, some, (off_t)offset, &state);
            if (more < 0 || (size_t)more < some) {
                next = NULL;
                break;
            }
            value = best_crc32(value, piece, some);
            offset += more;
            left -= some;
            next = place_records(next, piece + some, &done, records, tensors, count);
            size_t rest = next == NULL ? 0 : (size_t)(piece + some - next);
            if (rest > (size_t)room)
                next = NULL; /* a long record */
            else if (rest)
                next = memmove(piece - rest, next, rest);
            else if (next != NULL)
                next = piece;
        }
        int number = errno, fits = next == piece && done == records;
        PyEval_RestoreThread(state);
        if (more < 0)
            failed(number);
        else
            result = fits ? summary(~value, tensors, count, records) : Py_NewRef(Py_None);
    } else if (known < count) {
        known++; /* what it holds of the tensor that was refused */
    }
    release_tensors(tensors, known);
    PyBuffer_Release(&scratch);
    return result;
}
