/* The simulator's own vocabulary. Everything here is guarded by one lock; functions marked [locked] expect it held.
 *
 *   report.c    violations, counters, timeline, injected faults, settings
 *   memory.c    device and pinned blocks, and who touched which bytes when (the race check)
 *   streams.c   streams as worker threads, host waits
 *   events.c    events
 *   transfers.c memcpy and memset
 *   sort.c      what CuPy takes from thrust
 *   blas.c      what CuPy takes from cuBLAS (a library of its own)
 *   nccl.c      what CuPy takes from NCCL (a library of its own)
 *   runtime.c   the C faces of CuPy's cudart wrappers
 *   driver.c    the driver functions that CuPy looks up in libcuda.so.1
 */
#ifndef CUDASIM_H
#define CUDASIM_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUDA_OK = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_INVALID_DEVICE = 101,
    CUDA_INVALID_HANDLE = 400,
    CUDA_NOT_READY = 600,
};
enum { MAX_DEVICES = 8, MAX_STREAMS = 256 };
enum { COPY_H2H, COPY_H2D, COPY_D2H, COPY_D2D, COPY_DEFAULT };

extern pthread_mutex_t sim_mutex;
extern pthread_cond_t sim_changed;
#define LOCK() pthread_mutex_lock(&sim_mutex)
#define UNLOCK() pthread_mutex_unlock(&sim_mutex)

/* One tick per operation enqueued on a stream: tick[s] says "knows that the first n operations of s are over". */
typedef struct {
    uint32_t tick[MAX_STREAMS];
} Clock;
void clock_join(Clock *into, const Clock *from);
extern Clock host_clock; /* what the host has waited for; all host threads share it */

/* ---- report.c ---- */
#define COUNTERS(X)                                                                                                  \
    X(malloc) X(free) X(host_alloc) X(host_free) X(h2d) X(d2h) X(d2d) X(h2d_bytes) X(d2h_bytes) X(memset)             \
    X(launch) X(library_call) X(host_call) X(pageable_async) X(event_record) X(event_wait) X(stream_create)           \
    X(stream_sync) X(event_sync) X(device_sync) X(blocking_copy) X(query) X(device_bytes) X(device_peak)              \
    X(pinned_bytes) X(pinned_peak) X(streams) X(events)
#define X(name) COUNT_##name,
enum { COUNTERS(X) COUNTER_TOTAL };
#undef X
extern long counters[COUNTER_TOTAL];
#define COUNT(name) (counters[COUNT_##name]++)

enum { FAULT_MALLOC, FAULT_HOST_ALLOC, FAULT_H2D, FAULT_D2H, FAULT_LAUNCH, FAULT_TOTAL };
int fault_take(int what, bool *deferred);                              /* [locked] error code or 0 */
void violate(const char *format, ...) __attribute__((format(printf, 1, 2))); /* [locked] */
const char *intern(const char *name);                                  /* [locked] a copy that lives forever */
double seconds(void);

enum { SPAN_H2D, SPAN_D2H, SPAN_D2D, SPAN_MEMSET, SPAN_KERNEL, SPAN_LIBRARY, SPAN_HOST_CALL, SPAN_SYNC };
typedef struct {
    int kind, stream, device;
    long thread; /* of the caller for a sync; 0 otherwise */
    double start, end;
    const char *name;
} Span;
void span_add(Span span); /* [locked] */

typedef struct {
    int devices;
    long copy_us, kernel_us, jitter_us; /* added to every copy, kernel; random 0..jitter on top of both */
    bool lazy;                          /* run nothing before somebody waits for it */
    bool race_check;
    size_t memory_limit[MAX_DEVICES];
} Settings;
extern Settings settings;
long random_below(long n); /* [locked] seeded */
extern __thread int current_device;

/* ---- memory.c ---- */
enum { BLOCK_DEVICE = 1, BLOCK_PINNED = 2, BLOCK_REGISTERED = 3 };
typedef struct Access Access;
typedef struct {
    uintptr_t start;
    size_t size;
    int kind, device;
    Access *accesses;
} Block;
Block *block_find(uintptr_t address); /* [locked] the block that holds the address, or NULL */
int memory_alloc(int kind, size_t size, intptr_t *out);
int memory_register(intptr_t address, size_t size);
int memory_free(int kind, intptr_t address);
void touch(uintptr_t address, size_t size, bool write, int sid, const char *what); /* [locked] */
int peer_enable(int device, int peer);

/* ---- streams.c ---- */
typedef struct {
    int sid;
    uint64_t seq;
} Point; /* "when operation seq of stream sid is over" */
typedef struct Op Op;
struct Op {
    Op *next;
    int span; /* SPAN_..., or -1 for markers that take no time */
    const char *name;
    uint64_t seq;
    int sid, failure;
    int wait_count, wait_room;
    Point *waits;
    void (*call)(void *); /* the work */
    void *arg;
    const void *source; /* pinned source to compare with its hash when the copy runs */
    size_t source_size;
    uint64_t source_hash;
    int event_slot; /* >= 0: stamp this event when reached */
    uint32_t event_generation;
};
typedef struct {
    bool used, blocking, stop;
    int device, error;
    uint32_t generation;
    uint64_t enqueued, done, demanded;
    Op *head, *tail;
    pthread_t thread;
    Clock clock;
} Stream;
extern Stream streams[MAX_STREAMS];

int stream_id(intptr_t handle);                                     /* [locked] -1: unknown */
Op *op_new(int span, const char *name, void (*call)(void *), void *arg); /* [locked] */
Point op_push(int sid, Op *op);                                     /* [locked] */
int wait_for(Point point);                                          /* [locked] blocks; returns the stream's error */
void stream_follow(int sid, int other);                             /* [locked] what comes waits for the other */
int wait_device(int device);                                        /* [locked] */
int stream_create(intptr_t *out, unsigned flags);
int stream_destroy(intptr_t handle);
int stream_sync(intptr_t handle);
int stream_query(intptr_t handle);
int stream_flags(intptr_t handle, unsigned *flags);
int device_sync(void);
void op_after(Op *op, int sid, Point point);                         /* [locked] */
void demand(Point point);                                           /* [locked] let a lazy stream run up to it */
void sync_span(const char *name, int sid, double start);            /* [locked] */
uint64_t hash_bytes(const void *data, size_t size);

/* ---- events.c ---- */
void event_stamp(const Op *op); /* [locked] */
int event_create(intptr_t *out);
int event_destroy(intptr_t handle);
int event_record(intptr_t handle, intptr_t stream);
int event_wait(intptr_t stream, intptr_t handle);
int event_sync(intptr_t handle);
int event_query(intptr_t handle);
int event_elapsed(intptr_t start, intptr_t end, float *milliseconds);

/* ---- transfers.c ---- */
int copy(intptr_t dst, intptr_t src, size_t size, int kind, intptr_t stream, bool async);
int fill(intptr_t dst, int value, size_t size, intptr_t stream, bool async);

/* ---- for blas.c, nccl.c and sort.c: run a host function on a stream as a library call ---- */
typedef struct {
    uintptr_t address;
    size_t size;
    int write;
} Range;
int sim_enqueue(intptr_t stream, const char *name, void (*call)(void *), void *arg, int count, const Range *ranges);
#endif
