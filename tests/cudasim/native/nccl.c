/* A stand-in for NCCL (libnccl.so.2) between the simulated GPUs of one process: what CuPy's module links against.
 *
 * A collective call is a library call on its stream: the simulator checks who else touches its memory. It is done when
 * every rank's stream has come to it; the last one computes. Calls of a kind that is not here report an error. */
#include "half.h"
#include "sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 4, MAX_RANKS = 8, PENDING = 64 };
enum { SUM, PROD, MAX, MIN };
enum { ALL_REDUCE, BROADCAST, ALL_GATHER };

typedef struct {
    char internal[128];
} UniqueId;

typedef struct { /* one collective call, as far as ranks have come to it */
    int come, gone, kind, type, op, root;
    size_t count;
    const void *send[MAX_RANKS];
    void *recv[MAX_RANKS];
} Meeting;

typedef struct Clique {
    struct Clique *next;
    long id;
    int size, users;
    Meeting meetings[PENDING]; /* by the number of the call */
} Clique;

typedef struct {
    Clique *clique;
    int rank;
    long calls;
} Comm;

typedef struct {
    Clique *clique;
    long number;
    int rank, kind, type, op, root;
    size_t count;
    const void *send;
    void *recv;
} Call;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Clique *cliques;
static long ids;

static size_t item(int type) {
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8};
    return type >= 0 && type < 9 ? sizes[type] : 0;
}

static double load(const void *p, int type, size_t i) {
    switch (type) {
    case 0: return ((const int8_t *)p)[i];
    case 1: return ((const uint8_t *)p)[i];
    case 2: return ((const int32_t *)p)[i];
    case 3: return ((const uint32_t *)p)[i];
    case 4: return (double)((const int64_t *)p)[i];
    case 5: return (double)((const uint64_t *)p)[i];
    case 6: return half_to_float(((const uint16_t *)p)[i]);
    case 7: return ((const float *)p)[i];
    default: return ((const double *)p)[i];
    }
}

static void store(void *p, int type, size_t i, double value) {
    switch (type) {
    case 0: ((int8_t *)p)[i] = (int8_t)value; break;
    case 1: ((uint8_t *)p)[i] = (uint8_t)value; break;
    case 2: ((int32_t *)p)[i] = (int32_t)value; break;
    case 3: ((uint32_t *)p)[i] = (uint32_t)value; break;
    case 4: ((int64_t *)p)[i] = (int64_t)value; break;
    case 5: ((uint64_t *)p)[i] = (uint64_t)value; break;
    case 6: ((uint16_t *)p)[i] = float_to_half((float)value); break;
    case 7: ((float *)p)[i] = (float)value; break;
    default: ((double *)p)[i] = value;
    }
}

static double combine(int op, double a, double b) {
    return op == SUM ? a + b : op == PROD ? a * b : op == MAX ? (a > b ? a : b) : (a < b ? a : b);
}

static void compute(const Clique *c, Meeting *m) {
    size_t bytes = m->count * item(m->type);
    if (m->kind == ALL_REDUCE)
        for (size_t i = 0; i < m->count; i++) {
            double value = load(m->send[0], m->type, i);
            for (int r = 1; r < c->size; r++) value = combine(m->op, value, load(m->send[r], m->type, i));
            for (int r = 0; r < c->size; r++) store(m->recv[r], m->type, i, value);
        }
    for (int r = 0; r < c->size && m->kind == BROADCAST; r++) memmove(m->recv[r], m->send[m->root], bytes);
    for (int r = 0; r < c->size && m->kind == ALL_GATHER; r++)
        for (int from = 0; from < c->size; from++) memmove((char *)m->recv[r] + from * bytes, m->send[from], bytes);
}

static void meet(void *arg) { /* on the worker thread of a stream */
    Call *call = arg;
    Clique *c = call->clique;
    pthread_mutex_lock(&mutex);
    Meeting *m = &c->meetings[call->number % PENDING];
    m->kind = call->kind, m->type = call->type, m->op = call->op, m->root = call->root, m->count = call->count;
    m->send[call->rank] = call->send;
    m->recv[call->rank] = call->recv;
    if (++m->come == c->size) compute(c, m), pthread_cond_broadcast(&changed);
    while (m->come < c->size) pthread_cond_wait(&changed, &mutex);
    if (++m->gone == c->size) memset(m, 0, sizeof *m);
    pthread_mutex_unlock(&mutex);
    free(call);
}

static int submit(Comm *comm, intptr_t stream, const char *name, Call call, size_t sent, size_t received) {
    if (!item(call.type)) return INVALID;
    call.clique = comm->clique, call.rank = comm->rank, call.number = comm->calls++;
    Call *kept = malloc(sizeof *kept);
    *kept = call;
    Range ranges[] = {{(uintptr_t)call.send, sent * item(call.type), 0}, {(uintptr_t)call.recv, received * item(call.type), 1}};
    return sim_enqueue(stream, name, meet, kept, 2, ranges) ? INVALID : OK;
}

int ncclGetVersion(int *version) { return *version = 22005, OK; }
const char *ncclGetErrorString(int result) { return result ? "the stand-in for NCCL cannot do that" : "no error"; }

int ncclGetUniqueId(UniqueId *id) {
    memset(id, 0, sizeof *id);
    pthread_mutex_lock(&mutex);
    long number = ++ids;
    pthread_mutex_unlock(&mutex);
    memset(id->internal, 1, sizeof id->internal); /* no byte may be lost on the way */
    memcpy(id->internal + sizeof id->internal - sizeof number, &number, sizeof number);
    return OK;
}

int ncclCommInitRank(Comm **out, int size, UniqueId id, int rank) {
    long number;
    memcpy(&number, id.internal + sizeof id.internal - sizeof number, sizeof number);
    if (size < 1 || size > MAX_RANKS || rank < 0 || rank >= size || id.internal[0] != 1) return INVALID;
    pthread_mutex_lock(&mutex);
    Clique *c = cliques;
    while (c && c->id != number) c = c->next;
    if (!c) {
        c = calloc(1, sizeof *c);
        c->id = number, c->size = size, c->next = cliques;
        cliques = c;
    }
    c->users++;
    pthread_mutex_unlock(&mutex);
    *out = calloc(1, sizeof **out);
    (*out)->clique = c, (*out)->rank = rank;
    return OK;
}
int ncclCommInitRankConfig(Comm **out, int size, UniqueId id, int rank, void *config) {
    return ncclCommInitRank(out, size, id, rank);
}
int ncclCommDestroy(Comm *comm) { return free(comm), OK; }
int ncclCommAbort(Comm *comm) { return free(comm), OK; }
int ncclCommCount(Comm *comm, int *count) { return *count = comm->clique->size, OK; }
int ncclCommUserRank(Comm *comm, int *rank) { return *rank = comm->rank, OK; }
int ncclCommCuDevice(Comm *comm, int *device) { return *device = comm->rank, OK; }
int ncclCommGetAsyncError(Comm *comm, int *error) { return *error = OK, OK; }
int ncclGroupStart(void) { return OK; } /* calls never wait, so a group needs no care */
int ncclGroupEnd(void) { return OK; }

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, Comm *comm, intptr_t stream) {
    Call call = {.kind = ALL_REDUCE, .type = type, .op = op, .count = count, .send = send, .recv = recv};
    return submit(comm, stream, "ncclAllReduce", call, count, count);
}
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, Comm *comm, intptr_t stream) {
    Call call = {.kind = BROADCAST, .type = type, .root = root, .count = count, .send = send, .recv = recv};
    return submit(comm, stream, "ncclBroadcast", call, comm->rank == root ? count : 0, count);
}
int ncclBcast(void *buffer, size_t count, int type, int root, Comm *comm, intptr_t stream) {
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
int ncclAllGather(const void *send, void *recv, size_t count, int type, Comm *comm, intptr_t stream) {
    Call call = {.kind = ALL_GATHER, .type = type, .count = count, .send = send, .recv = recv};
    return submit(comm, stream, "ncclAllGather", call, count, count * (size_t)comm->clique->size);
}

int ncclCommInitAll() { return INVALID; }
int ncclCommSplit() { return INVALID; }
int ncclReduce() { return INVALID; }
int ncclReduceScatter() { return INVALID; }
int ncclSend() { return INVALID; }
int ncclRecv() { return INVALID; }
