/* memcpy and memset. Pageable sources are staged at once, as CUDA does; pinned sources are read when the copy runs. */
#include "sim.h"
#include <stdlib.h>
#include <string.h>

enum { UNREAD = 0xA5, POISONED_BYTES = 64 };

typedef struct {
    void *dst;
    const void *src;
    void *staging;
    size_t size;
    int value;
} Job;

static void run_copy(void *arg) {
    Job *job = arg;
    memmove(job->dst, job->src, job->size);
    free(job->staging);
    free(job);
}

static void run_nothing(void *arg) { /* a copy that was told to fail */
    Job *job = arg;
    free(job->staging);
    free(job);
}

static void run_fill(void *arg) {
    Job *job = arg;
    memset(job->dst, job->value, job->size);
    free(job);
}

static bool on_device(const Block *block) { return block && block->kind == BLOCK_DEVICE; }
static const char *side(const Block *block) { return on_device(block) ? "device" : block ? "pinned" : "pageable"; }

static int copy_kind(int kind, const Block *dst, const Block *src) { /* -1: the pointers do not fit the kind */
    int real = (on_device(dst) ? COPY_H2D : COPY_H2H) | (on_device(src) ? COPY_D2H : COPY_H2H);
    if (kind == COPY_DEFAULT || kind == real) return real;
    violate("wrong-side: memcpy of kind %d from %s to %s memory", kind, side(src), side(dst));
    return -1;
}

static int enqueue_copy(Job job, int kind, int sid, bool async, bool pinned, int failure) {
    static const char *names[] = {"memcpy(host to host)", "memcpy(host to device)", "memcpy(device to host)",
                                  "memcpy(device to device)"};
    static const int spans[] = {SPAN_D2D, SPAN_H2D, SPAN_D2H, SPAN_D2D};
    Job *kept = malloc(sizeof *kept);
    if (kind == COPY_H2D && !pinned && async) {
        job.staging = malloc(job.size);
        memcpy(job.staging, job.src, job.size);
        job.src = job.staging;
    }
    *kept = job;
    Op *op = op_new(spans[kind], names[kind], failure ? run_nothing : run_copy, kept);
    op->failure = failure;
    if (kind == COPY_H2D && pinned && async) {
        op->source = job.src;
        op->source_size = job.size;
        op->source_hash = hash_bytes(job.src, job.size);
    }
    if (kind == COPY_D2H && pinned && async) /* whoever reads before waiting shall see it */
        memset(job.dst, UNREAD, job.size < POISONED_BYTES ? job.size : POISONED_BYTES);
    Point point = op_push(sid, op);
    touch((uintptr_t)job.src, job.size, false, sid, names[kind]);
    touch((uintptr_t)job.dst, job.size, true, sid, names[kind]);
    Clock reached = streams[sid].clock;
    if (async && (kind != COPY_D2H || pinned)) return CUDA_OK; /* into pageable memory: CUDA waits */
    double start = seconds();
    int error = wait_for(point);
    clock_join(&host_clock, &reached);
    COUNT(blocking_copy);
    span_add((Span){SPAN_SYNC, sid, streams[sid].device, (long)pthread_self(), start, seconds(), "memcpy"});
    return error;
}

int copy(intptr_t dst, intptr_t src, size_t size, int kind, intptr_t stream, bool async) {
    if (!size) return CUDA_OK;
    LOCK();
    Block *to = block_find((uintptr_t)dst), *from = block_find((uintptr_t)src);
    /* In a default stream, a copy between devices comes after all that both were given, and before what comes. */
    bool meets = on_device(to) && on_device(from) && to->device != from->device && stream < 2;
    int first = meets ? to->device : -1, second = meets ? from->device : -1;
    int sid = stream_id(stream), error = sid < 0 ? CUDA_INVALID_HANDLE : CUDA_OK;
    for (int other = 0; meets && other < MAX_STREAMS; other++)
        if (streams[other].device == first || streams[other].device == second) stream_follow(sid, other);
    bool deferred = false;
    if (!error && (kind = copy_kind(kind, to, from)) < 0) error = CUDA_INVALID_VALUE;
    if (!error && kind == COPY_H2D) error = fault_take(FAULT_H2D, &deferred);
    if (!error && kind == COPY_D2H) error = fault_take(FAULT_D2H, &deferred);
    if (!error || deferred) {
        bool pinned = kind == COPY_H2D ? from != NULL : kind == COPY_D2H ? to != NULL : true;
        if (kind == COPY_H2D) COUNT(h2d), counters[COUNT_h2d_bytes] += (long)size;
        if (kind == COPY_D2H) COUNT(d2h), counters[COUNT_d2h_bytes] += (long)size;
        if (kind == COPY_D2D) COUNT(d2d);
        if (async && !pinned) COUNT(pageable_async);
        Job job = {.dst = (void *)dst, .src = (const void *)src, .size = size};
        error = enqueue_copy(job, kind, sid, async, pinned, error);
    }
    for (int other = 0; meets && other < MAX_STREAMS; other++)
        if (streams[other].device == first || streams[other].device == second) stream_follow(other, sid);
    UNLOCK();
    return error;
}

int fill(intptr_t dst, int value, size_t size, intptr_t stream, bool async) {
    if (!size) return CUDA_OK;
    LOCK();
    int sid = stream_id(stream), error = sid < 0 ? CUDA_INVALID_HANDLE : CUDA_OK;
    if (!error && !on_device(block_find((uintptr_t)dst))) {
        violate("wrong-side: memset of memory that is not the device's");
        error = CUDA_INVALID_VALUE;
    }
    if (!error) {
        Job *job = malloc(sizeof *job);
        *job = (Job){.dst = (void *)dst, .value = value, .size = size};
        Point point = op_push(sid, op_new(SPAN_MEMSET, "memset", run_fill, job));
        touch((uintptr_t)dst, size, true, sid, "memset");
        COUNT(memset);
        if (!async) error = wait_for(point);
    }
    UNLOCK();
    return error;
}
