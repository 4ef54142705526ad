/* A disk that fails: put in front of the C library with LD_PRELOAD.

   FAULT_UNDER   the folder whose files are concerned
   FAULT_AFTER   how many calls succeed before
   FAULT_KIND    EIO, ENOSPC (they last), or SHORT (every write takes half of its bytes) */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long seen;

static int concerns(int fd) {
    char link[64], path[4096];
    const char *under = getenv("FAULT_UNDER");
    ssize_t size;
    if (under == NULL || getenv("FAULT_KIND") == NULL) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return strncmp(path, under, strlen(under)) == 0;
}

/* Return the error of this call, 0 for none. */
static int fault(int fd) {
    const char *after = getenv("FAULT_AFTER"), *kind = getenv("FAULT_KIND");
    if (!concerns(fd) || strcmp(kind, "SHORT") == 0) return 0;
    if (seen++ < (after ? atol(after) : 0)) return 0;
    return strcmp(kind, "EIO") == 0 ? EIO : ENOSPC;
}

static size_t taken(int fd, size_t count) {
    const char *kind = getenv("FAULT_KIND");
    return kind != NULL && strcmp(kind, "SHORT") == 0 && count > 1 && concerns(fd) ? count / 2 : count;
}

ssize_t write(int fd, const void *data, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    int error = fault(fd);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (error) { errno = error; return -1; }
    return real(fd, data, taken(fd, count));
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    int error = fault(fd);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    if (error) { errno = error; return -1; }
    return real(fd, data, taken(fd, count), offset);
}

ssize_t pwrite64(int fd, const void *data, size_t count, off64_t offset) { return pwrite(fd, data, count, offset); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    static ssize_t (*real)(int, const struct iovec *, int);
    int error = fault(fd);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "writev");
    if (error) { errno = error; return -1; }
    if (count > 0 && taken(fd, 2) == 1) return write(fd, parts[0].iov_base, parts[0].iov_len);
    return real(fd, parts, count);
}

int fsync(int fd) {
    static int (*real)(int);
    int error = fault(fd);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    if (error) { errno = error; return -1; }
    return real(fd);
}
