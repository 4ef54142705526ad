/* Four floats at a time: `four`, MIX, which picks elements of two by number, and `turn_four`. */

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
#if defined(__clang__)
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t choice __attribute__((vector_size(16)));
#define MIX(a, b, ...) __builtin_shuffle(a, b, (choice){__VA_ARGS__})
#endif

/* Arrange 4 x 4 floats: lines at `line`, counted from `from`, become columns of `to`. */
static inline void turn_four(const float *from, const Py_ssize_t *line, float *to, Py_ssize_t to_row) {
    four a = *(const four *)(from + line[0]), b = *(const four *)(from + line[1]);
    four c = *(const four *)(from + line[2]), d = *(const four *)(from + line[3]);
    four ab = MIX(a, b, 0, 4, 1, 5), cd = MIX(c, d, 0, 4, 1, 5);
    *(four *)to = MIX(ab, cd, 0, 1, 4, 5);
    *(four *)(to + to_row) = MIX(ab, cd, 2, 3, 6, 7);
    ab = MIX(a, b, 2, 6, 3, 7), cd = MIX(c, d, 2, 6, 3, 7);
    *(four *)(to + 2 * to_row) = MIX(ab, cd, 0, 1, 4, 5);
    *(four *)(to + 3 * to_row) = MIX(ab, cd, 2, 3, 6, 7);
}
