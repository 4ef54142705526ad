/* Events: a point of a stream, its clock, and the time it was reached. */
#include "sim.h"
#include <stdlib.h>

typedef struct {
    bool used, recorded, stamped;
    uint32_t generation;
    int device;
    Point point;
    Clock clock;
    double when;
} Event;
enum { EVENT_BASE = 0x40000000, MAX_EVENTS = 1 << 14 };
static Event *events[MAX_EVENTS];
static int event_hint;

static Event *event_of(intptr_t handle) { /* [locked] */
    intptr_t number = handle - EVENT_BASE, slot = number % MAX_EVENTS;
    if (number < 0 || !events[slot] || !events[slot]->used) return NULL;
    return (intptr_t)events[slot]->generation == number / MAX_EVENTS ? events[slot] : NULL;
}

void event_stamp(const Op *op) {
    if (op->event_slot < 0) return;
    Event *e = events[op->event_slot];
    if (e->generation != op->event_generation || e->point.seq != op->seq || e->point.sid != op->sid) return;
    e->when = seconds();
    e->stamped = true;
}

int event_create(intptr_t *out) {
    LOCK();
    int error = CUDA_OUT_OF_MEMORY;
    for (int n = 0; n < MAX_EVENTS; n++) {
        int slot = (event_hint + n) % MAX_EVENTS;
        if (events[slot] && events[slot]->used) continue;
        if (!events[slot]) events[slot] = calloc(1, sizeof(Event));
        Event *e = events[slot];
        *e = (Event){.used = true, .generation = e->generation + 1, .device = current_device};
        *out = EVENT_BASE + (intptr_t)e->generation * MAX_EVENTS + slot;
        event_hint = slot + 1;
        counters[COUNT_events]++;
        error = CUDA_OK;
        break;
    }
    UNLOCK();
    return error;
}

int event_destroy(intptr_t handle) {
    LOCK();
    Event *e = event_of(handle);
    if (e) {
        e->used = false;
        event_hint = (int)((handle - EVENT_BASE) % MAX_EVENTS);
        counters[COUNT_events]--;
    }
    UNLOCK();
    return e ? CUDA_OK : CUDA_INVALID_HANDLE;
}

int event_record(intptr_t handle, intptr_t stream) {
    LOCK();
    Event *e = event_of(handle);
    int sid = stream_id(stream), error = e && sid >= 0 ? CUDA_OK : CUDA_INVALID_HANDLE;
    if (!error && e->device != streams[sid].device) {
        violate("wrong-device: an event of device %d is recorded on a stream of device %d", e->device,
                streams[sid].device);
        error = CUDA_INVALID_HANDLE;
    }
    if (!error) {
        Op *op = op_new(-1, "eventRecord", NULL, NULL);
        op->event_slot = (int)((handle - EVENT_BASE) % MAX_EVENTS);
        op->event_generation = e->generation;
        e->point = op_push(sid, op);
        e->clock = streams[sid].clock;
        e->recorded = true;
        e->stamped = false;
        COUNT(event_record);
    }
    UNLOCK();
    return error;
}

int event_wait(intptr_t stream, intptr_t handle) {
    LOCK();
    Event *e = event_of(handle);
    int sid = stream_id(stream), error = e && sid >= 0 ? CUDA_OK : CUDA_INVALID_HANDLE;
    if (!error && e->recorded) { /* waiting for an event that was never recorded is no wait, as in CUDA */
        Op *op = op_new(-1, "streamWaitEvent", NULL, NULL);
        op_after(op, sid, e->point);
        op_push(sid, op);
        clock_join(&streams[sid].clock, &e->clock);
    }
    if (!error) COUNT(event_wait);
    UNLOCK();
    return error;
}

int event_sync(intptr_t handle) {
    LOCK();
    Event *e = event_of(handle);
    int error = e ? CUDA_OK : CUDA_INVALID_HANDLE;
    double start = seconds();
    if (e && e->recorded) {
        Clock reached = e->clock;
        int sid = e->point.sid;
        error = wait_for(e->point);
        clock_join(&host_clock, &reached);
        sync_span("eventSynchronize", sid, start);
    }
    if (e) COUNT(event_sync);
    UNLOCK();
    return error;
}

int event_query(intptr_t handle) {
    LOCK();
    Event *e = event_of(handle);
    int answer = e ? CUDA_OK : CUDA_INVALID_HANDLE;
    COUNT(query);
    if (e && e->recorded) {
        if (streams[e->point.sid].done >= e->point.seq) clock_join(&host_clock, &e->clock);
        else {
            demand(e->point);
            answer = CUDA_NOT_READY;
        }
    }
    UNLOCK();
    return answer;
}

int event_elapsed(intptr_t start, intptr_t end, float *milliseconds) {
    LOCK();
    Event *a = event_of(start), *b = event_of(end);
    int error = !a || !b || !a->recorded || !b->recorded ? CUDA_INVALID_HANDLE
                : !a->stamped || !b->stamped             ? CUDA_NOT_READY
                                                         : CUDA_OK;
    if (!error) *milliseconds = (float)((b->when - a->when) * 1e3);
    UNLOCK();
    return error;
}
