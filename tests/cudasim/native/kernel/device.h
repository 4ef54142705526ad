// The meaning of CUDA C++ on the host: one CPU thread walks the grid; the threads of a block that synchronises run as
// fibers, each until it waits: at a barrier of its warp or of the block.
#pragma once
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <math.h>
#include <tuple>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>
#include "launch.h"

using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::max;
using std::min;
using std::signbit;

#define __CUDACC_VER_MAJOR__ 12
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(n) alignas(n)
#define __shared__ static thread_local  // one block at a time runs on a thread

struct sim_dim3 {
    unsigned x, y, z;
};
static thread_local sim_dim3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

// ---- threads of a block ----
enum sim_state { SIM_RUNS, SIM_AT_WARP_BARRIER, SIM_AT_BLOCK_BARRIER, SIM_DONE };
struct sim_fiber {
    ucontext_t context;
    sim_state state;
    alignas(16) char lane[16]; // what it shows to its warp
};
static thread_local ucontext_t sim_main;
static thread_local std::vector<sim_fiber> sim_fibers;
static thread_local std::vector<char> sim_stacks, sim_dynamic;
static thread_local bool sim_use_fibers;
static thread_local unsigned sim_current;

inline void *sim_shared() { return sim_dynamic.data(); }
inline void sim_wait(sim_state state) {
    if (!sim_use_fibers) return;
    sim_fibers[sim_current].state = state;
    swapcontext(&sim_fibers[sim_current].context, &sim_main);
}
inline void __syncthreads() { sim_wait(SIM_AT_BLOCK_BARRIER); }
inline void __syncwarp(unsigned = 0xffffffffu) { sim_wait(SIM_AT_WARP_BARRIER); }
template <class T> inline T sim_shuffle(T value, int source, int width) { // source: a lane of this thread's group
    if (!sim_use_fibers || source < 0 || source >= width) source = -1;
    if (!sim_use_fibers) return value;
    unsigned group = sim_current / width * width;
    static_assert(sizeof(T) <= 16, "too wide for a shuffle");
    memcpy(sim_fibers[sim_current].lane, &value, sizeof value);
    __syncwarp();
    if (source >= 0 && group + source < sim_fibers.size()) memcpy(&value, sim_fibers[group + source].lane, sizeof value);
    __syncwarp();
    return value;
}
#define SIM_LANE (int)(sim_current % width)
template <class T> inline T __shfl_sync(unsigned, T v, int lane, int width = 32) { return sim_shuffle(v, lane % width, width); }
template <class T> inline T __shfl_xor_sync(unsigned, T v, int mask, int width = 32) { return sim_shuffle(v, SIM_LANE ^ mask, width); }
template <class T> inline T __shfl_up_sync(unsigned, T v, int by, int width = 32) { return sim_shuffle(v, SIM_LANE - by, width); }
template <class T> inline T __shfl_down_sync(unsigned, T v, int by, int width = 32) { return sim_shuffle(v, SIM_LANE + by, width); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline long long clock64() { return 0; }

// ---- atomics: nothing else runs while a kernel's thread does ----
template <class T, class F> inline T sim_update(T *p, F f) {
    T old = *p;
    *p = f(old);
    return old;
}
template <class T, class U> inline T atomicAdd(T *p, U v) { return sim_update(p, [&](T o) { return (T)(o + (T)v); }); }
template <class T, class U> inline T atomicSub(T *p, U v) { return sim_update(p, [&](T o) { return (T)(o - (T)v); }); }
template <class T, class U> inline T atomicMax(T *p, U v) { return sim_update(p, [&](T o) { return (T)v > o ? (T)v : o; }); }
template <class T, class U> inline T atomicMin(T *p, U v) { return sim_update(p, [&](T o) { return (T)v < o ? (T)v : o; }); }
template <class T, class U> inline T atomicExch(T *p, U v) { return sim_update(p, [&](T) { return (T)v; }); }
template <class T, class U> inline T atomicAnd(T *p, U v) { return sim_update(p, [&](T o) { return (T)(o & (T)v); }); }
template <class T, class U> inline T atomicOr(T *p, U v) { return sim_update(p, [&](T o) { return (T)(o | (T)v); }); }
template <class T, class U> inline T atomicXor(T *p, U v) { return sim_update(p, [&](T o) { return (T)(o ^ (T)v); }); }
template <class T, class U, class V> inline T atomicCAS(T *p, U expected, V v) {
    return sim_update(p, [&](T o) { return o == (T)expected ? (T)v : o; });
}

// ---- intrinsics ----
template <class To, class From> inline To sim_bits(From value) {
    To out;
    memcpy(&out, &value, sizeof out);
    return out;
}
inline int __float_as_int(float v) { return sim_bits<int>(v); }
inline unsigned __float_as_uint(float v) { return sim_bits<unsigned>(v); }
inline float __int_as_float(int v) { return sim_bits<float>(v); }
inline float __uint_as_float(unsigned v) { return sim_bits<float>(v); }
inline long long __double_as_longlong(double v) { return sim_bits<long long>(v); }
inline double __longlong_as_double(long long v) { return sim_bits<double>(v); }
inline int __double2hiint(double v) { return (int)(__double_as_longlong(v) >> 32); }
inline int __double2loint(double v) { return (int)__double_as_longlong(v); }
inline double __hiloint2double(int high, int low) { return __longlong_as_double(((long long)high << 32) | (unsigned)low); }
inline float rsqrtf(float x) { return 1.f / sqrtf(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline double rsqrt(double x) { return 1. / sqrt(x); }
inline double sinpi(double x) { return sin(M_PI * x); }
inline double cospi(double x) { return cos(M_PI * x); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }

// ---- running a kernel ----
typedef void (*sim_thunk)(void **params);
static thread_local sim_thunk sim_body;
static thread_local void **sim_params;

static void sim_fiber_main() {
    sim_body(sim_params);
    sim_fibers[sim_current].state = SIM_DONE;
    swapcontext(&sim_fibers[sim_current].context, &sim_main);
}
static void sim_set_thread(unsigned i) {
    sim_current = i;
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
}
// Let those go on who wait at a barrier: all of them, for nobody runs any more who could still come to it.
static bool sim_release(sim_state barrier, unsigned threads) {
    bool any = false;
    for (unsigned i = 0; i < threads; i++)
        if (sim_fibers[i].state == barrier) sim_fibers[i].state = SIM_RUNS, any = true;
    return any;
}
static void sim_run_fibers(unsigned threads) {
    const size_t stack = 64 << 10;
    if (sim_stacks.size() < threads * stack) sim_stacks.resize(threads * stack);
    sim_fibers.resize(threads);
    for (unsigned i = 0; i < threads; i++) {
        sim_fiber &fiber = sim_fibers[i];
        fiber.state = SIM_RUNS;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = &sim_stacks[i * stack];
        fiber.context.uc_stack.ss_size = stack;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, sim_fiber_main, 0);
    }
    do {
        for (unsigned i = 0; i < threads; i++) {
            if (sim_fibers[i].state != SIM_RUNS) continue;
            sim_set_thread(i);
            swapcontext(&sim_main, &sim_fibers[i].context);
        }
    } while (sim_release(SIM_AT_WARP_BARRIER, threads) || sim_release(SIM_AT_BLOCK_BARRIER, threads));
}
static void sim_run(sim_thunk body, const Launch *launch, bool barriers) {
    gridDim = {launch->grid[0], launch->grid[1], launch->grid[2]};
    blockDim = {launch->block[0], launch->block[1], launch->block[2]};
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    sim_use_fibers = barriers && threads > 1;
    sim_body = body;
    sim_params = launch->params;
    if (sim_dynamic.size() < launch->shared) sim_dynamic.resize(launch->shared);
    for (unsigned z = 0; z < gridDim.z; z++)
        for (unsigned y = 0; y < gridDim.y; y++)
            for (unsigned x = 0; x < gridDim.x; x++) {
                blockIdx = {x, y, z};
                if (sim_use_fibers) sim_run_fibers(threads);
                for (unsigned i = 0; i < threads && !sim_use_fibers; i++) {
                    sim_set_thread(i);
                    body(launch->params);
                }
            }
}

// ---- what a parameter lets the kernel touch ----
template <class T> struct sim_reach { // numbers and index helpers: nothing
    static bool of(const void *, KernelRange *) { return false; }
};
template <class T> struct sim_reach<T *> { // a raw pointer: to the end of its block
    static bool of(const void *param, KernelRange *out) {
        out->low = (uintptr_t) * (T *const *)param;
        out->high = RANGE_OPEN;
        return out->low != 0;
    }
};
template <class T, int N, bool C, bool I> class CArray;
template <class T, int N, bool C, bool I> struct sim_reach<CArray<T, N, C, I>> { // exactly, strides and all
    static bool of(const void *param, KernelRange *out) {
        struct Layout { // of CuPy's CArray: pointer, size, shape, strides in bytes
            char *data;
            ptrdiff_t size, shape_strides[N ? 2 * N : 1];
        } array;
        static_assert(sizeof(CArray<T, N, C, I>) == 8 * (2 + 2 * N), "CuPy's CArray has another layout");
        memcpy(&array, param, sizeof(void *) + sizeof(ptrdiff_t) * (1 + 2 * N));
        out->low = (uintptr_t)array.data;
        out->high = out->low + (array.size ? sizeof(T) : 0);
        for (int i = 0; i < N && array.size; i++) {
            ptrdiff_t span = (array.shape_strides[i] - 1) * array.shape_strides[N + i];
            if (span < 0) out->low += span;
            else out->high += span;
        }
        return array.size != 0;
    }
};

template <class F> struct sim_signature;
template <class... A> struct sim_signature<void (*)(A...)> {
    static constexpr int count = sizeof...(A);
    static constexpr size_t sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
    template <size_t... I> static void call(void (*f)(A...), void **params, std::index_sequence<I...>) {
        f(*(std::remove_cv_t<std::remove_reference_t<A>> *)params[I]...);
    }
    static void run(void (*f)(A...), void **params) { call(f, params, std::index_sequence_for<A...>{}); }
    static int ranges(void **params, const int *writes, KernelRange *out) {
        int i = 0, n = 0;
        ((out[n].write = writes[i], out[n].param = i, n += sim_reach<std::remove_cv_t<A>>::of(params[i], &out[n]), ++i), ...);
        return n;
    }
};
#define SIM_EXPORT(name, barriers, ...)                                                                                \
    static void sim_thunk_##name(void **p) { sim_signature<decltype(&name)>::run(&name, p); }                          \
    static void sim_run_##name(const Launch *launch) { sim_run(sim_thunk_##name, launch, barriers); }                  \
    static const int sim_writes_##name[] = {__VA_ARGS__};                                                              \
    static int sim_ranges_##name(void **p, KernelRange *out) {                                                         \
        return sim_signature<decltype(&name)>::ranges(p, sim_writes_##name, out);                                      \
    }                                                                                                                  \
    extern "C" {                                                                                                       \
    Kernel sim_kernel_##name = {#name, sim_signature<decltype(&name)>::count, sim_signature<decltype(&name)>::sizes,   \
                                sim_run_##name, sim_ranges_##name};                                                    \
    }
