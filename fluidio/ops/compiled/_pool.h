/* Share the work of a kernel among threads that need no interpreter lock: `_pool.c` holds them, for all modules here. */

/* Compute the units [begin, end) of a kernel's work. */
typedef void Part(void *work, Py_ssize_t begin, Py_ssize_t end);

/* Call `run` for parts of [0, total), each of at least `least`, on at most `threads` threads; return when all are done.
   Parts see the caller's treatment of denormal numbers and rounding. */
typedef void Share(Part *run, void *work, Py_ssize_t total, Py_ssize_t least, Py_ssize_t threads);

#ifndef SHARES_ITSELF
static Share *share;

/* Import `share`: what a module does when it is loaded. */
static int take_share(PyObject *module) {
    (void)module;
    PyObject *pool = PyImport_ImportModule("fluidio.ops.compiled._pool");
    PyObject *capsule = pool == NULL ? NULL : PyObject_GetAttrString(pool, "share");
    share = capsule == NULL ? NULL : (Share *)PyCapsule_GetPointer(capsule, "fluidio.ops.compiled._pool.share");
    Py_XDECREF(capsule);
    Py_XDECREF(pool);
    return share == NULL ? -1 : 0;
}
#endif
