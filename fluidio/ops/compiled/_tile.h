/* The tile of a matrix product, all of it in registers: HIGH rows of up to WIDE vectors of LANES floats.

   Included once for each set of instructions, after NAME(x), TARGET, LANES, WIDE and HIGH are defined. Each element is
   the sum of its products in order, wherever it lies in a tile; so results do not depend on how work is divided.
*/

typedef float NAME(vector) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define V NAME(vector)
#define PANEL (LANES * WIDE)

#define DEFINE_TILE(vectors)                                                                                           \
    TARGET static void NAME(tile##vectors)(Py_ssize_t depth, const float *a, Py_ssize_t a_row, Py_ssize_t a_step,      \
                                           const float *b, Py_ssize_t b_step, float *c, Py_ssize_t c_row, int add) {   \
        V sum[HIGH][vectors];                                                                                          \
        for (int i = 0; i < HIGH; i++)                                                                                 \
            for (int j = 0; j < vectors; j++)                                                                          \
                sum[i][j] = (V){0};                                                                                    \
        for (Py_ssize_t k = 0; k < depth; k++, a += a_step, b += b_step) {                                             \
            V right[vectors];                                                                                          \
            for (int j = 0; j < vectors; j++)                                                                          \
                right[j] = *(const V *)(b + j * LANES);                                                                \
            for (int i = 0; i < HIGH; i++) {                                                                           \
                float left = a[i * a_row];                                                                             \
                for (int j = 0; j < vectors; j++)                                                                      \
                    sum[i][j] += left * right[j];                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        for (int i = 0; i < HIGH; i++)                                                                                 \
            for (int j = 0; j < vectors; j++) {                                                                        \
                V *to = (V *)(c + i * c_row + j * LANES), before = add ? *to : (V){0};                                 \
                *to = before + sum[i][j];                                                                              \
            }                                                                                                          \
    }

/* Set HIGH rows of C, up to PANEL wide, to the product of A and B, or add it: sums of sums round less than long ones. */
DEFINE_TILE(1)
DEFINE_TILE(2)
#if WIDE > 2
DEFINE_TILE(3)
#endif

TARGET static inline void NAME(tile)(Py_ssize_t width, Py_ssize_t depth, const float *a, Py_ssize_t a_row,
                                     Py_ssize_t a_step, const float *b, Py_ssize_t b_step, float *c, Py_ssize_t c_row,
                                     int add) {
    if (width <= LANES)
        NAME(tile1)(depth, a, a_row, a_step, b, b_step, c, c_row, add);
    else if (WIDE == 2 || width <= 2 * LANES)
        NAME(tile2)(depth, a, a_row, a_step, b, b_step, c, c_row, add);
#if WIDE > 2
    else
        NAME(tile3)(depth, a, a_row, a_step, b, b_step, c, c_row, add);
#endif
}
