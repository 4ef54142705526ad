/* Streams as worker threads with a queue each, and host waits.
 *
 * Streams 0 .. MAX_DEVICES-1 are the legacy default streams of the devices: such a stream and the blocking streams of its
 * device wait for one another; non-blocking streams stand apart. Order is written down twice: as Points that a worker
 * really waits for, and as clocks for the race check. */
#include "sim.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STREAM_BASE = 0x10000 };
Stream streams[MAX_STREAMS];
static __thread int per_thread_stream[MAX_DEVICES]; /* 0: not yet made */

uint64_t hash_bytes(const void *data, size_t size) {
    const unsigned char *p = data;
    uint64_t h = 1469598103934665603u, word;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * 1099511628211u;
        h ^= h >> 29;
    }
    for (; size; size--, p++) h = (h ^ *p) * 1099511628211u;
    return h;
}

/* ---- the worker ---- */
static void sleep_for(const Op *op) {
    bool is_copy = op->span == SPAN_H2D || op->span == SPAN_D2H || op->span == SPAN_D2D;
    LOCK();
    long us = is_copy ? settings.copy_us : settings.kernel_us, more = random_below(4 * settings.jitter_us);
    if (more < settings.jitter_us) us += more; /* a quarter of all operations: many sleeps would take long */
    UNLOCK();
    if (us > 0) usleep((useconds_t)us);
}

static void run(Op *op) {
    double start = seconds();
    if (op->span >= 0) sleep_for(op);
    if (op->source && hash_bytes(op->source, op->source_size) != op->source_hash) {
        LOCK();
        violate("pinned-overwrite: the %zu bytes at %p changed while %s was in flight on stream %d", op->source_size,
                op->source, op->name, op->sid);
        UNLOCK();
    }
    if (op->call) op->call(op->arg);
    LOCK();
    if (op->failure) streams[op->sid].error = op->failure;
    if (op->span >= 0) span_add((Span){op->span, op->sid, streams[op->sid].device, 0, start, seconds(), op->name});
    event_stamp(op);
    UNLOCK();
}

void demand(Point point) {
    if (streams[point.sid].demanded < point.seq) {
        streams[point.sid].demanded = point.seq;
        pthread_cond_broadcast(&sim_changed);
    }
}

static void *worker(void *arg) {
    Stream *s = arg;
    LOCK();
    for (;;) {
        while (s->head ? settings.lazy && s->demanded < s->head->seq : !s->stop)
            pthread_cond_wait(&sim_changed, &sim_mutex);
        Op *op = s->head;
        if (!op) break;
        for (int i = 0; i < op->wait_count; i++) {
            demand(op->waits[i]);
            while (streams[op->waits[i].sid].done < op->waits[i].seq) pthread_cond_wait(&sim_changed, &sim_mutex);
        }
        UNLOCK();
        run(op);
        LOCK();
        s->head = op->next;
        if (!s->head) s->tail = NULL;
        s->done = op->seq;
        free(op->waits);
        free(op);
        pthread_cond_broadcast(&sim_changed);
    }
    UNLOCK();
    return NULL;
}

static int stream_open(int sid, bool blocking) { /* [locked] a reused place keeps its clock: time never goes back */
    Stream *s = &streams[sid];
    if (pthread_create(&s->thread, NULL, worker, s)) return -1;
    s->used = true;
    s->stop = false;
    s->blocking = blocking;
    s->device = sid < MAX_DEVICES ? sid : current_device;
    s->error = CUDA_OK;
    s->generation++;
    counters[COUNT_streams]++;
    COUNT(stream_create);
    return sid;
}

static int stream_new(bool blocking) { /* [locked] */
    for (int sid = MAX_DEVICES; sid < MAX_STREAMS; sid++)
        if (!streams[sid].used) return stream_open(sid, blocking);
    return -1;
}

static int default_stream(int device) { return streams[device].used ? device : stream_open(device, true); }

int stream_id(intptr_t handle) {
    if (handle == 0 || handle == 1) return default_stream(current_device);
    if (handle == 2) {
        int *mine = &per_thread_stream[current_device];
        return *mine ? *mine : (*mine = stream_new(true));
    }
    intptr_t number = handle - STREAM_BASE, sid = number % MAX_STREAMS;
    if (number < 0 || !streams[sid].used || (intptr_t)streams[sid].generation != number / MAX_STREAMS) return -1;
    return (int)sid;
}

/* ---- enqueueing ---- */
Op *op_new(int span, const char *name, void (*call)(void *), void *arg) {
    Op *op = calloc(1, sizeof *op);
    op->span = span;
    op->name = intern(name);
    op->call = call;
    op->arg = arg;
    op->event_slot = -1;
    return op;
}

void op_after(Op *op, int sid, Point point) {
    if (streams[point.sid].done >= point.seq || point.sid == sid) return;
    if (op->wait_count == op->wait_room) {
        op->wait_room = op->wait_room ? 2 * op->wait_room : 4;
        op->waits = realloc(op->waits, (size_t)op->wait_room * sizeof *op->waits);
    }
    op->waits[op->wait_count++] = point;
}

Point op_push(int sid, Op *op) {
    Stream *s = &streams[sid];
    clock_join(&s->clock, &host_clock);
    for (int other = 0; other < MAX_STREAMS; other++) {
        bool meets = streams[other].used && streams[other].blocking && s->blocking && streams[other].device == s->device &&
                     (sid < MAX_DEVICES || other < MAX_DEVICES);
        if (other == sid || !meets) continue;
        op_after(op, sid, (Point){other, streams[other].enqueued});
        clock_join(&s->clock, &streams[other].clock);
    }
    s->clock.tick[sid]++;
    op->sid = sid;
    op->seq = ++s->enqueued;
    if (s->tail) s->tail->next = op;
    else s->head = op;
    s->tail = op;
    pthread_cond_broadcast(&sim_changed);
    return (Point){sid, op->seq};
}

void stream_follow(int sid, int other) {
    if (sid == other || !streams[sid].used || !streams[other].used) return;
    Op *op = op_new(-1, "wait", NULL, NULL);
    op_after(op, sid, (Point){other, streams[other].enqueued});
    op_push(sid, op);
    clock_join(&streams[sid].clock, &streams[other].clock);
}

int sim_enqueue(intptr_t stream, const char *name, void (*call)(void *), void *arg, int count, const Range *ranges) {
    LOCK();
    int sid = stream_id(stream);
    if (sid >= 0) {
        Op *op = op_new(SPAN_LIBRARY, name, call, arg);
        op_push(sid, op);
        for (int i = 0; i < count; i++) touch(ranges[i].address, ranges[i].size, ranges[i].write, sid, op->name);
        COUNT(library_call);
    }
    UNLOCK();
    return sid < 0 ? CUDA_INVALID_HANDLE : CUDA_OK;
}

/* ---- host waits ---- */
int wait_for(Point point) {
    demand(point);
    while (streams[point.sid].done < point.seq) pthread_cond_wait(&sim_changed, &sim_mutex);
    int error = streams[point.sid].error;
    streams[point.sid].error = CUDA_OK;
    return error;
}

static int wait_stream(int sid) {
    Clock reached = streams[sid].clock;
    int error = wait_for((Point){sid, streams[sid].enqueued});
    clock_join(&host_clock, &reached);
    return error;
}

int wait_device(int device) {
    int error = CUDA_OK;
    for (int sid = 0; sid < MAX_STREAMS; sid++) {
        if (!streams[sid].generation || streams[sid].device != device) continue; /* destroyed streams had work, too */
        int one = wait_stream(sid);
        if (one) error = one;
    }
    return error;
}

void sync_span(const char *name, int sid, double start) {
    span_add((Span){SPAN_SYNC, sid, sid < 0 ? current_device : streams[sid].device, (long)pthread_self(), start,
                    seconds(), name});
}

int stream_create(intptr_t *out, unsigned flags) {
    LOCK();
    int sid = stream_new(!(flags & 1));
    if (sid >= 0) *out = STREAM_BASE + (intptr_t)streams[sid].generation * MAX_STREAMS + sid;
    UNLOCK();
    return sid < 0 ? CUDA_OUT_OF_MEMORY : CUDA_OK;
}

int stream_destroy(intptr_t handle) {
    LOCK();
    int sid = stream_id(handle);
    if (sid < MAX_DEVICES) {
        UNLOCK();
        return CUDA_INVALID_HANDLE;
    }
    Stream *s = &streams[sid];
    demand((Point){sid, s->enqueued});
    s->stop = true;
    pthread_cond_broadcast(&sim_changed);
    pthread_t thread = s->thread;
    UNLOCK();
    pthread_join(thread, NULL); /* the worker ends when its queue is empty */
    LOCK();
    s->used = false;
    counters[COUNT_streams]--;
    UNLOCK();
    return CUDA_OK;
}

int stream_sync(intptr_t handle) {
    LOCK();
    int sid = stream_id(handle), error = CUDA_INVALID_HANDLE;
    double start = seconds();
    if (sid >= 0) {
        error = wait_stream(sid);
        for (int other = MAX_DEVICES; sid < MAX_DEVICES && other < MAX_STREAMS; other++)
            if (streams[other].used && streams[other].blocking && streams[other].device == sid) wait_stream(other);
        COUNT(stream_sync);
        sync_span("streamSynchronize", sid, start);
    }
    UNLOCK();
    return error;
}

int stream_query(intptr_t handle) {
    LOCK();
    int sid = stream_id(handle), answer = CUDA_OK;
    COUNT(query);
    if (sid < 0) answer = CUDA_INVALID_HANDLE;
    else if (streams[sid].done >= streams[sid].enqueued) clock_join(&host_clock, &streams[sid].clock);
    else {
        demand((Point){sid, streams[sid].enqueued}); /* a loop that polls must come to an end */
        answer = CUDA_NOT_READY;
    }
    UNLOCK();
    return answer;
}

int stream_flags(intptr_t handle, unsigned *flags) {
    LOCK();
    int sid = stream_id(handle);
    *flags = sid >= 0 && !streams[sid].blocking;
    UNLOCK();
    return sid < 0 ? CUDA_INVALID_HANDLE : CUDA_OK;
}

int device_sync(void) {
    LOCK();
    double start = seconds();
    int error = wait_device(current_device);
    COUNT(device_sync);
    sync_span("deviceSynchronize", -1, start);
    UNLOCK();
    return error;
}

/* Wait for everything on every device: between tests. */
void sim_drain(void) {
    LOCK();
    for (int device = 0; device < settings.devices; device++) wait_device(device);
    UNLOCK();
}
