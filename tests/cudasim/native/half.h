/* IEEE half precision in software, shared by the kernels' headers, the sort and the GEMM. */
#ifndef CUDASIM_HALF_H
#define CUDASIM_HALF_H
#include <stdint.h>
#include <string.h>

static inline float half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 1023, bits;
    if (exponent == 31) bits = sign | 0x7f800000u | (fraction << 13);
    else if (exponent) bits = sign | ((exponent + 112) << 23) | (fraction << 13);
    else if (!fraction) bits = sign;
    else { /* a subnormal half is a normal float */
        exponent = 113;
        while (!(fraction & 1024)) fraction <<= 1, exponent--;
        bits = sign | (exponent << 23) | ((fraction & 1023) << 13);
    }
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint16_t float_to_half(float value) { /* round to nearest, ties to even */
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00);  /* NaN */
    if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00); /* too large */
    if (bits < 0x33000001u) return sign;                       /* too small */
    int exponent = (int)(bits >> 23) - 127;
    uint32_t fraction = (bits & 0x7fffff) | 0x800000;
    int shift = exponent >= -14 ? 13 : 13 + (-14 - exponent);
    uint32_t kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), tie = 1u << (shift - 1);
    if (rest > tie || (rest == tie && (kept & 1))) kept++;
    return (uint16_t)(sign + (exponent >= -14 ? (((uint32_t)(exponent + 15) << 10) + kept - 1024) : kept));
}
#endif
