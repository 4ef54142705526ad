"""Prefetch: a thread reads the next items while the program processes the current one."""

from __future__ import annotations

from functools import partial

from fluidio.executor.readers.ahead import Ahead
from fluidio.executor.readers.base import Decorator, Reader, Spec, Tensors
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.blocks.cut import PartBuffer
from fluidio.recordio.decode.spans import Part, gather

__all__ = ["Prefetch"]

_AHEAD = 2  # waiting parts or batches; the thread holds one more
_RECORDS = 256  # records in one part, when reading records rather than batches


class Prefetch(Decorator):
    """Reads ahead in a thread, on the host."""

    def __init__(self, name: str, below: Reader, spec: Spec = ()) -> None:
        super().__init__(name, below, spec)
        self._ahead: Ahead[Part] = Ahead(name, _AHEAD)
        self._buffer = PartBuffer()

    def _next(self) -> Tensors | None:
        part = self._part(1)
        return None if part is None else gather([part], self._buffers).tensors()

    def _part(self, most: int) -> Part | None:
        return self._buffer.take(most, self._refill)

    def _refill(self) -> Part | None:
        return self._ahead.take(partial(self.below.read_part, _RECORDS))

    def _stop_soon(self) -> None:
        self._ahead.close()

    def _stop(self) -> None:
        self._ahead.stop()
        self._buffer.clear()

    def skip(self, count: int) -> int:
        self.delivered = self.below.skip(count)  # before the thread starts
        return self.delivered

    def stats(self) -> ReaderState:
        return {**super().stats(), **self._ahead.stats(_AHEAD)}
