/* What a compiled kernel module tells the driver about its kernels (C and C++). */
#ifndef CUDASIM_LAUNCH_H
#define CUDASIM_LAUNCH_H
#include <stddef.h>
#include <stdint.h>

#define MODULE_MAGIC "CUDASIM1"
enum { MAX_PARAMS = 128 };
static const uintptr_t RANGE_OPEN = UINTPTR_MAX; /* a raw pointer: to the end of its block */

typedef struct {
    void **params;
    unsigned grid[3], block[3], shared;
} Launch;
typedef struct { /* bytes that a parameter lets the kernel touch */
    uintptr_t low, high;
    int write, param;
} KernelRange;
typedef struct {
    const char *name;
    int count;
    const size_t *sizes;
    void (*run)(const Launch *);
    int (*ranges)(void **params, KernelRange *out);
} Kernel;
#endif
