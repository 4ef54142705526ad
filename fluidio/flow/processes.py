"""Start, watch and stop worker processes, and pass their exceptions to the parent.

Workers are forked where the system supports it: sources are usually closures, which cannot be passed to a process in
any other way. Python 3.12 warns when a process with threads forks, because a lock held by another thread stays locked
in the child. Our children touch none of the parent's locks: they run the user's source and write to a pipe of their
own, and Python repairs its own locks after a fork. So the warning, and only that one, is silenced around the fork
itself.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

__all__ = ["context", "death_note", "pack_error", "start", "stop", "uninterrupted", "unpack_error"]

_forking = threading.Lock()  # warnings.catch_warnings is not thread-safe


def context() -> ForkContext | SpawnContext:
    """Return the multiprocessing context: fork, or spawn where fork is unavailable."""
    if "fork" in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C while processes are started.

    Python ignores exceptions in the handlers it runs around a fork, so a KeyboardInterrupt there would be lost, and one
    right after it would leave an untracked process.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])


def start(
    target: Callable[..., None], args: tuple[Any, ...], *, name: str, foreign: Iterable[Connection]
) -> BaseProcess:
    """Start `target(*args)` in a daemonic process.

    Args:
        foreign: connections the child inherits from the fork and must close, so that each side can see the other end.
    """
    if multiprocessing.current_process().daemon:
        raise RuntimeError(
            f"{name}: a worker process cannot start worker processes of its own; use threads in it (buffered, "
            "xmap_readers)"
        )
    way = context()
    foreign = list(foreign) if way.get_start_method() == "fork" else []
    process = way.Process(target=_child, args=(target, args, foreign), name=f"fluidio-{name}", daemon=True)
    with _forking, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*multi-threaded.*fork", category=DeprecationWarning)
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"{name}: without fork on this system, the source must be picklable: define it at the top "
                f"level of a module, not inside a function ({error})"
            ) from error
    return process


def _child(target: Callable[..., None], args: tuple[Any, ...], foreign: list[Connection]) -> None:
    for connection in foreign:
        connection.close()
    # Ctrl-C reaches the whole group: the parent decides. The parent's own SIGTERM handler is not ours.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    target(*args)


def stop(processes: Iterable[BaseProcess]) -> None:
    """End processes, whatever they are doing, and wait for them."""
    processes = list(processes)
    for process in processes:
        if process.is_alive():
            process.terminate()
    for process in processes:
        process.join(1.0)
        if process.is_alive():  # the user's code blocks SIGTERM
            process.kill()
            process.join()
        # The exit code is unknown here while somebody else is asking for it (a garbage collection may run this in the
        # middle of that); closing would fail then.
        if process.exitcode is not None:
            process.close()


def death_note(process: BaseProcess) -> str:
    """Describe how a process ended that should not have ended."""
    process.join(1.0)
    code = process.exitcode
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else "?"
        hint = "; the system kills processes with it when memory runs out" if name == "SIGKILL" else ""
        return f"worker process {process.pid} was killed by signal {-code} ({name}){hint}"
    return f"worker process {process.pid} ended with exit code {code}"


def pack_error(error: BaseException) -> bytes:
    """Return an exception and its traceback as bytes that another process can unpack."""
    text = "".join(traceback.format_exception(error))
    try:
        whole = pickle.dumps(error)
        pickle.loads(whole)
    except Exception:
        whole = b""  # exceptions with custom constructors often cannot be rebuilt: send the text only
    return pickle.dumps((whole, type(error).__name__, str(error), text))


def unpack_error(data: bytes) -> BaseException:
    """Return the exception of another process, its traceback as a note."""
    whole, name, message, text = pickle.loads(data)
    error: BaseException = pickle.loads(whole) if whole else RuntimeError(f"{name}: {message}")
    error.add_note("in the worker process:\n" + text.rstrip())
    return error
