"""Read the next chunks of a file on other threads, before they are asked for."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from fluidio.flow.thread_pool import Job, ThreadPool, usable_cores

__all__ = ["ReadAhead", "usual_threads"]

T = TypeVar("T")
_GRAIN = 1 << 20  # bytes to read in one piece of work, at least: small chunks are read several at a time
_MOST = 1 << 26  # bytes under way
_MORE = 2  # pieces of work beside one for each helper: one that is ready, and one for a reader who would have to wait


def usual_threads() -> int:
    """Return how many threads help a reader where nobody said it: one for each core beside his own, if it is free."""
    cores = usable_cores()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return min(cores - 1, 4) if load <= 2 * cores else 0


@dataclass(frozen=True)
class _Work(Generic[T]):
    """Chunks that a helper reads in one go."""

    offsets: list[int]
    size: int
    job: Job[list[T | None]]


class ReadAhead(Generic[T]):
    """Chunks that follow one another, read by helpers.

    It guesses what the reader will ask for; it never reports damage. A chunk that does not read well is not given out,
    and the reader, who then reads it himself, finds out why.

    Args:
        helpers: the threads.
        load: reads the chunk at an offset, on a helper; None when something is wrong with it.
        hop: returns where the chunk at an offset ends by its header, None when there is none.
    """

    def __init__(
        self, helpers: ThreadPool[Any], load: Callable[[int], T | None], hop: Callable[[int], int | None]
    ) -> None:
        self._helpers = helpers
        self._load = load
        self._hop = hop
        self._next: int | None = None
        self._ready: deque[tuple[int, T | None]] = deque()
        self._pending: deque[_Work[T]] = deque()
        self._bytes = 0

    def take(self, offset: int) -> T | None:
        """Return the chunk at `offset` if it was read ahead.

        A forked process has no helpers: there the reader reads alone.
        """
        if self._helpers.producers_dead():
            return None
        if not self._ready and self._pending and self._pending[0].offsets[0] == offset:
            work = self._pending[0]
            self._ready.extend(zip(work.offsets, self._helpers.result(work.job)))
            self._pending.popleft()
            self._bytes -= work.size
        if self._ready and self._ready[0][0] == offset:
            return self._ready.popleft()[1]
        self.stop()  # the reader went elsewhere
        return None

    def go_on(self, offset: int) -> None:
        """Read what comes after the chunk that was taken, which ends at `offset`."""
        if self._helpers.producers_dead():
            return
        if not self._ready and not self._pending:
            self._next = offset
        while self._next is not None and len(self._pending) < self._helpers.size + _MORE and self._bytes < _MOST:
            first, offsets = self._next, []
            while self._next is not None and self._next - first < _GRAIN:
                offsets.append(self._next)
                self._next = self._hop(self._next)
            if self._next is None:
                offsets.pop()  # the end, or something that is no chunk
            if offsets:
                size = (self._next or offsets[-1]) - first
                self._pending.append(_Work(offsets, size, self._helpers.submit(partial(self._load_all, offsets))))
                self._bytes += size

    def _load_all(self, offsets: list[int]) -> list[T | None]:
        return [self._load(offset) for offset in offsets]

    def stop(self) -> None:
        """Forget what was read and wait for what is being read."""
        if not self._helpers.producers_dead():
            wait([work.job for work in self._pending if not self._helpers.cancel(work.job)])
        self._pending.clear()
        self._ready.clear()
        self._next, self._bytes = None, 0
