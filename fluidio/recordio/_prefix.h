/* The prefix of a tensor: everything that stands before its data. */

#ifndef FLUIDIO_PREFIX_H
#define FLUIDIO_PREFIX_H

#include <stdint.h>
#include <string.h>

static uint32_t little32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t little64(const uint8_t *at) {
    return (uint64_t)little32(at) | (uint64_t)little32(at + 4) << 32;
}

/* What stands before the data of a tensor, the same in all records but for the height. */
typedef struct {
    const uint8_t *before; /* up to the height in the LoD, or to the TensorDesc's framing if there is no LoD */
    uint64_t before_size;
    int has_lod;
    const uint8_t *start; /* of the TensorDesc, up to the height */
    uint64_t start_size;
    const uint8_t *tail; /* of the TensorDesc, behind the height */
    uint64_t tail_size;
    uint64_t row_size;
} Pattern;

/* Read one prefix at `at` of a record that ends at `end`; 0 when it looks otherwise. */
static int read_prefix(const uint8_t *bytes, uint64_t at, uint64_t end, const Pattern *like, int64_t *rows,
                       int64_t *first, int64_t *last) {
    uint64_t framing = like->before_size + 8 * (uint64_t)like->has_lod + 8 + like->start_size;
    if (end - at < framing || memcmp(bytes + at, like->before, like->before_size) != 0)
        return 0;
    at += like->before_size;
    uint64_t sequence = 0;
    if (like->has_lod) {
        sequence = little64(bytes + at);
        at += 8;
    }
    uint64_t desc_size = little32(bytes + at + 4);
    if (little32(bytes + at) != 0 || memcmp(bytes + at + 8, like->start, like->start_size) != 0)
        return 0;
    uint64_t desc = at + 8;
    at = desc + like->start_size;
    uint64_t height = 0;
    for (int shift = 0;; shift += 7) {
        if (at >= end || shift > 28)
            return 0;
        uint8_t digit = bytes[at++];
        height |= (uint64_t)(digit & 0x7F) << shift;
        if (digit < 0x80) {
            if (digit == 0 && shift)
                return 0; /* longer than it need be: left to those who look closer */
            break;
        }
    }
    if (end - at < like->tail_size || memcmp(bytes + at, like->tail, like->tail_size) != 0)
        return 0;
    at += like->tail_size;
    if (at - desc != desc_size || (like->has_lod && sequence != height) || height > (end - at) / like->row_size)
        return 0;
    *rows = (int64_t)height;
    *first = (int64_t)at;
    *last = (int64_t)(at + height * like->row_size);
    return 1;
}

#endif
