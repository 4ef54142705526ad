"""Share the work of a kernel among threads; the result does not depend on their number."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

import numpy as np

compiled: Any
try:
    from fluidio.ops.compiled import _channels as compiled
except ImportError:
    compiled = None

__all__ = ["close", "limited", "share", "thread_count"]


_limit: ContextVar[int | None] = ContextVar("threads of a kernel", default=None)


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Limit the threads of kernels called inside the block."""
    before = _limit.set(min(max(threads, 1), thread_count()))
    try:
        yield
    finally:
        _limit.reset(before)


def thread_count() -> int:
    """Return how many threads a kernel may use: set by the environment, as for NumPy's BLAS, else one per core."""
    limit = _limit.get()
    if limit is not None:
        return limit
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        given = os.environ.get(name, "").split(",")[0].strip()
        if given.isdigit() and int(given) > 0:
            return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Job:
    """The parts of one kernel's work: the caller takes them as well, so none waits for a thread that is late."""

    def __init__(self, run: Callable[[int, int], object], parts: Sequence[tuple[int, int]]) -> None:
        self.run: Any = run
        self.errors: list[tuple[int, BaseException]] = []
        self._parts = deque(parts)
        self._unfinished = list(range(len(parts)))
        self._done = threading.Lock()
        self._done.acquire()
        self._flush = compiled.flush_denormals(-1) if compiled is not None else None
        self._numpy_errors: Any = np.geterr()

    def help(self) -> None:
        """Run parts with the caller's treatment of denormal numbers and floating-point errors."""
        if not self._parts:
            return
        if self._flush is not None:
            compiled.flush_denormals(self._flush)
        with np.errstate(**self._numpy_errors):
            self.work()

    def work(self) -> None:
        """Run parts until none is left."""
        while True:
            try:
                begin, end = self._parts.popleft()
            except IndexError:
                return
            try:
                self.run(begin, end)
            except BaseException as error:
                self.errors.append((begin, error))
            finally:
                if self._unfinished.pop() == 0:
                    self._done.release()

    def wait(self) -> None:
        """Wait for the parts that other threads have taken; raise the error of the first part that failed."""
        self._done.acquire()
        self.run = None  # a thread that comes too late must not keep the arrays
        if self.errors:
            raise min(self.errors, key=lambda one: one[0])[1]


class _Pool:
    """Threads besides the caller's, which wait for jobs. A queue and two locks cost less than an executor's futures."""

    def __init__(self, threads: int) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, name=f"fluidio-kernel-{i}", daemon=True) for i in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def _serve(self) -> None:
        while True:
            job = self.jobs.get()
            if job is None:
                return
            job.help()
            del job

    def close(self) -> None:
        for _ in self._threads:
            self.jobs.put(None)
        for thread in self._threads:
            thread.join()


_pools: dict[tuple[int, int], _Pool] = {}
_starting = threading.Lock()


def _pool(threads: int) -> _Pool:
    """Return the pool of so many threads; a forked process has its own."""
    key = os.getpid(), threads
    found = _pools.get(key)
    if found is None:
        with _starting:  # another thread may be first
            found = _pools[key] = _pools.get(key) or _Pool(threads)
    return found


def close() -> None:
    """End the threads; the next kernel that shares its work starts new ones."""
    for process, threads in list(_pools):
        pool = _pools.pop((process, threads))
        if process == os.getpid():
            pool.close()


def share(total: int, least: int, run: Callable[[int, int], object]) -> None:
    """Call `run(begin, end)` for parts of range(total), each of at least `least`, and wait for all of them.

    This helps only if `run` releases the interpreter lock.
    """
    parts = total // max(least, 1)
    threads = min(parts, thread_count()) if parts > 1 else 1
    if threads < 2:
        run(0, total)
        return
    edges = [total * i // threads for i in range(threads + 1)]
    job = _Job(run, list(itertools.pairwise(edges)))
    jobs = _pool(threads - 1).jobs
    for _ in range(threads - 1):
        jobs.put(job)
    job.work()
    job.wait()
