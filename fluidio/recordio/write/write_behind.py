"""Write in a helper thread while the caller prepares what comes next."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

__all__ = ["WriteBehind"]


class WriteBehind:
    """Passes writes on to `write`, in order, at most one write behind the caller.

    Copying into the page cache takes most of the time of writing uncompressed data, and needs no GIL. Data must not
    change until the next call has returned. An error is raised by the next call, or at the end of the `with` block;
    data passed after the failed write is not written.
    """

    def __init__(self, write: Callable[[bytes, Any], None]) -> None:
        self._write = write
        self._pool = ThreadPoolExecutor(1, "recordio-write")
        self._last: Future[None] | None = None

    def write(self, header: bytes, stored: object) -> None:
        """Wait for the previous write, then start this one."""
        self.wait()
        try:
            self._last = self._pool.submit(self._write, header, stored)
        except RuntimeError:  # the interpreter is ending and starts no more threads
            self._write(header, stored)

    def wait(self) -> None:
        """Wait until everything is written; raise the error if a write failed."""
        if self._last is not None:
            try:
                self._last.result()
            except Exception:
                self._last = None
                raise
            self._last = None  # not if the wait was interrupted: the write continues

    def __enter__(self) -> WriteBehind:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            self._pool.shutdown()
