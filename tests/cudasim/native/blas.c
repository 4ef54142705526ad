/* The part of cuBLAS that matmul, dot, tensordot and einsum use, on the host. A library of its own (libcublas.so.12):
 * every other function that CuPy's module links against is generated as a stub that reports "not supported". */
#include "half.h"
#include "sim.h"
#include <stdlib.h>

enum { REAL_32 = 0, REAL_64 = 1, REAL_16 = 2, NOT_SUPPORTED = 15, NO_TRANSPOSE = 0 };

typedef struct {
    intptr_t stream;
    int pointer_mode, math_mode;
} Handle;

typedef struct { /* C[m,n] = alpha * op(A)[m,k] @ op(B)[k,n] + beta * C, column major */
    int ta, tb, m, n, k, lda, ldb, ldc;
    int a_type, b_type, c_type, batch;
    long a_step, b_step, c_step; /* elements from one matrix of the batch to the next */
    const void *a, *b;
    void *c;
    const void *const *a_list, *const *b_list; /* or lists of matrices, in device memory */
    void *const *c_list;
    double alpha, beta;
} Gemm;

static size_t item(int type) { return type == REAL_64 ? 8 : type == REAL_32 ? 4 : 2; }
static double load(const void *p, int type, long i) {
    if (type == REAL_32) return ((const float *)p)[i];
    return type == REAL_64 ? ((const double *)p)[i] : half_to_float(((const uint16_t *)p)[i]);
}
static void store(void *p, int type, long i, double value) {
    if (type == REAL_32) ((float *)p)[i] = (float)value;
    else if (type == REAL_64) ((double *)p)[i] = value;
    else ((uint16_t *)p)[i] = float_to_half((float)value);
}

/* Rows of op(A) and columns of op(B) as contiguous doubles: then an element of C is one plain dot product. */
static double *pack(const void *p, int type, int rows, int k, long row_step, long k_step) {
    double *out = malloc(sizeof(double) * (size_t)rows * (size_t)k + 8);
    for (long r = 0; r < rows; r++)
        for (long l = 0; l < k; l++) out[r * k + l] = load(p, type, r * row_step + l * k_step);
    return out;
}

static void multiply(const Gemm *g, const void *a, const void *b, void *c) {
    double *rows = pack(a, g->a_type, g->m, g->k, g->ta ? g->lda : 1, g->ta ? 1 : g->lda);
    double *columns = pack(b, g->b_type, g->n, g->k, g->tb ? 1 : g->ldb, g->tb ? g->ldb : 1);
    for (long j = 0; j < g->n; j++)
        for (long i = 0; i < g->m; i++) {
            const double *x = rows + i * g->k, *y = columns + j * g->k;
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            long l = 0;
            for (; l + 4 <= g->k; l += 4) s0 += x[l] * y[l], s1 += x[l + 1] * y[l + 1], s2 += x[l + 2] * y[l + 2], s3 += x[l + 3] * y[l + 3];
            for (; l < g->k; l++) s0 += x[l] * y[l];
            long at = i + j * g->ldc;
            double old = g->beta != 0 ? g->beta * load(c, g->c_type, at) : 0; /* beta 0: C may hold anything */
            store(c, g->c_type, at, g->alpha * (s0 + s1 + s2 + s3) + old);
        }
    free(rows);
    free(columns);
}

static void run_gemm(void *arg) {
    Gemm *g = arg;
    for (long q = 0; q < g->batch; q++)
        multiply(g, g->a_list ? g->a_list[q] : (const char *)g->a + q * g->a_step * (long)item(g->a_type),
                 g->b_list ? g->b_list[q] : (const char *)g->b + q * g->b_step * (long)item(g->b_type),
                 g->c_list ? g->c_list[q] : (char *)g->c + q * g->c_step * (long)item(g->c_type));
    free(g);
}

static size_t extent(long batch, long step, long ld, long columns, long rows, int type) {
    return (size_t)((batch - 1) * step + ld * (columns - 1) + rows) * item(type);
}

static int submit(Handle *h, Gemm g) {
    if (g.a_type > REAL_16 || g.b_type > REAL_16 || g.c_type > REAL_16 || h->pointer_mode) return NOT_SUPPORTED;
    if (!g.m || !g.n || !g.batch) return 0;
    Range ranges[3] = {
        {(uintptr_t)g.a, extent(g.batch, g.a_step, g.lda, g.ta ? g.m : g.k, g.ta ? g.k : g.m, g.a_type), 0},
        {(uintptr_t)g.b, extent(g.batch, g.b_step, g.ldb, g.tb ? g.k : g.n, g.tb ? g.n : g.k, g.b_type), 0},
        {(uintptr_t)g.c, extent(g.batch, g.c_step, g.ldc, g.n, g.m, g.c_type), 1},
    };
    Gemm *kept = malloc(sizeof g);
    *kept = g;
    return sim_enqueue(h->stream, "gemm", run_gemm, kept, g.a_list || !g.k ? 0 : 3, ranges) ? 1 : 0;
}

/* ---- the handle ---- */
int cublasCreate_v2(Handle **h) {
    *h = calloc(1, sizeof **h);
    return 0;
}
int cublasDestroy_v2(Handle *h) {
    free(h);
    return 0;
}
int cublasGetVersion_v2(Handle *h, int *version) {
    *version = 120900;
    return 0;
}
int cublasSetStream_v2(Handle *h, intptr_t stream) {
    h->stream = stream;
    return 0;
}
int cublasGetStream_v2(Handle *h, intptr_t *stream) {
    *stream = h->stream;
    return 0;
}
int cublasSetPointerMode_v2(Handle *h, int mode) {
    h->pointer_mode = mode;
    return 0;
}
int cublasGetPointerMode_v2(Handle *h, int *mode) {
    *mode = h->pointer_mode;
    return 0;
}
int cublasSetMathMode(Handle *h, int mode) {
    h->math_mode = mode;
    return 0;
}
int cublasGetMathMode(Handle *h, int *mode) {
    *mode = h->math_mode;
    return 0;
}

/* ---- matrix products ---- */
#define SHAPE int ta, int tb, int m, int n, int k
#define GEMM(...)                                                                                                      \
    submit(h, (Gemm){.ta = ta != NO_TRANSPOSE, .tb = tb != NO_TRANSPOSE, .m = m, .n = n, .k = k, .lda = lda,           \
                     .ldb = ldb, .ldc = ldc, __VA_ARGS__})
#define TYPES(t) .a_type = t, .b_type = t, .c_type = t

static double scalar(const void *p, int compute) { /* compute type: 64, 65 half; 70, 71 double; else float */
    int type = compute == 70 || compute == 71 ? REAL_64 : compute == 64 || compute == 65 ? REAL_16 : REAL_32;
    return load(p, type, 0);
}
int cublasSgemm_v2(Handle *h, SHAPE, const float *alpha, const void *a, int lda, const void *b, int ldb,
                   const float *beta, void *c, int ldc) {
    return GEMM(.batch = 1, .a = a, .b = b, .c = c, .alpha = *alpha, .beta = *beta);
}
int cublasDgemm_v2(Handle *h, SHAPE, const double *alpha, const void *a, int lda, const void *b, int ldb,
                   const double *beta, void *c, int ldc) {
    return GEMM(TYPES(REAL_64), .batch = 1, .a = a, .b = b, .c = c, .alpha = *alpha, .beta = *beta);
}
int cublasSgemmEx(Handle *h, SHAPE, const float *alpha, const void *a, int at, int lda, const void *b, int bt, int ldb,
                  const float *beta, void *c, int ct, int ldc) {
    return GEMM(.a_type = at, .b_type = bt, .c_type = ct, .batch = 1, .a = a, .b = b, .c = c, .alpha = *alpha,
                .beta = *beta);
}
int cublasGemmEx(Handle *h, SHAPE, const void *alpha, const void *a, int at, int lda, const void *b, int bt, int ldb,
                 const void *beta, void *c, int ct, int ldc, int compute, int algorithm) {
    return GEMM(.a_type = at, .b_type = bt, .c_type = ct, .batch = 1, .a = a, .b = b, .c = c,
                .alpha = scalar(alpha, compute), .beta = scalar(beta, compute));
}
int cublasGemmStridedBatchedEx(Handle *h, SHAPE, const void *alpha, const void *a, int at, int lda, long long as,
                               const void *b, int bt, int ldb, long long bs, const void *beta, void *c, int ct, int ldc,
                               long long cs, int batch, int compute, int algorithm) {
    return GEMM(.a_type = at, .b_type = bt, .c_type = ct, .batch = batch, .a = a, .b = b, .c = c, .a_step = as,
                .b_step = bs, .c_step = cs, .alpha = scalar(alpha, compute), .beta = scalar(beta, compute));
}
int cublasSgemmBatched(Handle *h, SHAPE, const float *alpha, const void *const *a, int lda, const void *const *b,
                       int ldb, const float *beta, void *const *c, int ldc, int batch) {
    return GEMM(.batch = batch, .a_list = a, .b_list = b, .c_list = c, .alpha = *alpha, .beta = *beta);
}
int cublasDgemmBatched(Handle *h, SHAPE, const double *alpha, const void *const *a, int lda, const void *const *b,
                       int ldb, const double *beta, void *const *c, int ldc, int batch) {
    return GEMM(TYPES(REAL_64), .batch = batch, .a_list = a, .b_list = b, .c_list = c, .alpha = *alpha, .beta = *beta);
}

/* y = alpha * op(A) x + beta * y is a product with one column; strided x is a matrix with that leading dimension. */
static int gemv(Handle *h, int type, int ta, int m, int n, double alpha, const void *a, int lda, const void *x, int incx,
                double beta, void *y, int incy) {
    if (incy != 1) return NOT_SUPPORTED;
    return submit(h, (Gemm){.ta = ta != NO_TRANSPOSE, .tb = 1, .m = ta ? n : m, .n = 1, .k = ta ? m : n, .lda = lda,
                            .ldb = incx, .ldc = 1, TYPES(type), .batch = 1, .a = a, .b = x, .c = y, .alpha = alpha,
                            .beta = beta});
}
int cublasSgemv_v2(Handle *h, int ta, int m, int n, const float *alpha, const void *a, int lda, const void *x, int incx,
                   const float *beta, void *y, int incy) {
    return gemv(h, REAL_32, ta, m, n, *alpha, a, lda, x, incx, *beta, y, incy);
}
int cublasDgemv_v2(Handle *h, int ta, int m, int n, const double *alpha, const void *a, int lda, const void *x, int incx,
                   const double *beta, void *y, int incy) {
    return gemv(h, REAL_64, ta, m, n, *alpha, a, lda, x, incx, *beta, y, incy);
}
