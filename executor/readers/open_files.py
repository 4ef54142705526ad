"""OpenFiles: the records of many files, decoded by several threads in an order that never depends on them."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Decorator, Reader, Source, Spec
from fluidio.executor.readers.cursor import Cursor, open_blocks
from fluidio.executor.readers.file import describe_file
from fluidio.flow.observer import OBSERVERS
from fluidio.flow.runtime_reader import ReaderState
from fluidio.flow.thread_pool import Job, ThreadPool
from fluidio.recordio.blocks.cut import PartBuffer
from fluidio.recordio.decode.spans import Part

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

__all__ = ["OpenFiles", "pooled_source"]

T = TypeVar("T")
Read = Job[list[Part | Exception]]
_LIVENESS_POLL = 1.0  # seconds
_MORE = 4  # chunks to read ahead beside one for each thread: they become batches several at a time
_OPEN = 256  # files that are read side by side, at most
_SHARE = 4  # of the descriptors that a process may have, a reader takes one in so many


class OpenFiles(Source):
    """Reads files side by side or one after another.

    Args:
        paths: the files; all are looked at once, so that a missing one is noticed by the startup program.
        threads: threads that read and decode.
        ahead: records to read ahead, in whole chunks: of each file one at most, and four more than there are threads
            at least.
        side_by_side: a chunk of each file in turn (a fixed round-robin, of 256 files at most); otherwise file after
            file, in list order.
        arrival: give out whatever is ready first: quicker when files differ, never the same order twice.
        shuffle_files: another order of the files in each epoch, from the seed.

    The order of the records follows from the files, the seed and the epoch alone, unless `arrival` is set.
    """

    def __init__(
        self,
        name: str,
        paths: Sequence[str],
        threads: int = 1,
        side_by_side: bool = False,
        *,
        ahead: int = 0,
        arrival: bool = False,
        shuffle_files: bool = False,
        seed: int = 0,
        spec: Spec = (),
    ) -> None:
        super().__init__(name, spec)
        if not paths:
            raise EnforceNotMet(f"open_files {name}: No file to be read!")
        self._paths = list(paths)
        descriptors = _descriptors() // _SHARE
        self._threads = max(1, min(threads, descriptors))
        self._active = min(len(self._paths), _OPEN) if side_by_side or arrival else 1
        self._parks = self._active > descriptors
        self._ahead = ahead
        self._chunks_ahead = self._threads + _MORE
        self._arrival = arrival
        self._shuffle = shuffle_files
        self._seed = seed
        for path in self._paths:
            open_blocks(path).close()
        self._pool = self._new_pool()
        self._queued: deque[Cursor] = deque()  # files that have not begun
        self._turn: deque[Cursor] = deque()  # begun files whose next chunk nobody has asked for yet
        self._reads: deque[tuple[Cursor, Read]] = deque()
        self._decoded: deque[Part | Exception] = deque()  # of the chunk whose turn it is
        self._buffer = PartBuffer()
        self._waited = 0.0
        self._begin()

    def read_ahead(self, records: int) -> None:
        """Read at least so many records ahead, as far as one chunk of each file holds them."""
        self._ahead = max(self._ahead, records)

    def _new_pool(self) -> ThreadPool[Any]:
        pool: ThreadPool[Any] = ThreadPool(self.name, self._threads)
        weakref.finalize(self, pool.abandon).atexit = False
        return pool

    def submit(self, work: Callable[[], T]) -> Job[T]:
        """Have the threads work on records for a reader above, before they read more of them."""
        return self._pool.submit(work, urgent=True)

    def result(self, job: Job[T]) -> T:
        """Return the result of a job, done here if no thread has begun it."""
        began = perf_counter()
        found: T = self._pool.result(job)
        ended = perf_counter()
        self._waited += ended - began
        if OBSERVERS.all:
            OBSERVERS.waited(self.name, "consumer", self._decoded_chunks(), began, ended)
        return found

    def rest(self) -> None:
        """Let the threads end: nothing is left to do in this epoch."""
        self._pool.stop()

    def ready(self) -> int:
        found = len(self._buffer) + _records(self._decoded)
        for _, read in self._reads:
            if not read.done():
                break
            found += _records(read.result())
        return found

    def _part(self, most: int) -> Part | None:
        return self._buffer.take(most, self._refill)

    def _refill(self) -> Part | None:
        while not self._decoded:
            self._ask()
            if not self._reads:
                self.rest()
                return None
            pair = file, read = self._first_read()
            found = self.result(read)
            self._decoded.extend(found)
            self._reads.remove(pair)  # not before it is here: waiting may be interrupted
            if self._decoded:
                self._turn.append(file)
                self._chunks_ahead = max(self._threads + _MORE, -(-self._ahead // max(1, _records(self._decoded))))
            elif self._queued:
                self._turn.append(self._queued.popleft())
        self._ask()
        part = self._decoded.popleft()
        if isinstance(part, Exception):
            raise part
        return part

    def _decoded_chunks(self) -> int:
        return sum(read.done() for _, read in list(self._reads))

    def _first_read(self) -> tuple[Cursor, Read]:
        if self._arrival:
            done = wait([read for _, read in self._reads], _LIVENESS_POLL, FIRST_COMPLETED).done
            return next((pair for pair in self._reads if pair[1] in done), self._reads[0])
        return self._reads[0]

    def _ask(self) -> None:
        """Keep the threads busy: one read for each file at most."""
        while self._turn and len(self._reads) < self._chunks_ahead:
            file = self._turn.popleft()
            self._reads.append((file, self._pool.submit(file.read_chunk)))

    def _begin(self) -> None:
        files = [Cursor(path, self._buffers, parks=self._parks) for path in self._paths]
        if self._shuffle:
            rng = np.random.default_rng((self._seed, self.epoch))
            files = [files[i] for i in rng.permutation(len(files))]
        if self._pool.producers_dead():
            self._pool = self._new_pool()
        self._turn = deque(files[: self._active])
        self._queued = deque(files[self._active :])
        if not self.holding:
            self._ask()  # reading begins with the startup program

    def skip(self, count: int) -> int:
        left = count
        while left and self._turn and not self._reads:
            file = self._turn.popleft()
            records = file.announced()
            if records is None:
                self._turn.extend([self._queued.popleft()] if self._queued else [])
            elif records > left:
                self._turn.appendleft(file)
                break
            else:
                file.pass_over()
                self._turn.append(file)
                left -= records
        self.delivered += count - left
        return count - left + super().skip(left)

    def _stop(self) -> None:
        self._pool.stop()
        for file in [*self._turn, *(file for file, _ in self._reads)]:
            file.close()
        self._turn.clear()
        self._reads.clear()
        self._decoded.clear()
        self._buffer.clear()

    def stats(self) -> ReaderState:
        return {
            **super().stats(),
            "producer_wait": self._pool.idle,
            "consumer_wait": self._waited,
            "queue_size": self._decoded_chunks(),
            "capacity": self._chunks_ahead,
            "files": len(self._paths),
            "threads": self._threads,
        }

    def fingerprint(self) -> list[Any]:
        if self._arrival:
            raise EnforceNotMet(
                f"open_files {self.name}: deterministic=False gives records as they arrive, an order that cannot be "
                "saved and resumed"
            )
        order = [self._active > 1, self._shuffle, self._seed]
        return [["files", [describe_file(path) for path in self._paths], order]]


def pooled_source(reader: Reader) -> OpenFiles | None:
    """Return the `open_files` whose threads do all the work below but cutting out batches, if it is so."""
    while isinstance(reader, Decorator) and reader.is_cheap:
        reader = reader.below
    return reader if isinstance(reader, OpenFiles) else None


def _records(parts: Iterable[Part | Exception]) -> int:
    return sum([len(part) for part in parts if isinstance(part, Part)])


def _descriptors() -> int:
    """Return how many files the process may have open."""
    if resource is None:
        return 512  # of C's standard library on Windows
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20
