"""MultiPass: several passes over the reader below make one epoch."""

from __future__ import annotations

from fluidio.executor.readers.base import Decorator, Reader, Spec
from fluidio.recordio.decode.spans import Part

__all__ = ["MultiPass"]


class MultiPass(Decorator):
    """Rewinds the reader below until it has been read `pass_num` times; batches above may span two passes."""

    is_cheap = True

    def __init__(self, name: str, below: Reader, pass_num: int, spec: Spec = ()) -> None:
        super().__init__(name, below, spec)
        self._passes = pass_num
        self._pass = 0

    def _part(self, most: int) -> Part | None:
        while (part := self.below.read_part(most)) is None and self._next_pass(self.below):
            pass
        return part

    def ready(self) -> int:
        return self.below.ready()

    def _next_pass(self, below: Reader) -> bool:
        """Rewind if passes are left; an empty source stays empty."""
        if self._pass + 1 >= self._passes or below.delivered == 0:
            return False
        self._pass += 1
        below.shutdown()
        below.start(self._epoch_below(self.epoch) + self._pass)
        return True

    def skip(self, count: int) -> int:
        passed = self.below.skip(count)
        while passed < count and self._next_pass(self.below):
            passed += self.below.skip(count - passed)
        self.delivered += passed
        return passed

    def _epoch_below(self, epoch: int) -> int:
        return epoch * self._passes

    def _begin(self) -> None:
        self._pass = 0
