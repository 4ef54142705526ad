/* Threads that kernels share their work among: see _pool.h.

   A thread that has finished a job looks out for the next one for a while before it sleeps, as waking it takes longer
   than many kernels. The thread that brings a job takes parts of it, too, and never waits for a thread that is late.
*/

#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* for what sched.h knows of processors */
#endif

#include "../../_python.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define SHARES_ITSELF
#include "_pool.h"

#define MOST 256       /* threads */
#define JOBS 8         /* at a time; who brings another one does it alone */
#define LOOKOUT 100000 /* nanoseconds for which a thread looks out before it sleeps, at most, */
#define GLIMPSE 6000   /* and at least: less and less where jobs do not come in time */
#define NAP 20000      /* nanoseconds for which it then sleeps while others finish a job */
#define GLANCES 64     /* looks between two at the clock */

#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ __volatile__("yield")
#else
#define PAUSE() ((void)0)
#endif

typedef struct {
    Part *run;
    void *work;
    Py_ssize_t total, parts;
    fenv_t environment;
    int processor; /* on which the thread ran that brought it; -1: not known */
    atomic_long next, left, inside; /* the first part nobody has taken; parts not done; threads that look at the job */
    atomic_int taken, open;         /* whether it belongs to a thread; whether others may look at it */
} Job;

static Job jobs[JOBS];
static atomic_long brought, wanted, asleep; /* jobs so far; threads that those at hand want; threads that sleep */
static atomic_long in_use;                  /* parts of all jobs at hand, and of work that its thread does alone */
static atomic_int closing;                  /* whether the threads are to end */
static long processors = 1;                 /* that the process may use */

static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER; /* held to sleep, to wake, and to start and end threads */
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static pthread_t workers[MOST];
static atomic_long working; /* threads that there are; they change under `bed` */

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int this_processor(void) {
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Leave the processor of the thread that brought a job. Where all are busy, the system wakes a thread on that one, and
   often leaves it there: two threads would then have one processor, while another program has the other. */
static void make_way(int processor) {
#if defined(__linux__)
    cpu_set_t allowed;
    if (processor < 0 || processor >= CPU_SETSIZE || this_processor() != processor ||
        sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    CPU_CLR(processor, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
#else
    (void)processor;
#endif
}

static void take_parts(Job *job) {
    for (Py_ssize_t i; (i = atomic_fetch_add(&job->next, 1)) < job->parts;) {
        job->run(job->work, job->total * i / job->parts, job->total * (i + 1) / job->parts);
        atomic_fetch_sub(&job->left, 1);
    }
}

/* Help with the jobs at hand. Nobody changes a job while a thread is inside. */
static void help(void) {
    for (Job *job = jobs; job < jobs + JOBS; job++) {
        atomic_fetch_add(&job->inside, 1);
        if (atomic_load(&job->open)) {
            fesetenv(&job->environment);
            make_way(job->processor);
            take_parts(job);
        }
        atomic_fetch_sub(&job->inside, 1);
    }
}

/* Wait until another job is brought: awake for `patience` nanoseconds, then asleep. Return how many there were. */
static long wait_for_job(long seen, long *patience) {
    long found;
    for (int64_t end = nanoseconds() + *patience; nanoseconds() < end;)
        for (int i = 0; i < GLANCES; i++) {
            if ((found = atomic_load(&brought)) != seen) {
                *patience = *patience < LOOKOUT / 2 ? 2 * *patience : LOOKOUT;
                return found;
            }
            PAUSE();
        }
    *patience = *patience > 2 * GLIMPSE ? *patience / 2 : GLIMPSE;
    pthread_mutex_lock(&bed);
    atomic_fetch_add(&asleep, 1);
    while ((found = atomic_load(&brought)) == seen && !atomic_load(&closing))
        pthread_cond_wait(&bell, &bed);
    atomic_fetch_sub(&asleep, 1);
    pthread_mutex_unlock(&bed);
    return found;
}

static void *serve(void *seen_first) {
    long patience = LOOKOUT;
    for (long seen = (long)(intptr_t)seen_first; !atomic_load(&closing);) {
        seen = wait_for_job(seen, &patience);
        help();
    }
    return NULL;
}

static void wake(void) {
    pthread_mutex_lock(&bed);
    pthread_cond_broadcast(&bell);
    pthread_mutex_unlock(&bed);
}

/* Start threads until there are `count`, as far as the system allows. They leave signals to Python's threads. */
static void start(Py_ssize_t count) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_lock(&bed);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (long i; (i = atomic_load(&working)) < count && i < MOST; atomic_store(&working, i + 1))
        if (pthread_create(workers + i, NULL, serve, (void *)(intptr_t)atomic_load(&brought)) != 0)
            break;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&bed);
}

/* Wait until a counter is zero. A thread that is late may need this one's processor, so it does not look out for long. */
static void wait_for_zero(atomic_long *counter) {
    for (int64_t end = nanoseconds() + LOOKOUT; nanoseconds() < end;)
        for (int i = 0; i < GLANCES; i++) {
            if (atomic_load(counter) == 0)
                return;
            PAUSE();
        }
    for (struct timespec nap = {0, NAP}; atomic_load(counter) != 0;)
        nanosleep(&nap, NULL);
}

/* Return a job that belongs to no thread, now to this one; NULL if there is none. */
static Job *take_job(void) {
    for (Job *job = jobs; job < jobs + JOBS; job++)
        if (!atomic_load(&job->taken) && !atomic_exchange(&job->taken, 1))
            return job;
    return NULL;
}

/* Share work among threads, the caller and `parts - 1` others. */
static void share_in_parts(Job *job, Part *run, void *work, Py_ssize_t total, Py_ssize_t parts) {
    Py_ssize_t now_wanted = atomic_fetch_add(&wanted, parts - 1) + parts - 1;
    if (atomic_load(&working) < now_wanted)
        start(now_wanted);
    job->run = run, job->work = work, job->total = total, job->parts = parts;
    fegetenv(&job->environment);
    job->processor = this_processor();
    atomic_store(&job->next, 0);
    atomic_store(&job->left, parts);
    atomic_store(&job->open, 1);
    atomic_fetch_add(&brought, 1);
    if (atomic_load(&asleep))
        wake();
    take_parts(job);
    wait_for_zero(&job->left);
    atomic_store(&job->open, 0);
    wait_for_zero(&job->inside);
    atomic_fetch_sub(&wanted, parts - 1);
    atomic_store(&job->taken, 0);
}

/* Return how many parts work is worth: fewer where others use the processors, several trainers in a process for one. */
static Py_ssize_t parts_of(Py_ssize_t total, Py_ssize_t least, Py_ssize_t threads) {
    Py_ssize_t parts = total / (least > 1 ? least : 1), unused = (processors > threads ? processors : threads);
    unused -= atomic_load(&in_use);
    parts = parts < threads ? parts : threads;
    parts = parts < unused ? parts : unused;
    parts = parts < MOST ? parts : MOST;
    return parts > 1 ? parts : 1;
}

static void share_among(Part *run, void *work, Py_ssize_t total, Py_ssize_t least, Py_ssize_t threads) {
    Py_ssize_t parts = parts_of(total, least, threads);
    Job *job = parts < 2 ? NULL : take_job();
    parts = job == NULL ? 1 : parts;
    atomic_fetch_add(&in_use, parts);
    if (job == NULL)
        run(work, 0, total);
    else
        share_in_parts(job, run, work, total, parts);
    atomic_fetch_sub(&in_use, parts);
}

/* What parts that Python code does have in common: the first error of one. */
typedef struct {
    PyObject *run, *type, *value, *traceback;
    atomic_int failed;
} Calls;

static void call(void *work, Py_ssize_t begin, Py_ssize_t end) {
    Calls *calls = work;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *result = PyObject_CallFunction(calls->run, "nn", begin, end);
    if (result == NULL && !atomic_exchange(&calls->failed, 1))
        PyErr_Fetch(&calls->type, &calls->value, &calls->traceback);
    else if (result == NULL)
        PyErr_Clear();
    Py_XDECREF(result);
    PyGILState_Release(state);
}

/* call_in_parts(run, total, least, threads): call run(begin, end) for parts of range(total); raise the first error. */
static PyObject *call_in_parts(PyObject *module, PyObject *args) {
    Calls calls = {.failed = 0};
    Py_ssize_t total, least, threads;
    if (!PyArg_ParseTuple(args, "Onnn", &calls.run, &total, &least, &threads))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    share_among(call, &calls, total, least, threads);
    Py_END_ALLOW_THREADS
    if (atomic_load(&calls.failed)) {
        PyErr_Restore(calls.type, calls.value, calls.traceback);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* close(): end the threads; the next kernel that shares its work starts new ones. Nothing else may run. */
static PyObject *close_pool(PyObject *module, PyObject *none) {
    Py_BEGIN_ALLOW_THREADS
    atomic_store(&closing, 1);
    wake();
    for (long i; (i = atomic_load(&working)) > 0; atomic_store(&working, i - 1))
        pthread_join(workers[i - 1], NULL);
    atomic_store(&closing, 0);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* A forked process has none of the threads, and only its own thread's jobs, which are none. */
static void forget(void) {
    pthread_mutex_init(&bed, NULL);
    pthread_cond_init(&bell, NULL);
    atomic_store(&working, 0);
    atomic_store(&wanted, 0);
    atomic_store(&in_use, 0);
    atomic_store(&asleep, 0);
    atomic_store(&closing, 0);
    for (Job *job = jobs; job < jobs + JOBS; job++) {
        atomic_store(&job->inside, 0);
        atomic_store(&job->open, 0);
        atomic_store(&job->taken, 0);
    }
}

static void count_processors(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    processors = online > 1 ? online : 1;
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        processors = CPU_COUNT(&allowed);
#endif
}

static int prepare(PyObject *module) {
    static int once;
    if (!once && pthread_atfork(NULL, NULL, forget) != 0) {
        PyErr_SetString(PyExc_OSError, "pthread_atfork failed");
        return -1;
    }
    once = 1;
    count_processors();
    PyObject *capsule = PyCapsule_New((void *)share_among, "fluidio.ops.compiled._pool.share", NULL);
    int failed = capsule == NULL || PyModule_AddObjectRef(module, "share", capsule) < 0;
    Py_XDECREF(capsule);
    return -failed;
}

static PyMethodDef methods[] = {
    {"call_in_parts", call_in_parts, METH_VARARGS, NULL},
    {"close", close_pool, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_pool", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__pool(void) { return PyModuleDef_Init(&definition); }
