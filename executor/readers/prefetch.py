"""Prefetch: a thread reads the next items while the program works on the last one."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fluidio.executor.readers.ahead import Ahead
from fluidio.executor.readers.base import Decorator, Reader, Spec, Tensors
from fluidio.executor.readers.open_files import OpenFiles
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.blocks.cut import PartBuffer
from fluidio.recordio.decode.spans import Part, gather

__all__ = ["Prefetch"]

_AHEAD = 2  # parts or batches that wait; one more is in the thread's hands
_RECORDS = 256  # records of one part, when records and not batches are read
_WORTH_IT = 0.0002  # seconds of work for an item from which on handing it over from a thread pays
_SAMPLE = 11  # one read in so many is measured: the clock of a thread is a system call
_SAMPLES = 8  # measured reads over which that work is averaged

T = TypeVar("T")


class Prefetch(Decorator):
    """Reads ahead in a thread, on the host.

    Over `open_files`, which reads chunks ahead itself, batches are cut out of them by whoever wants them, unless that
    is much work (joining many small chunks, say).
    """

    def __init__(self, name: str, below: Reader, spec: Spec = ()) -> None:
        super().__init__(name, below, spec)
        self._ahead: Ahead[Part] = Ahead(name, _AHEAD)
        self._buffer = PartBuffer()
        self._directly = _decodes_ahead(below)
        self._reads = 0
        self._work = 0.0  # seconds for the reads measured of late, where items are read directly

    def _next(self) -> Tensors | None:
        if self._directly:
            return self._measured(self.below.read_next)
        part = self._buffer.take(1, self._refill)
        return None if part is None else gather([part], self._buffers).tensors()

    def _part(self, most: int) -> Part | None:
        if self._directly:
            return self._measured(partial(self.below.read_part, most))
        return self._buffer.take(most, self._refill)

    def _refill(self) -> Part | None:
        return self._ahead.take(partial(self.below.read_part, _RECORDS))

    def _measured(self, read: Callable[[], T]) -> T:
        """Read here and now; the thread takes over when that proves to be much work (waiting is none)."""
        self._reads += 1
        if self._reads % _SAMPLE != 1:
            return read()
        began = time.thread_time()
        item = read()
        self._work += time.thread_time() - began
        self._directly = self._work < _WORTH_IT * _SAMPLES
        if self._reads >= _SAMPLE * _SAMPLES:
            self._reads, self._work = 0, 0.0
        return item

    def _stop_soon(self) -> None:
        self._ahead.close()

    def _stop(self) -> None:
        self._ahead.stop()
        self._buffer.clear()

    def skip(self, count: int) -> int:
        self.delivered = self.below.skip(count)  # before the thread begins
        return self.delivered

    def stats(self) -> ReaderState:
        return super().stats() if self._directly else {**super().stats(), **self._ahead.stats(_AHEAD)}


def _decodes_ahead(reader: Reader) -> bool:
    """Tell whether the threads of `open_files` do all the work below but cutting out batches."""
    while isinstance(reader, Decorator) and reader.is_cheap:
        reader = reader.below
    return isinstance(reader, OpenFiles)
