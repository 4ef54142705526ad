/* Hold NumPy's BLAS to one thread: blas.py says when and why. */

#include "../../_python.h"

#include <pthread.h>

static int (*count)(void);   /* what the BLAS answers with its threads, */
static void (*change)(int);  /* and what sets them; NULL where they are not known */
static long inside;          /* callers between enter() and leave() */
static int before;           /* threads that the BLAS had when the first of them came */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* use(count, change): take the addresses of both functions. */
static PyObject *use(PyObject *module, PyObject *args) {
    PyObject *counts, *changes;
    if (!PyArg_ParseTuple(args, "OO", &counts, &changes))
        return NULL;
    void *one = PyLong_AsVoidPtr(counts), *other = PyLong_AsVoidPtr(changes);
    if (PyErr_Occurred())
        return NULL;
    pthread_mutex_lock(&turn);
    count = (int (*)(void))one, change = (void (*)(int))other;
    pthread_mutex_unlock(&turn);
    Py_RETURN_NONE;
}

/* enter(): the BLAS has one thread until as many leave() as have entered. */
static PyObject *enter(PyObject *module, PyObject *none) {
    pthread_mutex_lock(&turn);
    if (inside++ == 0 && change != NULL && (before = count()) > 1)
        change(1);
    pthread_mutex_unlock(&turn);
    Py_RETURN_NONE;
}

/* leave(): the last one gives the BLAS its threads back, unless somebody has set others meanwhile. */
static PyObject *leave(PyObject *module, PyObject *none) {
    pthread_mutex_lock(&turn);
    if (--inside == 0 && change != NULL && before > 1 && count() == 1)
        change(before);
    pthread_mutex_unlock(&turn);
    Py_RETURN_NONE;
}

static void lock(void) { pthread_mutex_lock(&turn); }

static void unlock(void) { pthread_mutex_unlock(&turn); }

/* A forked process has one of the threads, which is inside, or else nobody is. The lock is held while it forks. */
static int prepare(PyObject *module) {
    static int once;
    if (!once && pthread_atfork(lock, unlock, unlock) != 0) {
        PyErr_SetString(PyExc_OSError, "pthread_atfork failed");
        return -1;
    }
    once = 1;
    return 0;
}

static PyMethodDef methods[] = {
    {"use", use, METH_VARARGS, NULL},
    {"enter", enter, METH_NOARGS, NULL},
    {"leave", leave, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_blas", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__blas(void) { return PyModuleDef_Init(&definition); }
