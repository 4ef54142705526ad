/* Device and pinned memory on the host's heap, and the race check.
 *
 * Every operation says at enqueue time which bytes it reads and writes, and carries the clock of its stream. Two accesses
 * to the same bytes, one of them a write, must be ordered by that clock: then the order holds in every schedule, and a
 * missing wait is found even in a run whose result came out right. */
#include "sim.h"
#include <stdlib.h>
#include <string.h>

enum { FRESH_DEVICE = 0xDB, FRESH_PINNED = 0xCB, FREED = 0xDD };

struct Access {
    Access *next;
    uintptr_t low, high;
    int sid;
    uint32_t tick;
    bool write;
    const char *what;
};
Clock host_clock;
static Block **blocks; /* sorted by address */
static int block_count, block_room;
static size_t device_used[MAX_DEVICES];
static bool peers[MAX_DEVICES][MAX_DEVICES];

void clock_join(Clock *into, const Clock *from) {
    for (int i = 0; i < MAX_STREAMS; i++)
        if (from->tick[i] > into->tick[i]) into->tick[i] = from->tick[i];
}

/* ---- blocks ---- */
static int position(uintptr_t address) { /* of the first block that starts after the address */
    int low = 0, high = block_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (blocks[middle]->start <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

Block *block_find(uintptr_t address) {
    int i = position(address) - 1;
    return i >= 0 && address < blocks[i]->start + blocks[i]->size ? blocks[i] : NULL;
}

static void block_add(uintptr_t start, size_t size, int kind) {
    if (block_count == block_room) {
        block_room = block_room ? 2 * block_room : 64;
        blocks = realloc(blocks, (size_t)block_room * sizeof *blocks);
    }
    Block *block = calloc(1, sizeof *block);
    *block = (Block){.start = start, .size = size, .kind = kind, .device = current_device};
    int i = position(start);
    memmove(blocks + i + 1, blocks + i, (size_t)(block_count - i) * sizeof *blocks);
    blocks[i] = block;
    block_count++;
}

static void note_bytes(Block *block, long sign) {
    long size = sign * (long)block->size;
    int now = block->kind == BLOCK_DEVICE ? COUNT_device_bytes : COUNT_pinned_bytes, peak = now + 1;
    if (block->kind == BLOCK_DEVICE) device_used[block->device] += (size_t)size;
    counters[now] += size;
    if (counters[now] > counters[peak]) counters[peak] = counters[now];
}

int memory_alloc(int kind, size_t size, intptr_t *out) {
    LOCK();
    bool device = kind == BLOCK_DEVICE, deferred;
    size_t limit = settings.memory_limit[current_device];
    int error = fault_take(device ? FAULT_MALLOC : FAULT_HOST_ALLOC, &deferred);
    void *start = NULL;
    if (!size) size = 1;
    if (!error && device && limit && device_used[current_device] + size > limit) error = CUDA_OUT_OF_MEMORY;
    /* Pinned blocks get pages of their own, device blocks CUDA's 512 bytes of alignment. */
    if (!error && posix_memalign(&start, device ? 512 : 4096, size)) error = CUDA_OUT_OF_MEMORY;
    if (!error) {
        memset(start, device ? FRESH_DEVICE : FRESH_PINNED, size);
        block_add((uintptr_t)start, size, kind);
        note_bytes(block_find((uintptr_t)start), 1);
        counters[device ? COUNT_malloc : COUNT_host_alloc]++;
        *out = (intptr_t)start;
    }
    UNLOCK();
    return error;
}

int memory_register(intptr_t address, size_t size) {
    LOCK();
    int error = block_find((uintptr_t)address) ? CUDA_INVALID_VALUE : CUDA_OK;
    if (!error) {
        block_add((uintptr_t)address, size, BLOCK_REGISTERED);
        note_bytes(block_find((uintptr_t)address), 1);
    }
    UNLOCK();
    return error;
}

int memory_free(int kind, intptr_t address) {
    if (!address) return CUDA_OK;
    LOCK();
    Block *block = block_find((uintptr_t)address);
    if (!block || block->start != (uintptr_t)address || block->kind != kind) {
        violate("bad-free: %p is not a live %s block", (void *)address, kind == BLOCK_DEVICE ? "device" : "pinned");
        UNLOCK();
        return CUDA_INVALID_VALUE;
    }
    for (int device = 0; device < settings.devices; device++) /* cudaFree waits for the device */
        if (kind != BLOCK_DEVICE || device == block->device) wait_device(device);
    int i = position(block->start) - 1; /* another thread may have moved it while we waited */
    memmove(blocks + i, blocks + i + 1, (size_t)(block_count - i - 1) * sizeof *blocks);
    block_count--;
    note_bytes(block, -1);
    counters[kind == BLOCK_DEVICE ? COUNT_free : COUNT_host_free]++;
    if (kind != BLOCK_REGISTERED) {
        memset((void *)address, FREED, block->size);
        free((void *)address);
    }
    while (block->accesses) {
        Access *access = block->accesses;
        block->accesses = access->next;
        free(access);
    }
    free(block);
    UNLOCK();
    return CUDA_OK;
}

int peer_enable(int device, int peer) {
    if (peer < 0 || peer >= settings.devices || peer == device) return CUDA_INVALID_DEVICE;
    LOCK();
    peers[device][peer] = true;
    UNLOCK();
    return CUDA_OK;
}

/* ---- the race check ---- */
static void report_race(const Block *block, const Access *old, const Access *new) {
    uintptr_t low = old->low > new->low ? old->low : new->low, high = old->high < new->high ? old->high : new->high;
    violate("race: %s by %s on stream %d is not ordered after %s by %s on stream %d "
            "(bytes %zu to %zu of a %s block of %zu on device %d)",
            new->write ? "write" : "read", new->what, new->sid, old->write ? "write" : "read", old->what, old->sid,
            (size_t)(low - block->start), (size_t)(high - block->start),
            block->kind == BLOCK_DEVICE ? "device" : "pinned", block->size, block->device);
}

void touch(uintptr_t address, size_t size, bool write, int sid, const char *what) {
    if (!settings.race_check || !size) return;
    const Clock *clock = &streams[sid].clock;
    Block *block = block_find(address);
    if (!block) return; /* pageable host memory: copies out of it are staged, into it block */
    if (address + size > block->start + block->size)
        violate("out-of-bounds: %s touches %zu bytes at offset %zu of a block of %zu", what, size,
                (size_t)(address - block->start), block->size);
    if (block->kind == BLOCK_DEVICE && block->device != streams[sid].device &&
        !peers[streams[sid].device][block->device] && strncmp(what, "memcpy", 6))
        violate("wrong-device: %s on a stream of device %d touches memory of device %d", what, streams[sid].device,
                block->device);
    Access new = {NULL, address, address + size, sid, clock->tick[sid], write, what};
    for (Access **link = &block->accesses; *link;) {
        Access *old = *link;
        bool ordered = clock->tick[old->sid] >= old->tick;
        if (old->low < new.high && new.low < old->high && (old->write || write) && !ordered)
            report_race(block, old, &new);
        bool covered = ordered && old->low >= new.low && old->high <= new.high && (write || !old->write);
        bool host_knows = host_clock.tick[old->sid] >= old->tick; /* then all that comes is ordered after it */
        if (covered || host_knows) {
            *link = old->next;
            free(old);
        } else {
            link = &old->next;
        }
    }
    Access *access = malloc(sizeof *access);
    *access = new;
    access->next = block->accesses;
    block->accesses = access;
}

/* ---- how much there is ---- */
void sim_leave_memory(int device, size_t bytes) {
    LOCK();
    settings.memory_limit[device] = device_used[device] + bytes;
    UNLOCK();
}

void sim_memory_info(size_t *available, size_t *total) {
    LOCK();
    *total = settings.memory_limit[current_device] ? settings.memory_limit[current_device] : (size_t)4 << 30;
    *available = *total > device_used[current_device] ? *total - device_used[current_device] : 0;
    UNLOCK();
}
