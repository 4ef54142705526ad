"""OpenFiles: the records of many files, decoded by several threads in an order independent of timing."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Decorator, Reader, Source, Spec
from fluidio.executor.readers.file import describe_file, open_blocks
from fluidio.flow.runtime_reader import ReaderState
from fluidio.flow.thread_pool import Job
from fluidio.recordio.blocks.engine import Engine
from fluidio.recordio.blocks.lane import Lane
from fluidio.recordio.decode.spans import Part
from fluidio.recordio.files.source import is_url

if sys.platform != "win32":
    import resource

__all__ = ["OpenFiles", "pooled_source"]

T = TypeVar("T")
_MORE = 4  # jobs in flight beyond one per thread: they become batches several at a time
_OPEN = 256  # maximum number of files read side by side
_SHARE = 4  # a reader uses at most one in this many of the process's file descriptors


class OpenFiles(Source):
    """Reads files side by side or one after another.

    Args:
        paths: the files; all are checked at once, so that a missing one fails in the startup program.
        threads: threads that read and decode.
        ahead: records to read ahead, in whole chunks, up to 64 MB; at least four more jobs than there are threads.
        side_by_side: a chunk of each file in turn (a fixed round-robin, of 256 files at most); otherwise file after
            file, in list order.
        arrival: deliver whatever is ready first: faster when files differ, but the order is not reproducible.
        shuffle_files: a different file order in each epoch, derived from the seed.

    The record order depends only on the files, the seed and the epoch, unless `arrival` is set.
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
            raise EnforceNotMet(f"open_files {name}: the list of files is empty")
        self._paths = list(paths)
        descriptors = _descriptors() // _SHARE
        self._threads = max(1, min(threads, descriptors))
        self._active = min(len(self._paths), _OPEN) if side_by_side or arrival else 1
        self._parks = self._active > descriptors
        self._one_by_one = self._parks or arrival or any(map(is_url, self._paths))
        self._arrival = arrival
        self._shuffle = shuffle_files
        self._seed = seed
        for path in self._paths:
            open_blocks(path).close()
        self._engine = Engine(name, self._threads, _MORE, arrival=arrival)
        self._engine.ahead = ahead
        self._begin()

    def read_ahead(self, records: int) -> None:
        """Read at least this many records ahead, as far as memory allows."""
        self._engine.ahead = max(self._engine.ahead, records)

    def expect_batches(self, size: int) -> None:
        """Let the threads copy the records of a chunk, as batches of so many are all that is wanted of them."""
        self._engine.batch = size

    def submit(self, work: Callable[[], T]) -> Job[T]:
        """Have the threads run a job for a reader above, before they read more records."""
        return self._engine.submit(work)

    def result(self, job: Job[T]) -> T:
        """Return the result of a job, running it here if no thread has started it."""
        return self._engine.result(job)

    def rest(self) -> None:
        """Let the threads end, because nothing is left to do in this epoch."""
        self._engine.rest()

    def ready(self) -> int:
        return self._engine.ready()

    def _part(self, most: int) -> Part | None:
        return self._engine.take(most)

    def _lane(self, path: str) -> Lane:
        opens = partial(open_blocks, path, self._buffers)
        return Lane(path, opens, parks=self._parks, ahead="one" if self._one_by_one else "always")

    def _begin(self) -> None:
        lanes = [self._lane(path) for path in self._paths]
        if self._shuffle:
            rng = np.random.default_rng((self._seed, self.epoch))
            lanes = [lanes[i] for i in rng.permutation(len(lanes))]
        if self._engine.begin(lanes, self._active, hold=self.holding):  # reading begins with the startup program
            weakref.finalize(self, self._engine.abandon).atexit = False

    def skip(self, count: int) -> int:
        passed = self._engine.skip(count)
        self.delivered += passed
        return passed + super().skip(count - passed)

    def _stop(self) -> None:
        self._engine.stop()

    def stats(self) -> ReaderState:
        return {
            **super().stats(),
            "producer_wait": self._engine.idle,
            "consumer_wait": self._engine.waited,
            "queue_size": self._engine.queued(),
            "capacity": self._engine.capacity,
            "files": len(self._paths),
            "threads": self._threads,
        }

    def fingerprint(self) -> list[list[object]]:
        if self._arrival:
            raise EnforceNotMet(
                f"open_files {self.name}: with deterministic=False the order of records changes from run to "
                "run, so a position in it cannot be saved or resumed"
            )
        order = [self._active > 1, self._shuffle, self._seed]
        return [["files", [describe_file(path) for path in self._paths], order]]


def pooled_source(reader: Reader) -> OpenFiles | None:
    """Return the `open_files` whose threads do all the work below except slicing batches, or None."""
    while isinstance(reader, Decorator) and reader.is_cheap:
        reader = reader.below
    return reader if isinstance(reader, OpenFiles) else None


def _descriptors() -> int:
    """Return how many files the process may have open."""
    if sys.platform == "win32":
        return 512  # the limit of the C standard library on Windows
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20
