/* Decompress the snappy blocks of a chunk in one go: cramjam does them one by one, and each time the interpreter lock
   has to be had again. compressors.py uses it where it could be compiled.

   A block is its size as a varint, then elements: a literal, or a copy of what was written up to 4 GiB before. The low
   two bits of an element's first byte say which, see `elements`.
*/

#include "../_python.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAGIC "snappy" /* and the zero behind it */
#define MAGIC_SIZE 7
#define HEAD_SIZE 7 /* of a block in Fluid's streams: u8 flag, u16 length, u32 checksum, big-endian */

#define INPUT_ROOM 32  /* bytes that an element may read past its own without a look */
#define OUTPUT_ROOM 96 /* and write */

typedef struct {
    uint8_t length; /* of a copy, or of a literal up to 60 bytes */
    uint8_t extra;  /* bytes of the offset that follow */
    uint16_t high;  /* bits of the offset that stand in the first byte */
    uint32_t mask;  /* for the four bytes that follow */
} Element;

static Element elements[256];

static void make_elements(void) {
    for (unsigned tag = 0; tag < 256; tag++) {
        unsigned value = tag >> 2;
        switch (tag & 3) {
        case 0:
            elements[tag] = (Element){(uint8_t)(value + 1), 0, 0, 0};
            break;
        case 1:
            elements[tag] = (Element){(uint8_t)(4 + (value & 7)), 1, (uint16_t)(tag >> 5 << 8), 0xFF};
            break;
        case 2:
            elements[tag] = (Element){(uint8_t)(value + 1), 2, 0, 0xFFFF};
            break;
        default:
            elements[tag] = (Element){(uint8_t)(value + 1), 4, 0, 0xFFFFFFFF};
        }
    }
}

static inline void copy8(uint8_t *to, const uint8_t *from) {
    uint64_t word;
    memcpy(&word, from, 8);
    memcpy(to, &word, 8);
}

static inline uint32_t little32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t little(const uint8_t *at, unsigned count) {
    uint32_t word = 0;
    for (unsigned i = 0; i < count; i++)
        word |= (uint32_t)at[i] << 8 * i;
    return word;
}

/* Copy what was written `offset` bytes before; up to 31 bytes behind the copy are overwritten as well.
   No branch for lengths up to 32: a processor cannot guess them, and that would cost more than the bytes. */
static inline void copy_back(uint8_t *to, size_t offset, unsigned length) {
    static const uint8_t repeats[8] = {0, 8, 8, 9, 8, 10, 12, 14}; /* the first multiple of the offset from 8 on */
    const uint8_t *from = to - offset;
    if (offset < 8) {
        for (unsigned i = 0; i < 8; i++)
            to[i] = from[i];
        from = to - repeats[offset]; /* the same bytes as at `from`, now far enough before */
        for (unsigned i = 8; i < length; i += 8)
            copy8(to + i, from + i);
        return;
    }
    copy8(to, from);
    copy8(to + 8, from + 8);
    copy8(to + 16, from + 16);
    copy8(to + 24, from + 24);
    for (unsigned i = 32; i < length; i += 8)
        copy8(to + i, from + i);
}

/* Return how many bytes the block becomes, -1 when it is none or becomes more than `room`. */
static int64_t decompress(const uint8_t *in, const uint8_t *in_end, uint8_t *target, uint64_t room) {
    uint64_t size = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (in == in_end || shift > 28)
            return -1;
        size |= (uint64_t)(*in & 0x7F) << shift;
        if (*in++ < 0x80)
            break;
    }
    if (size > room)
        return -1;
    uint8_t *out = target, *out_end = target + size;
    while (in < in_end) {
        unsigned tag = *in;
        while (in_end - in >= INPUT_ROOM && out_end - out >= OUTPUT_ROOM) {
            Element element = elements[tag];
            unsigned kind = tag & 3;
            if (kind == 1 || kind == 2) {
                size_t offset = (little32(in + 1) & element.mask) | element.high;
                if (offset - 1 >= (size_t)(out - target)) /* 0 is wrong as well */
                    return -1;
                /* Both bytes that may be the next tag are loaded before it is known which, without a branch. */
                unsigned near = in[2], far = in[3], is_near = kind & 1;
                in += 3 - is_near;
                tag = far ^ ((near ^ far) & (0u - is_near));
                copy_back(out, offset, element.length);
                out += element.length;
            } else if (kind == 0 && element.length <= 16) {
                copy8(out, in + 1);
                copy8(out + 8, in + 9);
                in += 1 + element.length;
                out += element.length;
                tag = *in;
            } else {
                break;
            }
        }
        Element element = elements[tag]; /* a long one, or near an end: with care */
        in++;
        if (tag & 3) {
            if (in_end - in < element.extra)
                return -1;
            size_t offset = little(in, element.extra) | element.high;
            in += element.extra;
            if (offset - 1 >= (size_t)(out - target) || element.length > out_end - out)
                return -1;
            for (unsigned i = 0; i < element.length; i++)
                out[i] = (out - offset)[i];
            out += element.length;
            continue;
        }
        uint64_t length = element.length;
        if (length > 60) {
            unsigned count = (unsigned)length - 60; /* bytes of the length that follow */
            if (in_end - in < (ptrdiff_t)count)
                return -1;
            length = (uint64_t)little(in, count) + 1;
            in += count;
        }
        if (length > (uint64_t)(in_end - in) || length > (uint64_t)(out_end - out))
            return -1;
        memcpy(out, in, (size_t)length);
        in += length;
        out += length;
    }
    return out == out_end ? (int64_t)size : -1;
}

/* decompress(stored, blocks, limit, target) -> blocks done. `blocks` has four numbers for each: 0 if it is stored as it
   is, else 1; one that is left alone; its start and its stop. The second becomes the block's size, at most `limit`. */
static PyObject *decompress_blocks(PyObject *module, PyObject *args) {
    Py_buffer stored, blocks, target;
    Py_ssize_t limit;
    if (!PyArg_ParseTuple(args, "y*w*nw*", &stored, &blocks, &limit, &target))
        return NULL;
    Py_ssize_t count = blocks.len / 32, index = 0;
    if (blocks.itemsize != 8 || blocks.len % 32 || limit < 0)
        PyErr_SetString(PyExc_ValueError, "blocks must be four numbers of 8 bytes each, limit not negative");
    else {
        const uint8_t *in = stored.buf;
        uint8_t *out = target.buf;
        Py_ssize_t room = target.len;
        Py_BEGIN_ALLOW_THREADS
        for (int64_t *block = blocks.buf; index < count; index++, block += 4) {
            int64_t start = block[2], stop = block[3], most = room < limit ? room : limit, size = stop - start;
            if (start < 0 || stop < start || stop > stored.len)
                break;
            if (block[0])
                size = decompress(in + start, in + stop, out, (uint64_t)most);
            else if (size <= most)
                memcpy(out, in + start, (size_t)size);
            else
                size = -1;
            if (size < 0)
                break;
            block[1] = size;
            out += size;
            room -= (Py_ssize_t)size;
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&stored);
    PyBuffer_Release(&blocks);
    PyBuffer_Release(&target);
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(index);
}

/* blocks(stored, table, limit) -> how many blocks a stream of Fluid's has, -1 when something is wrong with it. As many
   as fit go into the table, each as four numbers: flag, checksum, start, stop. */
static PyObject *find_blocks(PyObject *module, PyObject *args) {
    Py_buffer stored, table;
    Py_ssize_t limit, count = -1;
    if (!PyArg_ParseTuple(args, "y*w*n", &stored, &table, &limit))
        return NULL;
    if (table.itemsize != 8 || table.len % 32)
        PyErr_SetString(PyExc_ValueError, "the table must have four numbers of 8 bytes for each block");
    else if (stored.len >= MAGIC_SIZE && memcmp(stored.buf, MAGIC, MAGIC_SIZE) == 0) {
        const uint8_t *bytes = stored.buf;
        int64_t *row = table.buf, *end = row + table.len / 8;
        Py_ssize_t at = MAGIC_SIZE;
        for (count = 0; at < stored.len;) {
            const uint8_t *head = bytes + at;
            if (stored.len - at < HEAD_SIZE) {
                count = -1;
                break;
            }
            at += HEAD_SIZE;
            if (memcmp(head, MAGIC, MAGIC_SIZE) == 0)
                continue; /* concatenated streams repeat it, and it is as long as a head */
            Py_ssize_t length = head[1] << 8 | head[2];
            if (length == 0 || length > limit || length > stored.len - at) {
                count = -1;
                break;
            }
            if (row < end) {
                row[0] = head[0];
                row[1] = (int64_t)((uint32_t)head[3] << 24 | (uint32_t)head[4] << 16 | (uint32_t)head[5] << 8 | head[6]);
                row[2] = at;
                row[3] = at + length;
                row += 4;
            }
            at += length;
            count++;
        }
    }
    PyBuffer_Release(&stored);
    PyBuffer_Release(&table);
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(count);
}

static PyMethodDef functions[] = {{"blocks", find_blocks, METH_VARARGS, NULL},
                                  {"decompress", decompress_blocks, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_snappy", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__snappy(void) {
    make_elements();
    return PyModuleDef_Init(&definition);
}
