/* Violations, counters, the timeline, injected faults and settings; and how Python reads them. */
#include "sim.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

pthread_mutex_t sim_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed = PTHREAD_COND_INITIALIZER;
Settings settings = {.devices = 1, .race_check = true};
long counters[COUNTER_TOTAL];
__thread int current_device;

double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- violations ---- */
enum { MAX_VIOLATIONS = 1000 };
static char *violations[MAX_VIOLATIONS];
static int violation_count;

void violate(const char *format, ...) {
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length >= 0 && violation_count < MAX_VIOLATIONS) violations[violation_count++] = text;
    else if (length >= 0) free(text);
}
int sim_violation_count(void) { return violation_count; }
const char *sim_violation(int i) { return violations[i]; }

/* ---- names ---- */
typedef struct Name {
    struct Name *next;
    char text[];
} Name;
static Name *names[1024];

const char *intern(const char *name) {
    size_t length = strlen(name);
    Name **bucket = &names[hash_bytes(name, length) % 1024];
    for (Name *n = *bucket; n; n = n->next)
        if (!strcmp(n->text, name)) return n->text;
    Name *n = malloc(sizeof *n + length + 1);
    memcpy(n->text, name, length + 1);
    n->next = *bucket;
    *bucket = n;
    return n->text;
}

/* ---- timeline ---- */
static Span *spans;
static long span_count, span_room;

void span_add(Span span) {
    if (span_count == span_room) {
        span_room = span_room ? 2 * span_room : 4096;
        spans = realloc(spans, (size_t)span_room * sizeof *spans);
    }
    spans[span_count++] = span;
}
long sim_span_count(void) { return span_count; }
int sim_span(long i, Span *out) {
    LOCK();
    bool ok = i < span_count;
    if (ok) *out = spans[i];
    UNLOCK();
    return ok;
}

/* ---- counters ---- */
#define X(name) #name,
static const char *counter_names[] = {COUNTERS(X)};
#undef X
const char *sim_counter_name(int i) { return i < COUNTER_TOTAL ? counter_names[i] : NULL; }
long sim_counter(int i) { return counters[i]; }

/* ---- faults ---- */
static struct {
    long after, times;
    int code;
    bool deferred;
} faults[FAULT_TOTAL];

int fault_take(int what, bool *deferred) {
    *deferred = false;
    if (!faults[what].times || faults[what].after-- > 0) return CUDA_OK;
    faults[what].after = 0;
    faults[what].times--;
    *deferred = faults[what].deferred;
    return faults[what].code;
}
void sim_fail(int what, long after, long times, int code, int deferred) {
    LOCK();
    faults[what].after = after;
    faults[what].times = times;
    faults[what].code = code;
    faults[what].deferred = deferred;
    UNLOCK();
}

/* ---- settings ---- */
static uint64_t random_state = 1;
long random_below(long n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return n > 0 ? (long)(random_state % (uint64_t)n) : 0;
}
void sim_devices(int count) { settings.devices = count < 1 ? 1 : count > MAX_DEVICES ? MAX_DEVICES : count; }
void sim_delays(long copy_us, long kernel_us, long jitter_us, uint64_t seed) {
    LOCK();
    settings.copy_us = copy_us;
    settings.kernel_us = kernel_us;
    settings.jitter_us = jitter_us;
    random_state = seed * 2654435769u + 88172645463325252u;
    UNLOCK();
}
void sim_schedule(int lazy) {
    LOCK();
    settings.lazy = lazy;
    pthread_cond_broadcast(&sim_changed);
    UNLOCK();
}
void sim_race_check(int on) { settings.race_check = on; }

/* Forget what was seen; keep what exists (bytes, streams, events). */
void sim_clear(void) {
    LOCK();
    for (int i = 0; i < violation_count; i++) free(violations[i]);
    violation_count = 0;
    span_count = 0;
    for (int i = 0; i < COUNTER_TOTAL; i++)
        if (i != COUNT_device_bytes && i != COUNT_pinned_bytes && i != COUNT_streams && i != COUNT_events)
            counters[i] = 0;
    counters[COUNT_device_peak] = counters[COUNT_device_bytes];
    counters[COUNT_pinned_peak] = counters[COUNT_pinned_bytes];
    memset(faults, 0, sizeof faults);
    memset(settings.memory_limit, 0, sizeof settings.memory_limit);
    UNLOCK();
}
