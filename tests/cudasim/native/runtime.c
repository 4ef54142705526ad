/* The C faces of CuPy's cudart wrappers.
 *
 * CuPy's modules call cupy_backends.cuda.api.runtime through C pointers kept in capsules. Each rt_NAME here has exactly
 * the signature written on the capsule NAME (capsules.py compares them); it sets a Python exception for an error.
 * Waits let go of the GIL. Python.h is not needed for the dozen functions used. */
#include "sim.h"
#include <stdlib.h>

typedef struct _object PyObject;
extern PyObject *Py_BuildValue(const char *, ...);
extern PyObject *PyObject_CallFunction(PyObject *, const char *, ...);
extern void PyErr_SetObject(PyObject *, PyObject *);
extern void PyErr_WriteUnraisable(PyObject *);
extern void Py_IncRef(PyObject *), Py_DecRef(PyObject *);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);
extern int PyGILState_Ensure(void);
extern void PyGILState_Release(int);

extern void sim_memory_info(size_t *available, size_t *total);

static PyObject *error_type, *make_pointer_attributes, *make_properties;

void sim_python(PyObject *error, PyObject *pointer_attributes, PyObject *properties) {
    Py_IncRef(error_type = error);
    Py_IncRef(make_pointer_attributes = pointer_attributes);
    Py_IncRef(make_properties = properties);
}

static PyObject *fail(int status) {
    PyObject *error = PyObject_CallFunction(error_type, "i", status);
    if (error) {
        PyErr_SetObject(error_type, error);
        Py_DecRef(error);
    }
    return NULL;
}
static PyObject *done(int status) { return status ? fail(status) : Py_BuildValue(""); }
static PyObject *answer(int status) { /* of a query: "not ready" is an answer, not an error */
    return status && status != CUDA_NOT_READY ? fail(status) : Py_BuildValue("i", status);
}
static intptr_t handle(int status, const intptr_t *value) { /* by pointer: the call that fills it comes first */
    if (status) fail(status);
    return status ? 0 : *value;
}
#define WITHOUT_GIL(call)                                                                                              \
    ({                                                                                                                 \
        void *gil_ = PyEval_SaveThread();                                                                              \
        int status_ = (call);                                                                                          \
        PyEval_RestoreThread(gil_);                                                                                    \
        status_;                                                                                                       \
    })
typedef int Skip; /* Cython's hidden "skip the Python override" argument */

/* ---- devices ---- */
PyObject *rt__ensure_context(void) { return done(CUDA_OK); }
PyObject *rt_check_status(int status, Skip skip) { return done(status); }
PyObject *rt_profilerStart(Skip skip) { return done(CUDA_OK); }
PyObject *rt_profilerStop(Skip skip) { return done(CUDA_OK); }
int rt__getCUDAMajorVersion(Skip skip) { return 12; }
int rt_driverGetVersion(Skip skip) { return 12090; }
int rt_runtimeGetVersion(Skip skip) { return 12090; }
int rt_getDevice(Skip skip) { return current_device; }
int rt_getDeviceCount(Skip skip) { return settings.devices; }
PyObject *rt_setDevice(int device, Skip skip) {
    if (device < 0 || device >= settings.devices) return fail(CUDA_INVALID_DEVICE);
    current_device = device;
    return done(CUDA_OK);
}
PyObject *rt_getDeviceProperties(int device, Skip skip) {
    if (device < 0 || device >= settings.devices) return fail(CUDA_INVALID_DEVICE);
    return PyObject_CallFunction(make_properties, "i", device);
}
int rt_deviceGetAttribute(int attribute, int device, Skip skip) {
    switch (attribute) { /* numbers of cudaDeviceAttr */
    case 1: return 1024;  /* threads per block */
    case 8: return 49152; /* shared memory per block */
    case 10: return 32;   /* warp size */
    case 16: return 4;    /* multiprocessors */
    case 39: return 2048; /* threads per multiprocessor */
    case 75: return 8;    /* compute capability 8.0 */
    case 76: return 0;
    case 97: return 49152; /* shared memory per block, opted in */
    case 115: return 0;    /* memory pools: no */
    default: return 1;
    }
}
PyObject *rt_deviceSynchronize(Skip skip) { return done(WITHOUT_GIL(device_sync())); }
int rt_deviceCanAccessPeer(int device, int peer, Skip skip) { return device != peer; }
PyObject *rt_deviceEnablePeerAccess(int peer, Skip skip) { return done(peer_enable(current_device, peer)); }
PyObject *rt__deviceEnsurePeerAccess(int peer, Skip skip) { return done(peer_enable(current_device, peer)); }

/* ---- memory ---- */
PyObject *rt_memGetInfo(Skip skip) {
    size_t available, total;
    sim_memory_info(&available, &total);
    return Py_BuildValue("(nn)", (ssize_t)available, (ssize_t)total);
}
intptr_t rt_malloc(size_t size, Skip skip) {
    intptr_t out = 0;
    return handle(memory_alloc(BLOCK_DEVICE, size, &out), &out);
}
intptr_t rt_hostAlloc(size_t size, unsigned flags, Skip skip) {
    intptr_t out = 0;
    return handle(memory_alloc(BLOCK_PINNED, size, &out), &out);
}
PyObject *rt_free(intptr_t p, Skip skip) { return done(WITHOUT_GIL(memory_free(BLOCK_DEVICE, p))); }
PyObject *rt_freeHost(intptr_t p, Skip skip) { return done(WITHOUT_GIL(memory_free(BLOCK_PINNED, p))); }
PyObject *rt_hostRegister(intptr_t p, size_t size, unsigned flags, Skip skip) { return done(memory_register(p, size)); }
PyObject *rt_hostUnregister(intptr_t p, Skip skip) { return done(WITHOUT_GIL(memory_free(BLOCK_REGISTERED, p))); }

static int memory_type(intptr_t p, int *device) { /* cudaMemoryType: 0 unregistered, 1 host, 2 device */
    LOCK();
    Block *block = block_find((uintptr_t)p);
    int type = !block ? 0 : block->kind == BLOCK_DEVICE ? 2 : 1;
    *device = block ? block->device : -2;
    UNLOCK();
    return type;
}
int rt_pointerGetMemoryType(intptr_t p, Skip skip) {
    int device;
    return memory_type(p, &device);
}
PyObject *rt_pointerGetAttributes(intptr_t p, Skip skip) {
    int device, type = memory_type(p, &device);
    return PyObject_CallFunction(make_pointer_attributes, "inni", device, (ssize_t)(type ? p : 0),
                                 (ssize_t)(type == 2 ? 0 : p), type);
}
PyObject *rt_memcpy(intptr_t d, intptr_t s, size_t n, int kind, Skip skip) {
    return done(WITHOUT_GIL(copy(d, s, n, kind, 0, false)));
}
PyObject *rt_memcpyAsync(intptr_t d, intptr_t s, size_t n, int kind, intptr_t stream, Skip skip) {
    return done(WITHOUT_GIL(copy(d, s, n, kind, stream, true)));
}
PyObject *rt_memcpyPeer(intptr_t d, int to, intptr_t s, int from, size_t n, Skip skip) {
    return done(WITHOUT_GIL(copy(d, s, n, COPY_D2D, 0, false)));
}
PyObject *rt_memcpyPeerAsync(intptr_t d, int to, intptr_t s, int from, size_t n, intptr_t stream, Skip skip) {
    return done(WITHOUT_GIL(copy(d, s, n, COPY_D2D, stream, true)));
}
PyObject *rt_memset(intptr_t p, int value, size_t n, Skip skip) { return done(WITHOUT_GIL(fill(p, value, n, 0, false))); }
PyObject *rt_memsetAsync(intptr_t p, int value, size_t n, intptr_t stream, Skip skip) {
    return done(fill(p, value, n, stream, true));
}

/* ---- streams and events ---- */
static intptr_t new_stream(unsigned flags) {
    intptr_t out = 0;
    return handle(stream_create(&out, flags), &out);
}
static intptr_t new_event(void) {
    intptr_t out = 0;
    return handle(event_create(&out), &out);
}
intptr_t rt_streamCreate(Skip skip) { return new_stream(0); }
intptr_t rt_streamCreateWithFlags(unsigned flags, Skip skip) { return new_stream(flags); }
intptr_t rt_streamCreateWithPriority(unsigned flags, int priority, Skip skip) { return new_stream(flags); }
PyObject *rt_streamDestroy(intptr_t s, Skip skip) { return done(WITHOUT_GIL(stream_destroy(s))); }
PyObject *rt_streamSynchronize(intptr_t s, Skip skip) { return done(WITHOUT_GIL(stream_sync(s))); }
PyObject *rt_streamQuery(intptr_t s, Skip skip) { return answer(stream_query(s)); }
PyObject *rt_streamWaitEvent(intptr_t s, intptr_t e, Skip skip, void *optional) { return done(event_wait(s, e)); }
unsigned rt_streamGetFlags(intptr_t s, Skip skip) {
    unsigned flags = 0;
    int status = stream_flags(s, &flags);
    if (status) fail(status);
    return flags;
}
int rt_streamGetPriority(intptr_t s, Skip skip) { return 0; }
int rt_streamIsCapturing(intptr_t s, Skip skip) { return 0; }
intptr_t rt_eventCreate(Skip skip) { return new_event(); }
intptr_t rt_eventCreateWithFlags(unsigned flags, Skip skip) { return new_event(); }
PyObject *rt_eventDestroy(intptr_t e, Skip skip) { return done(event_destroy(e)); }
PyObject *rt_eventRecord(intptr_t e, intptr_t s, Skip skip) { return done(event_record(e, s)); }
PyObject *rt_eventSynchronize(intptr_t e, Skip skip) { return done(WITHOUT_GIL(event_sync(e))); }
PyObject *rt_eventQuery(intptr_t e, Skip skip) { return answer(event_query(e)); }
float rt_eventElapsedTime(intptr_t start, intptr_t end, Skip skip) {
    float milliseconds = 0;
    int status = event_elapsed(start, end, &milliseconds);
    if (status) fail(status);
    return milliseconds;
}

/* ---- host functions on a stream ---- */
typedef struct {
    PyObject *function;
    intptr_t argument;
} HostCall;

static void run_host_call(void *arg) {
    HostCall *call = arg;
    int gil = PyGILState_Ensure();
    PyObject *result = PyObject_CallFunction(call->function, "(n)", (ssize_t)call->argument);
    if (result) Py_DecRef(result);
    else PyErr_WriteUnraisable(call->function);
    Py_DecRef(call->function);
    PyGILState_Release(gil);
    free(call);
}

PyObject *rt_launchHostFunc(intptr_t stream, PyObject *function, intptr_t argument, Skip skip) {
    LOCK();
    int sid = stream_id(stream);
    if (sid >= 0) {
        HostCall *call = malloc(sizeof *call);
        *call = (HostCall){function, argument};
        Py_IncRef(function);
        op_push(sid, op_new(SPAN_HOST_CALL, "launchHostFunc", run_host_call, call));
        COUNT(host_call);
    }
    UNLOCK();
    return done(sid < 0 ? CUDA_INVALID_HANDLE : CUDA_OK);
}
