/* Functions of single elements, and their gradients; included once for each set of instructions. */

typedef float NAME(lanes) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(whole) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define V NAME(lanes)
#define I NAME(whole)
#define DEFINE(name) TARGET static inline V NAME(name)
#define EACH(name) NAME(name)

/* Where `yes` is all ones the first vector, else the second. */
DEFINE(choose)(I yes, V one, V other) { return (V)(((I)one & yes) | ((I)other & ~yes)); }

/* 1 where `yes` is all ones, else 0. */
DEFINE(ones)(I yes) { return (V)((I)((V){0} + 1.0f) & yes); }

DEFINE(magnitude)(V x) { return (V)((I)x & 0x7FFFFFFF); }

/* The magnitude of one vector with the signs of the other. */
DEFINE(signed_as)(V x, V other) { return (V)(((I)x & 0x7FFFFFFF) | ((I)other & ~0x7FFFFFFF)); }

/* X, at least `low` and at most `high`; NaN stays. */
DEFINE(clipped)(V x, float low, float high) {
    x = EACH(choose)((I)(x < low), (V){0} + low, x);
    return EACH(choose)((I)(x > high), (V){0} + high, x);
}

/* exp(x) = 2^n (p + 1): return p and set n, a whole number; NaN gives NaN. */
DEFINE(power_parts)(V x, V *n) {
    x = EACH(clipped)(x, -104.0f, 88.8f);
    V shifted = x * 1.44269504088896341f, whole = __builtin_convertvector(__builtin_convertvector(shifted, I), V);
    whole += __builtin_convertvector((I)(whole > shifted), V); /* rounded down: true is -1 */
    whole += EACH(ones)((I)(shifted - whole > 0.5f));
    V rest = x - whole * 0.693359375f;
    rest = rest - whole * -2.12194440e-4f;
    V sum = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    *n = whole;
    return sum * (rest * rest) + rest;
}

/* 2^n for whole numbers from -126 to 127. */
DEFINE(two_to)(I n) { return (V)((n + 127) << 23); }

DEFINE(exp)(V x) {
    V n, part = EACH(power_parts)(x, &n);
    I all = __builtin_convertvector(n, I), half = all >> 1;
    return (part + 1.0f) * EACH(two_to)(half) * EACH(two_to)(all - half); /* two steps: to infinity, to denormals */
}

/* exp(x) - 1 for x up to 0, exact near 0. */
DEFINE(expm1)(V x) {
    V n, part = EACH(power_parts)(EACH(clipped)(x, -40.0f, 0.0f), &n), scale = EACH(two_to)(__builtin_convertvector(n, I));
    return part * scale + (scale - 1.0f);
}

/* 1 - exp(-x), exact near 0. */
DEFINE(lost)(V x) { return EACH(choose)((I)(x > 0.0f), -EACH(expm1)(-x), 1.0f - EACH(exp)(-x)); }

/* log(1 + y) for y from 0 to 1. */
DEFINE(log1p)(V y) {
    V sum = y * 2.08994e-3f - 1.370611e-2f;
    sum = sum * y + 4.211288e-2f;
    sum = sum * y - 8.318864e-2f;
    sum = sum * y + 1.2471554e-1f;
    sum = sum * y - 1.6129073e-1f;
    sum = sum * y + 1.9897014e-1f;
    sum = sum * y - 2.4988235e-1f;
    sum = sum * y + 3.3332635e-1f;
    sum = sum * y - 4.9999984e-1f;
    return sum * y * y + y;
}

/* erf(x): an odd polynomial up to 1, beyond it one minus the exponential of another. */
DEFINE(erf)(V x) {
    V t = EACH(clipped)(EACH(magnitude)(x), 0.0f, 4.0f), s = x * x;
    V near = s * 7.88911366e-5f - 8.02083984e-4f;
    near = near * s + 5.18953522e-3f;
    near = near * s - 2.68544446e-2f;
    near = near * s + 1.12836002e-1f;
    near = near * s - 3.76126271e-1f;
    near = near * s + 1.2837917e-1f;
    near = near * x + x;
    V far = t * 1.85575927e-4f - 2.93962603e-3f;
    far = far * t + 2.18053929e-2f;
    far = far * t - 1.03037524e-1f;
    far = far * t - 6.38225500e-1f;
    far = far * t - 1.12704014f;
    far = far * t - 3.53693374e-4f;
    return EACH(choose)((I)(t > 1.0f), EACH(signed_as)(1.0f - EACH(exp)(far), x), near);
}

DEFINE(sigmoid)(V x) { return 1.0f / (1.0f + EACH(exp)(-x)); }

/* tanh(x), exact to the last digits of 1. */
DEFINE(tanh)(V x) { return 1.0f - 2.0f / (1.0f + EACH(exp)(2.0f * x)); }

DEFINE(softplus)(V x) {
    return EACH(choose)((I)(x > 0.0f), x, (V){0}) + EACH(log1p)(EACH(exp)(-EACH(magnitude)(x)));
}

#define ROOT_HALF 0.70710678f
#define ROOT_2_PI 0.79788456f /* the root of 2 / pi */

DEFINE(gelu_bent)(V x) { return ROOT_2_PI * (x + 0.044715f * x * x * x); }

DEFINE(gelu_grad)(V x) {
    V density = EACH(exp)(-0.5f * x * x) * 0.39894228f;
    return 0.5f * (1.0f + EACH(erf)(x * ROOT_HALF)) + x * density;
}

DEFINE(gelu_approximate_grad)(V x) {
    V t = EACH(tanh)(EACH(gelu_bent)(x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * ROOT_2_PI * (1.0f + 0.134145f * x * x);
}

DEFINE(swish_grad)(V x, float beta) {
    V s = EACH(sigmoid)(beta * x);
    return s + beta * x * s * (1.0f - s);
}

DEFINE(hard_swish_grad)(V x, float threshold, float scale, float offset) {
    V shifted = x + offset;
    V inside = EACH(ones)((I)(shifted > 0.0f) & (I)(shifted < threshold));
    return (2.0f * x + offset) / scale * inside + EACH(ones)((I)(shifted >= threshold));
}

DEFINE(elu)(V x, float alpha) { return EACH(choose)((I)(x > 0.0f), x, alpha * EACH(expm1)(x)); }

DEFINE(elu_grad)(V x, float alpha) {
    return EACH(choose)((I)(x > 0.0f), (V){0} + 1.0f, alpha * EACH(exp)(EACH(clipped)(x, -104.0f, 0.0f)));
}

DEFINE(within)(V x, float low, float high) { return EACH(ones)((I)(x > low) & (I)(x < high)); }

DEFINE(steeper)(V x, V other) { return EACH(choose)((I)(x < other), other, x); }

/* X where `yes` is all ones, else 0. */
DEFINE(kept)(I yes, V x) { return (V)((I)x & yes); }

/* X without its fraction; numbers of 2^23 and more have none. */
DEFINE(whole_part)(V x) {
    V whole = __builtin_convertvector(__builtin_convertvector(x, I), V);
    return EACH(choose)((I)(EACH(magnitude)(x) < 8388608.0f), EACH(signed_as)(whole, x), x);
}

/* X rounded, halves away from zero. */
DEFINE(rounded)(V x) {
    V whole = EACH(whole_part)(x);
    return EACH(signed_as)(EACH(magnitude)(whole) + EACH(ones)((I)(EACH(magnitude)(x - whole) >= 0.5f)), x);
}

/* 0 where the whole part of a label is `ignored`, else 1. */
DEFINE(unlike)(V label, float ignored) { return EACH(ones)((I)(EACH(whole_part)(label) != ignored)); }

DEFINE(huber)(V x, float delta) {
    V size = EACH(magnitude)(x);
    return EACH(choose)((I)(size <= delta), 0.5f * x * x, delta * (size - 0.5f * delta));
}

DEFINE(sign)(V x) { return EACH(choose)((I)(x == x), EACH(ones)((I)(x > 0.0f)) - EACH(ones)((I)(x < 0.0f)), x); }

DEFINE(huber_grad)(V x, float delta) {
    return EACH(choose)((I)(EACH(magnitude)(x) <= delta), x, EACH(sign)(x) * delta);
}

/* Set `to` to a function of X, or of X and D; lanes behind the end are computed for nothing. */
#define LOOP(expression)                                                                                               \
    for (; at + LANES <= count; at += LANES) {                                                                         \
        V x = *(const V *)(from + at), d = *(const V *)(other + at);                                                   \
        (void)d;                                                                                                       \
        *(V *)(to + at) = expression;                                                                                  \
    }                                                                                                                  \
    if (at < count) {                                                                                                  \
        V x = {0}, d = {0}, last;                                                                                      \
        memcpy(&x, from + at, 4 * (size_t)(count - at));                                                               \
        memcpy(&d, other + at, 4 * (size_t)(count - at));                                                              \
        last = expression;                                                                                             \
        memcpy(to + at, &last, 4 * (size_t)(count - at));                                                              \
    }                                                                                                                  \
    break;

#define CASE(name, expression)                                                                                         \
    case NUMBER_##name:                                                                                                \
        LOOP(expression)

TARGET static void NAME(curve)(int number, const float *from, const float *other, float *to, Py_ssize_t count, float a,
                               float b, float c) {
    Py_ssize_t at = 0;
    switch (number) { CURVES(CASE) }
}

#undef CASE
#undef LOOP
#undef DEFINE
#undef EACH
#undef I
