"""Batch: stack a fixed number of records into one item."""

from __future__ import annotations

from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Reader, Spec, Tensors
from fluidio.reader.tally import TALLY
from fluidio.recordio import RecordBlock
from fluidio.recordio.block import Allocate

__all__ = ["Batch"]


class Batch(Reader):
    """Joins `batch_size` records slot by slot along the first axis; LoDs are merged.

    Args:
        batch_size: records (not rows) in a batch.
        drop_last: drop the short last batch; said once in a warning and counted in `stats()`.
    """

    def __init__(self, name: str, underlying: Reader, batch_size: int, drop_last: bool, spec: Spec = ()) -> None:
        super().__init__(name, spec, underlying)
        self._size = batch_size
        self._drop_last = drop_last
        self._warned = False
        self._allocate: Allocate | None = None

    def read_into(self, allocate: Allocate) -> Tensors | None:
        """Read a batch; where records have to be joined, join them in arrays of `allocate`."""
        with self._lock:
            self._allocate = allocate
            try:
                return self.read_next()
            finally:
                self._allocate = None

    def _next(self) -> Tensors | None:
        assert self.underlying is not None
        parts: list[RecordBlock] = []
        missing = self._size
        while missing:
            block = self.underlying.read_block(missing)
            if block is None:
                break
            parts.append(block)
            missing -= len(block)
        if not parts:
            return None
        if missing and self._drop_last:
            self._drop(self._size - missing)
            return None
        try:
            return RecordBlock.concat(parts, self._allocate).tensors()
        except ValueError as error:
            raise EnforceNotMet(f"batch reader {self.name}: {error}") from error

    def _drop(self, count: int) -> None:
        self.dropped += count
        TALLY.add(dropped=count)
        if not self._warned:
            self._warned = True
            self.untold = (
                f"batch reader {self.name} drops the last {count:,} records of each epoch, too few for a batch of "
                f"{self._size}; layers.batch(..., drop_last=False) delivers them"
            )

    def skip(self, count: int) -> int:
        assert self.underlying is not None
        records = self.underlying.skip(count * self._size)
        self.delivered = records // self._size if self._drop_last else -(-records // self._size)
        return self.delivered

    def stats(self) -> dict[str, Any]:
        return {**super().stats(), "batch_size": self._size}
