"""MultiPass: several passes over the reader below make one epoch."""

from __future__ import annotations

from fluidio.executor.readers.base import Reader, Spec
from fluidio.recordio import RecordBlock

__all__ = ["MultiPass"]


class MultiPass(Reader):
    """Rewinds the reader below until it was read `pass_num` times; batches above may straddle the seams."""

    def __init__(self, name: str, underlying: Reader, pass_num: int, spec: Spec = ()) -> None:
        super().__init__(name, spec, underlying)
        self._passes = pass_num
        self._pass = 0

    def _block(self, most: int) -> RecordBlock | None:
        assert self.underlying is not None
        while True:
            block = self.underlying.read_block(most)
            if block is not None or self._pass + 1 >= self._passes or self.underlying.delivered == 0:
                return block  # an empty source stays empty, whatever passes are left
            self._pass += 1
            self.underlying.shutdown()
            self.underlying.start(self._epoch_below(self.epoch) + self._pass)

    def _epoch_below(self, epoch: int) -> int:
        return epoch * self._passes

    def _begin(self) -> None:
        self._pass = 0
