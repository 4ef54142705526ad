// __half for kernels on the host: storage, conversions, arithmetic through float.
#pragma once
#include "../half.h"

struct __half_raw {
    unsigned short x;
};
struct __half {
    uint16_t x;
    __half() = default;
    __half(float value) : x(float_to_half(value)) {}
    __half(const __half_raw &raw) : x(raw.x) {}
    explicit __half(bool value) : __half((float)value) {}
    explicit __half(double value) : __half((float)value) {}
    explicit __half(int value) : __half((float)value) {}
    explicit __half(unsigned value) : __half((float)value) {}
    explicit __half(long long value) : __half((float)value) {}
    explicit __half(unsigned long long value) : __half((float)value) {}
    operator float() const { return half_to_float(x); }
    operator __half_raw() const { return {x}; }
};
typedef __half half;
inline unsigned short __half_as_ushort(__half value) { return value.x; }
inline __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }
inline float __half2float(__half value) { return half_to_float(value.x); }
inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __half(value); }
inline __half __double2half(double value) { return __half((float)value); }
