"""Shuffle: fill a buffer with records, shuffle it, deliver it, refill it."""

from __future__ import annotations

from collections import deque

import numpy as np

from fluidio.executor.readers.base import Decorator, Reader, Spec
from fluidio.executor.readers.open_files import OpenFiles
from fluidio.recordio.blocks.cut import PartBuffer
from fluidio.recordio.blocks.shuffle import permuted
from fluidio.recordio.decode.spans import Part

__all__ = ["Shuffle"]


class Shuffle(Decorator):
    """A block shuffle like Fluid's: each run of `buffer_size` records is shuffled separately.

    The order depends on the seed, the epoch and the records below; every epoch has a different one.
    Fluid: the seed came from the operating system.
    """

    is_cheap = True

    def __init__(self, name: str, below: Reader, buffer_size: int, seed: int = 0, spec: Spec = ()) -> None:
        super().__init__(name, below, spec)
        self._size = buffer_size
        self._seed = seed
        self._fills = 0
        self._waiting: deque[Part] = deque()
        self._buffer = PartBuffer()
        source = self.source()
        if isinstance(source, OpenFiles):
            source.read_ahead(buffer_size)  # the next buffer, while this one is delivered

    def _part(self, most: int) -> Part | None:
        return self._buffer.take(most, self._refill)

    def ready(self) -> int:
        return len(self._buffer) + sum(map(len, self._waiting))

    def _refill(self) -> Part | None:
        if not self._waiting:
            self._fill()
        return self._waiting.popleft() if self._waiting else None

    def _fill(self) -> None:
        parts = self.below.read_parts(self._size)
        if not parts:
            return
        rng = np.random.default_rng((self._seed, self.epoch, self._fills))
        self._fills += 1
        count = sum(map(len, parts))
        order = rng.permutation(count)
        if all(part.layout == parts[0].layout for part in parts):
            self._waiting.append(Part(permuted(parts, order), 0, count))
        else:  # records of several layouts do not fit in one span
            single = [part.slice(i, i + 1) for part in parts for i in range(len(part))]
            self._waiting.extend([single[i] for i in order])

    def skip(self, count: int) -> int:
        fills = count // self._size  # whole buffers can be skipped without shuffling
        self.delivered = self.below.skip(fills * self._size)
        self._fills = fills
        return self.delivered + super().skip(count - self.delivered)

    def _begin(self) -> None:
        self._fills = 0

    def _stop(self) -> None:
        self._waiting.clear()
        self._buffer.clear()
