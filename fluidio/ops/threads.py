"""Share the work of a kernel among threads; the result does not depend on their number."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

pool: Any
try:
    from fluidio.ops.compiled import _pool as pool
except ImportError:
    pool = None

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
    """The parts of one kernel's work, done with the caller's treatment of floating-point errors."""

    def __init__(self, run: Callable[[int, int], object]) -> None:
        self.run: Any = run
        self.errors: list[tuple[int, BaseException]] = []
        self._caller = threading.get_ident()
        self._numpy_errors: Any = np.geterr()

    def part(self, begin: int, end: int) -> None:
        """Do a part, and keep its error."""
        try:
            if threading.get_ident() == self._caller:
                self.run(begin, end)
            else:
                with np.errstate(**self._numpy_errors):
                    self.run(begin, end)
        except BaseException as error:
            self.errors.append((begin, error))

    def finish(self) -> None:
        """Raise the error of the first part that failed."""
        self.run = None  # a thread that comes too late must not keep the arrays
        if self.errors:
            raise min(self.errors, key=lambda one: one[0])[1]


def _with_futures(part: Callable[[int, int], object], total: int, threads: int) -> None:
    """Do what `pool.call_in_parts` does; a forked process has threads of its own."""
    key = os.getpid(), threads
    if key not in _futures:
        _futures[key] = ThreadPoolExecutor(threads - 1, "fluidio-kernel")
    edges = [total * i // threads for i in range(threads + 1)]
    others = [_futures[key].submit(part, *edge) for edge in itertools.pairwise(edges[1:])]
    part(0, edges[1])
    wait(others)


_futures: dict[tuple[int, int], ThreadPoolExecutor] = {}


def close() -> None:
    """End the threads; the next kernel that shares its work starts new ones."""
    while _futures:
        (process, _), executor = _futures.popitem()
        if process == os.getpid():
            executor.shutdown()
    if pool is not None:
        pool.close()


def share(total: int, least: int, run: Callable[[int, int], object]) -> None:
    """Call `run(begin, end)` for parts of range(total), each of at least `least`, and wait for all of them.

    This helps only if `run` releases the interpreter lock. Kernels in C share their work without Python: `_pool.h`.
    """
    parts = total // max(least, 1)
    threads = min(parts, thread_count()) if parts > 1 else 1
    if threads < 2:
        run(0, total)
        return
    job = _Job(run)
    if pool is not None:
        pool.call_in_parts(job.part, total, least, threads)
    else:
        _with_futures(job.part, total, threads)
    job.finish()
