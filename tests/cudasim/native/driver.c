/* The driver functions that CuPy looks up in libcuda.so.1: modules (our compiled kernels) and launches. */
#include "kernel/launch.h"
#include "sim.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Result;
enum { INVALID_IMAGE = 200, NOT_FOUND = 500 };
static int any_context; /* its address stands for "the primary context" */

Result cuInit(unsigned flags) { return CUDA_OK; }
Result cuDriverGetVersion(int *version) {
    *version = 12090;
    return CUDA_OK;
}
Result cuGetErrorName(Result error, const char **text) {
    *text = "CUDASIM_ERROR";
    return CUDA_OK;
}
Result cuGetErrorString(Result error, const char **text) {
    *text = error == INVALID_IMAGE ? "not a kernel module of this simulator (clear its cache)"
            : error == NOT_FOUND   ? "no such kernel in the module"
                                   : "error of the simulated driver";
    return CUDA_OK;
}
Result cuDevicePrimaryCtxRelease_v2(int device) { return CUDA_OK; }
Result cuCtxGetCurrent(void **context) {
    *context = &any_context;
    return CUDA_OK;
}
Result cuCtxSetCurrent(void *context) { return CUDA_OK; }
Result cuCtxGetDevice(int *device) {
    *device = current_device;
    return CUDA_OK;
}
Result cuStreamGetCtx(void *stream, void **context) {
    *context = &any_context;
    return CUDA_OK;
}

/* A module image is MODULE_MAGIC, the length as 8 bytes, and a shared object. It needs a file with a name of its own:
 * dlopen takes a second file of the same name for the first. */
Result cuModuleLoadData(void **module, const void *image) {
    uint64_t length;
    if (memcmp(image, MODULE_MAGIC, sizeof MODULE_MAGIC - 1)) return INVALID_IMAGE;
    memcpy(&length, (const char *)image + sizeof MODULE_MAGIC - 1, 8);
    const char *body = (const char *)image + sizeof MODULE_MAGIC - 1 + 8;
    char path[] = "/tmp/cudasim-kernel-XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return CUDA_OUT_OF_MEMORY;
    for (uint64_t sent = 0; sent < length;) {
        ssize_t n = write(file, body + sent, length - sent);
        if (n <= 0) {
            close(file);
            unlink(path);
            return CUDA_OUT_OF_MEMORY;
        }
        sent += (uint64_t)n;
    }
    close(file);
    *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*module) fprintf(stderr, "cudasim: %s\n", dlerror());
    unlink(path);
    return *module ? CUDA_OK : INVALID_IMAGE;
}
Result cuModuleUnload(void *module) { return CUDA_OK; } /* launches may still be queued; kernels are small */
Result cuModuleGetFunction(void **function, void *module, const char *name) {
    char symbol[4096];
    snprintf(symbol, sizeof symbol, "sim_kernel_%s", name);
    *function = dlsym(module, symbol);
    return *function ? CUDA_OK : NOT_FOUND;
}
Result cuModuleGetGlobal_v2(intptr_t *address, size_t *size, void *module, const char *name) {
    *address = (intptr_t)dlsym(module, name);
    return *address ? CUDA_OK : NOT_FOUND;
}
Result cuFuncGetAttribute(int *value, int attribute, void *function) {
    *value = attribute == 0 ? 1024 : 0; /* 0: the most threads per block */
    return CUDA_OK;
}
Result cuFuncSetAttribute(void *function, int attribute, int value) { return CUDA_OK; }
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, void *function, int block, size_t shared) {
    *count = 2;
    return CUDA_OK;
}
Result cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, void *callback, size_t shared, int limit) {
    *grid = 4;
    *block = 128;
    return CUDA_OK;
}

/* ---- launches ---- */
typedef struct {
    const Kernel *kernel;
    Launch launch;
    char arguments[];
} Job;

static void run_kernel(void *arg) {
    Job *job = arg;
    job->kernel->run(&job->launch);
    free(job->launch.params);
    free(job);
}
static void run_no_kernel(void *arg) { /* a launch that was told to fail */
    Job *job = arg;
    free(job->launch.params);
    free(job);
}

static Job *job_new(const Kernel *kernel, void **params) { /* with arguments of its own: the caller's end with the call */
    size_t total = 0;
    for (int i = 0; i < kernel->count; i++) total += (kernel->sizes[i] + 15) & ~(size_t)15;
    Job *job = calloc(1, sizeof *job + total + 16);
    job->kernel = kernel;
    job->launch.params = calloc((size_t)kernel->count + 1, sizeof(void *));
    char *place = (char *)(((uintptr_t)job->arguments + 15) & ~(uintptr_t)15);
    for (int i = 0; i < kernel->count; i++) {
        job->launch.params[i] = memcpy(place, params[i], kernel->sizes[i]);
        place += (kernel->sizes[i] + 15) & ~(size_t)15;
    }
    return job;
}

static void touch_params(const Job *job, int sid) { /* [locked] */
    KernelRange ranges[MAX_PARAMS];
    int count = job->kernel->ranges(job->launch.params, ranges);
    for (int i = 0; i < count; i++) {
        if (ranges[i].low == ranges[i].high) continue;
        Block *block = block_find(ranges[i].low);
        if (!block) {
            violate("wrong-side: parameter %d of %s points to memory that is neither the device's nor pinned",
                    ranges[i].param, job->kernel->name);
            continue;
        }
        uintptr_t high = ranges[i].high == RANGE_OPEN ? block->start + block->size : ranges[i].high;
        touch(ranges[i].low, high - ranges[i].low, ranges[i].write, sid, intern(job->kernel->name));
    }
}

Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, intptr_t stream, void **params, void **extra) {
    if (extra) return CUDA_INVALID_VALUE;
    Job *job = job_new(function, params);
    unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    memcpy(job->launch.grid, grid, sizeof grid);
    memcpy(job->launch.block, block, sizeof block);
    job->launch.shared = shared;
    LOCK();
    bool deferred;
    int sid = stream_id(stream), error = sid < 0 ? CUDA_INVALID_HANDLE : fault_take(FAULT_LAUNCH, &deferred);
    if (!error && streams[sid].device != current_device) {
        violate("wrong-device: %s is launched on a stream of device %d while device %d is current", job->kernel->name,
                streams[sid].device, current_device);
        error = CUDA_INVALID_HANDLE;
        deferred = false;
    }
    if (!error || (sid >= 0 && deferred)) {
        Op *op = op_new(SPAN_KERNEL, job->kernel->name, error ? run_no_kernel : run_kernel, job);
        op->failure = error;
        op_push(sid, op);
        touch_params(job, sid);
        COUNT(launch);
        error = CUDA_OK;
    } else {
        run_no_kernel(job);
    }
    UNLOCK();
    return error;
}
