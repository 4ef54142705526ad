/* Values become records at once, as they lie in a chunk: each behind its length, a tensor for each slot. Included by
   _rows.c alone; recordio/write/encode.py says what a tensor is made of.

   How many rows a tensor has stands before its values, as a number of one to ten digits of 7 bits. There will be as many
   digits as in the row before; if not, the values move. Lists of lists are collected in the slot first.
*/

#include "_row_values.h"

#define LENGTHS 8               /* bytes before a record: its length and its number of slots */
#define MOST_DIGITS 10
#define LARGEST 0xE0000000      /* bytes of a record, as in writer.py */
#define SEQUENCE (4 + 8 + 24)   /* version, number of levels, and one level of one sequence */
#define DESC 8                  /* version, and the size of the description that follows */

static inline void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }
static inline void put64(uint8_t *at, uint64_t value) { memcpy(at, &value, sizeof value); }

static inline Py_ssize_t count_digits(uint64_t value) {
    Py_ssize_t count = 1;
    for (; value >= 0x80; value >>= 7)
        count++;
    return count;
}

static inline uint8_t *put_digits(uint8_t *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline int make_sure(Bytes *bytes, Py_ssize_t more) {
    return bytes->array != NULL && more <= bytes->room - bytes->size ? DONE : make_room(bytes, more);
}

/* Make what stands before the values of each record, up to the number of rows and behind it. */
static int set_head(Slot *slot, PyObject *start, PyObject *tail) {
    char *first, *last;
    Py_ssize_t first_size, last_size;
    if (PyBytes_AsStringAndSize(start, &first, &first_size) < 0 || PyBytes_AsStringAndSize(tail, &last, &last_size) < 0)
        return ERROR;
    uint8_t *at = slot->head = PyMem_Calloc(1, (size_t)(SEQUENCE + DESC + 1 + first_size + last_size));
    if (at == NULL) {
        PyErr_NoMemory();
        return ERROR;
    }
    if (slot->depth == 0) {
        at += 12;
    } else if (slot->depth == 1) {
        put64(at + 4, 1);
        put64(at + 12, 16);
        at += SEQUENCE;
    }
    put32(at + 4, (uint32_t)(first_size + 1 + last_size));
    memcpy(at + DESC, first, (size_t)first_size);
    at += DESC + first_size;
    if (slot->depth == 0)
        *at++ = 1;
    memcpy(at, last, (size_t)last_size);
    slot->tail = at - slot->head;
    slot->tail_size = last_size;
    slot->digits = 1;
    return DONE;
}

/* Leave room for what stands before the values of a tensor; begin it if that is known. */
static inline int begin_tensor(Slot *slot, Bytes *records) {
    if (slot->depth == 2) {
        slot->data.size = slot->inner.size = 0;
        return DONE;
    }
    Py_ssize_t size = slot->tail + slot->tail_size + (slot->depth ? slot->digits : 0);
    if (make_sure(records, size) < 0)
        return ERROR;
    if (slot->depth == 0)
        memcpy(records->data + records->size, slot->head, (size_t)size);
    records->size += size;
    return DONE;
}

/* Write a head, whose description begins `desc` bytes behind it. */
static void put_head(uint8_t *at, Py_ssize_t desc, const Slot *slot, uint64_t rows) {
    memcpy(at, slot->head, (size_t)slot->tail);
    uint8_t *end = put_digits(at + slot->tail, rows);
    memcpy(end, slot->head + slot->tail, (size_t)slot->tail_size);
    put32(at + desc + 4, (uint32_t)(end + slot->tail_size - (at + desc + DESC)));
}

/* One sequence: its values are there, behind room for a head. */
static inline int end_sequence(Slot *slot, Bytes *records) {
    Py_ssize_t size = records->size - slot->data_mark;
    uint64_t rows = (uint64_t)(size / slot->item);
    Py_ssize_t digits = count_digits(rows), more = digits - slot->digits;
    if (more) {
        if (make_sure(records, MOST_DIGITS) < 0)
            return ERROR;
        memmove(records->data + slot->data_mark + more, records->data + slot->data_mark, (size_t)size);
        records->size += more;
        slot->data_mark += more;
        slot->digits = digits;
    }
    uint8_t *at = (uint8_t *)records->data + slot->data_mark - slot->tail - digits - slot->tail_size;
    put_head(at, SEQUENCE, slot, rows);
    put64(at + 28, rows);
    return DONE;
}

/* Two levels: the slot has the values, and where each list ends. */
static int end_lists(Slot *slot, Bytes *records) {
    uint64_t rows = (uint64_t)(slot->data.size / slot->item), lists = (uint64_t)(slot->inner.size / 8);
    Py_ssize_t levels = SEQUENCE + 16 + slot->inner.size, head = slot->tail + count_digits(rows) + slot->tail_size;
    if (make_sure(records, levels + head + slot->data.size) < 0)
        return ERROR;
    uint8_t *at = (uint8_t *)records->data + records->size;
    put32(at, 0);
    put64(at + 4, 2);
    put64(at + 12, 16);
    put64(at + 20, 0);
    put64(at + 28, lists);
    put64(at + 36, 8 * (lists + 1));
    put64(at + 44, 0);
    if (lists)
        memcpy(at + 52, slot->inner.data, (size_t)slot->inner.size);
    put_head(at + levels, 0, slot, rows);
    if (rows)
        memcpy(at + levels + head, slot->data.data, (size_t)slot->data.size);
    records->size += levels + head + slot->data.size;
    return DONE;
}

static inline int end_tensor(Slot *slot, Bytes *records) {
    return slot->depth == 0 ? DONE : slot->depth == 1 ? end_sequence(slot, records) : end_lists(slot, records);
}

/* Begin a record, and end it once its tensors are there. */
static inline int begin_record(Bytes *records) {
    if (make_sure(records, LENGTHS) < 0)
        return ERROR;
    records->size += LENGTHS;
    return DONE;
}

static inline int end_record(Bytes *records, Py_ssize_t start, Py_ssize_t slots) {
    Py_ssize_t size = records->size - start - 4;
    if (size > (Py_ssize_t)LARGEST) {
        PyErr_Format(PyExc_ValueError, "a record of %zd bytes: the format holds at most %zd", size, (Py_ssize_t)LARGEST);
        return ERROR;
    }
    put32((uint8_t *)records->data + start, (uint32_t)size);
    put32((uint8_t *)records->data + start + 4, (uint32_t)slots);
    return DONE;
}
