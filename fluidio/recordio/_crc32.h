/* CRC-32 (IEEE, reflected) by folding: 16 bytes move 64 or 256 bytes on by two carry-less products, and what is left in
   the end has the same remainder as the whole. The constants are powers of x modulo the polynomial, computed here. */

#include <stdint.h>
#include <string.h>

#define POLYNOMIAL 0xEDB88320u /* reflected: the highest power is the lowest bit */

static uint32_t table[256];
static uint64_t over_one[2], over_four[2], over_sixteen[2]; /* for the low and the high half of 16 bytes */

/* Return x^power modulo the polynomial, reflected, one bit up: what a carry-less product wants. */
static uint64_t power_of_x(int power) {
    uint32_t value = 1u << 31; /* x^0 */
    while (power--)
        value = value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
    return (uint64_t)value << 1;
}

static void set_distance(uint64_t keys[2], int bits) {
    keys[0] = power_of_x(bits + 32);
    keys[1] = power_of_x(bits - 32);
}

static void prepare_crc32(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
        table[byte] = value;
    }
    set_distance(over_one, 128);
    set_distance(over_four, 4 * 128);
    set_distance(over_sixteen, 16 * 128);
}

/* The functions below take and give the register, which is the complement of the checksum. */
static uint32_t by_bytes(uint32_t value, const uint8_t *at, size_t size) {
    for (; size; size--)
        value = value >> 8 ^ table[(value ^ *at++) & 0xFF];
    return value;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define FOLDS __attribute__((target("pclmul,avx")))
#define FOLDS_WIDE __attribute__((target("pclmul,vpclmulqdq,avx512f")))

static inline FOLDS __m128i moved(__m128i value, __m128i keys, __m128i onto) {
    __m128i low = _mm_clmulepi64_si128(value, keys, 0x00), high = _mm_clmulepi64_si128(value, keys, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

static FOLDS uint32_t by_folding(uint32_t value, const uint8_t *at, size_t size) {
    if (size < 64)
        return by_bytes(value, at, size);
    const __m128i *from = (const __m128i *)at;
    __m128i a = _mm_xor_si128(_mm_loadu_si128(from), _mm_cvtsi32_si128((int)value)), b = _mm_loadu_si128(from + 1);
    __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    __m128i keys = _mm_loadu_si128((const __m128i *)over_four);
    for (from += 4, size -= 64; size >= 64; from += 4, size -= 64) {
        a = moved(a, keys, _mm_loadu_si128(from));
        b = moved(b, keys, _mm_loadu_si128(from + 1));
        c = moved(c, keys, _mm_loadu_si128(from + 2));
        d = moved(d, keys, _mm_loadu_si128(from + 3));
    }
    keys = _mm_loadu_si128((const __m128i *)over_one);
    a = moved(moved(moved(a, keys, b), keys, c), keys, d);
    uint8_t left[16];
    _mm_storeu_si128((__m128i *)left, a);
    return by_bytes(by_bytes(0, left, 16), (const uint8_t *)from, size);
}

static inline FOLDS_WIDE __m512i moved_wide(__m512i value, __m512i keys, const uint8_t *onto) {
    __m512i low = _mm512_clmulepi64_epi128(value, keys, 0x00), high = _mm512_clmulepi64_epi128(value, keys, 0x11);
    return _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(onto), 0x96); /* exclusive or of the three */
}

static FOLDS_WIDE uint32_t by_wide_folding(uint32_t value, const uint8_t *at, size_t size) {
    if (size < 1024)
        return by_folding(value, at, size);
    __m512i a = _mm512_loadu_si512(at), b = _mm512_loadu_si512(at + 64);
    __m512i c = _mm512_loadu_si512(at + 128), d = _mm512_loadu_si512(at + 192);
    a = _mm512_xor_si512(a, _mm512_inserti32x4(_mm512_setzero_si512(), _mm_cvtsi32_si128((int)value), 0));
    __m512i keys = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)over_sixteen));
    for (at += 256, size -= 256; size >= 256; at += 256, size -= 256) {
        a = moved_wide(a, keys, at);
        b = moved_wide(b, keys, at + 64);
        c = moved_wide(c, keys, at + 128);
        d = moved_wide(d, keys, at + 192);
    }
    uint8_t left[256];
    _mm512_storeu_si512(left, a);
    _mm512_storeu_si512(left + 64, b);
    _mm512_storeu_si512(left + 128, c);
    _mm512_storeu_si512(left + 192, d);
    return by_folding(by_folding(0, left, sizeof left), at, size);
}
#endif

typedef uint32_t (*Crc32)(uint32_t value, const uint8_t *at, size_t size);

/* Return the fastest way of this processor that uses vectors of at most `bits`; by_bytes where there is no fast one. */
static Crc32 choose_crc32(int bits) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    int folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx");
    if (bits >= 512 && folds && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f"))
        return by_wide_folding;
    if (bits >= 128 && folds)
        return by_folding;
#else
    (void)bits;
#endif
    return by_bytes;
}
