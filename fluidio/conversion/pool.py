"""Worker processes on this machine, as a `concurrent.futures.Executor`; and executors named by the user."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

from fluidio.conversion.shared_progress import SharedProgress, report, serve
from fluidio.errors import ConversionError
from fluidio.flow import processes

__all__ = ["as_executor", "from_name", "given", "local"]


@contextlib.contextmanager
def local(workers: int, shared: SharedProgress | None = None) -> Iterator[Executor]:
    """Yield a pool of `workers` processes, which always ends with the block; an interrupt ends what they are doing.

    Args:
        shared: where the workers record their progress.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    with warnings.catch_warnings():
        # See fluidio.flow.processes: the children touch none of the parent's locks.
        warnings.filterwarnings("ignore", message=r".*multi-threaded.*fork", category=DeprecationWarning)
        pool = _Pool(workers, processes.context(), _start_worker, (os.getpid(), shared))
        try:
            yield pool
        except KeyboardInterrupt:
            _end_now(pool)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _Pool(ProcessPoolExecutor):
    """Starts its workers, and its thread, undisturbed by Ctrl-C."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        with processes.uninterrupted():
            return super().submit(fn, *args, **kwargs)


def _end_now(pool: Any) -> None:
    """End the workers of a pool in what they are doing.

    Its thread forgets cancelled tasks first: some versions of Python let it fail over them when the workers are gone.
    """
    thread, workers = pool._executor_manager_thread, list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    limit = time.monotonic() + 2
    while thread is not None and thread.is_alive() and time.monotonic() < limit:
        if not any(item.future.cancelled() for item in list(thread.pending_work_items.values())):
            break
        time.sleep(0.005)
    for worker in workers:
        worker.terminate()
    if thread is not None:
        thread.join()


def _start_worker(parent: int, shared: SharedProgress | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    serve(shared)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """Report to the parent, and end this process when the parent dies: the queue would otherwise wait forever."""
    while os.getppid() == parent:
        report()
        time.sleep(0.2)
    os._exit(1)


@contextlib.contextmanager
def from_name(name: str) -> Iterator[Executor]:
    """Yield the executor that `module:factory` creates.

    The factory is called without arguments and returns any `concurrent.futures.Executor`, or a Dask client:
    `distributed:Client`, `mpi4py.futures:MPIPoolExecutor`, a pool of your own.
    """
    module, _, factory = name.partition(":")
    if not module or not factory:
        raise ConversionError(
            f"--executor {name!r}: expected module:factory, for example mpi4py.futures:MPIPoolExecutor"
        )
    sys.path.insert(0, os.getcwd())
    try:
        make = getattr(importlib.import_module(module), factory)
    except (ImportError, AttributeError) as error:
        raise ConversionError(f"--executor {name}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    made = make()
    with contextlib.ExitStack() as stack:
        executor = as_executor(made, f"--executor {name}")
        if hasattr(made, "__exit__"):
            stack.enter_context(made)
        yield executor


def given(executor: object) -> contextlib.AbstractContextManager[Executor]:
    """Yield the caller's executor, which stays open."""
    return contextlib.nullcontext(as_executor(executor))


def as_executor(what: Any, whose: str = "executor") -> Executor:
    """Return a `concurrent.futures.Executor`: the argument itself, or that of a Dask client.

    Raises:
        ConversionError: it neither is nor has one; futures of another kind cannot be waited for.
    """
    if not isinstance(what, Executor) and callable(getattr(what, "get_executor", None)):
        what = what.get_executor()
    if not isinstance(what, Executor) and not _has_futures(what):
        raise ConversionError(
            f"{whose} must be a concurrent.futures.Executor (for Dask, what Client(...).get_executor() "
            f"returns), got {type(what).__name__}"
        )
    found: Executor = what
    return found


def _has_futures(what: object) -> bool:
    """Return whether `submit` returns futures that `concurrent.futures.wait` accepts."""
    submit = getattr(what, "submit", None)
    return callable(submit) and isinstance(submit(int), Future)
