/* Sorting, which CuPy takes from thrust (prebuilt device code): stable, NaN last, on a stream. */
#include "half.h"
#include "sim.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char type;         /* NumPy's kind: b bool, i, u, f */
    int item;          /* bytes of a key */
    long rows, count;  /* rows are sorted one by one */
    int keys;          /* > 0: lexsort of so many keys of one row */
    char *data;
    int64_t *order;    /* NULL: plain sort */
} Job;

static double real_at(const Job *job, const char *p) {
    if (job->item == 2) {
        uint16_t half;
        memcpy(&half, p, 2);
        return half_to_float(half);
    }
    if (job->item == 4) {
        float single;
        memcpy(&single, p, 4);
        return single;
    }
    double value;
    memcpy(&value, p, 8);
    return value;
}

static int64_t integer_at(const Job *job, const char *p) {
    int64_t value = 0;
    memcpy(&value, p, (size_t)job->item); /* little endian, as every CUDA host */
    int shift = 64 - 8 * job->item;
    return job->type == 'i' ? (int64_t)((uint64_t)value << shift) >> shift : value;
}

static bool less(const Job *job, const char *a, const char *b) {
    if (job->type == 'f') {
        double x = real_at(job, a), y = real_at(job, b);
        return x < y || (isnan(y) && !isnan(x));
    }
    int64_t x = integer_at(job, a), y = integer_at(job, b);
    return job->type == 'i' ? x < y : (uint64_t)x < (uint64_t)y;
}

static void merge_sort(const Job *job, const char *row, int64_t *order, int64_t *spare, long count) {
    if (count < 2) return;
    long half = count / 2, left = 0, right = half, out = 0;
    merge_sort(job, row, order, spare, half);
    merge_sort(job, row, order + half, spare, count - half);
    while (left < half && right < count) {
        bool take_right = less(job, row + order[right] * job->item, row + order[left] * job->item);
        spare[out++] = take_right ? order[right++] : order[left++];
    }
    while (left < half) spare[out++] = order[left++];
    memcpy(order, spare, (size_t)out * sizeof *order);
}

static void run_sort(void *arg) {
    Job *job = arg;
    size_t count = (size_t)job->count, item = (size_t)job->item;
    int64_t *order = malloc(count * 8), *spare = malloc(count * 8);
    char *sorted = malloc(count * item);
    for (long row = 0; row < job->rows; row++) {
        char *data = job->data + (size_t)row * count * item;
        for (long i = 0; i < job->count; i++) order[i] = i;
        if (!job->keys) merge_sort(job, data, order, spare, job->count);
        for (int key = 0; key < job->keys; key++) /* stable: the last key decides */
            merge_sort(job, data + (size_t)key * count * item, order, spare, job->count);
        if (!job->keys) {
            for (size_t i = 0; i < count; i++) memcpy(sorted + i * item, data + (size_t)order[i] * item, item);
            memcpy(data, sorted, count * item);
        }
        if (job->order) memcpy(job->order + (size_t)row * count, order, count * 8);
    }
    free(order);
    free(spare);
    free(sorted);
    free(job);
}

int sim_sort(intptr_t stream, char type, int item, intptr_t data, intptr_t order, long rows, long count, int keys) {
    if (!rows || !count) return CUDA_OK;
    Job *job = malloc(sizeof *job);
    *job = (Job){type, item, rows, count, keys, (char *)data, (int64_t *)order};
    size_t cells = (size_t)(rows * count);
    Range ranges[2] = {{(uintptr_t)data, cells * (size_t)item * (size_t)(keys ? keys : 1), !keys},
                       {(uintptr_t)order, cells * 8, 1}};
    return sim_enqueue(stream, keys ? "lexsort" : order ? "argsort" : "sort", run_sort, job, order ? 2 : 1, ranges);
}
