"""Share the work of a kernel among threads; the result does not depend on their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

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
    """Return how many threads a kernel may use, as NumPy's BLAS does: from the environment, else every core."""
    limit = _limit.get()
    if limit is not None:
        return limit
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        given = os.environ.get(name, "").split(",")[0].strip()
        if given.isdigit() and int(given) > 0:
            return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the threads besides the caller's own; a forked process has its own pool."""
    key = os.getpid(), threads
    found = _pools.get(key)
    if found is None:
        from concurrent.futures import ThreadPoolExecutor

        # Another thread may be first; a pool that nobody uses has no threads.
        found = _pools.setdefault(key, ThreadPoolExecutor(threads - 1, thread_name_prefix="fluidio-kernel"))
    return found


def close() -> None:
    """End the threads; the next kernel that shares its work starts new ones."""
    for process, threads in list(_pools):
        pool = _pools.pop((process, threads))
        if process == os.getpid():
            pool.shutdown()


def share(total: int, least: int, run: Callable[[int, int], object]) -> None:
    """Call `run(begin, end)` for parts of range(total), of at least `least` each, and wait for all of them.

    This helps only if `run` releases the interpreter lock.
    """
    parts = total // max(least, 1)
    threads = min(parts, thread_count()) if parts > 1 else 1
    if threads < 2:
        run(0, total)
        return
    edges = [total * i // threads for i in range(threads + 1)]
    flush = compiled.flush_denormals(-1) if compiled is not None else None
    errors = np.geterr()
    others = [_pool(threads).submit(_run, run, flush, errors, *edges[i : i + 2]) for i in range(1, threads)]
    run(*edges[:2])
    for other in others:
        other.result()


def _run(run: Callable[[int, int], object], flush: int | None, errors: Any, begin: int, end: int) -> None:
    """Run a part with denormal numbers, and numbers that are none, treated as the caller's thread does."""
    if flush is not None:
        compiled.flush_denormals(flush)
    with np.errstate(**errors):
        run(begin, end)
