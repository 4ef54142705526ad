"""Start, watch and stop worker processes, and bring their exceptions home.

Workers are forked where the system can: sources are usually closures, which no other way of starting a process can
carry. Python 3.12 warns when a process with threads forks, because a lock held by another thread stays locked in the
child. Our children touch none of the parent's locks: they run the user's source and write to a pipe of their own,
and Python repairs its own locks after a fork. So the warning, and only that one, is silenced around the fork itself.
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
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

__all__ = ["context", "death_note", "pack_error", "start", "stop", "uninterrupted", "unpack_error"]

_forking = threading.Lock()  # warnings.catch_warnings is not made for two threads at once


def context() -> BaseContext:
    """Return the way to start processes: fork, or spawn where there is no fork."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    return multiprocessing.get_context(method)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started.

    Python ignores exceptions of what it runs around a fork, so a KeyboardInterrupt there would be lost; and one right
    after it would leave a process that nobody knows of.
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
        foreign: connections that the child inherits by the fork and must close, so that the end of either side is seen.
    """
    if multiprocessing.current_process().daemon:
        raise RuntimeError(
            f"{name}: a worker process cannot start worker processes of its own; "
            "inside a worker use threads (buffered, xmap_readers)"
        )
    way = context()
    foreign = list(foreign) if way.get_start_method() == "fork" else []
    process = way.Process(target=_child, args=(target, args, foreign), name=f"fluidio-{name}", daemon=True)  # type: ignore[attr-defined]
    with _forking, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*multi-threaded.*fork", category=DeprecationWarning)
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"{name}: this system cannot fork, so the source must be picklable: define it at the top level of a "
                f"module instead of inside a function ({error})"
            ) from error
    return process  # type: ignore[no-any-return]


def _child(target: Callable[..., None], args: tuple[Any, ...], foreign: list[Connection]) -> None:
    for connection in foreign:
        connection.close()
    # Ctrl-C reaches the whole group: the parent decides. The parent's own SIGTERM handler is not ours.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    target(*args)


def stop(processes: Iterable[BaseProcess]) -> None:
    """End processes that may be anywhere, and wait for them."""
    processes = list(processes)
    for process in processes:
        if process.is_alive():
            process.terminate()
    for process in processes:
        process.join(1.0)
        if process.is_alive():  # the user's code holds SIGTERM back
            process.kill()
            process.join()
        process.close()


def death_note(process: BaseProcess) -> str:
    """Say how a process ended that should not have."""
    process.join(1.0)
    code = process.exitcode
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else "?"
        hint = "; the system kills processes with it when memory runs out" if name == "SIGKILL" else ""
        return f"worker process {process.pid} was killed by signal {-code} ({name}){hint}"
    return f"worker process {process.pid} ended without a word, with exit code {code}"


def pack_error(error: BaseException) -> bytes:
    """Return an exception and its traceback as bytes that another process can open."""
    text = "".join(traceback.format_exception(error))
    try:
        whole = pickle.dumps(error)
        pickle.loads(whole)
    except Exception:
        whole = b""  # exceptions with a constructor of their own often cannot be rebuilt: the text has to do
    return pickle.dumps((whole, type(error).__name__, str(error), text))


def unpack_error(data: bytes) -> BaseException:
    """Return the exception of another process, its traceback as a note."""
    whole, name, message, text = pickle.loads(data)
    error: BaseException = pickle.loads(whole) if whole else RuntimeError(f"{name}: {message}")
    error.add_note("in the worker process:\n" + text.rstrip())
    return error
