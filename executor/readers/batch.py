"""Batch: stack a fixed number of records into one item."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Reader, Spec, Tensors
from fluidio.flow.run_counters import TALLY
from fluidio.recordio import RecordBlock
from fluidio.recordio.decode.block import Allocate
from fluidio.tensor.lod import IntArray

__all__ = ["Batch"]


class Batch(Reader):
    """Joins `batch_size` records slot by slot along the first axis; LoDs are merged.

    Args:
        batch_size: records (not rows) in a batch.
        drop_last: drop the short last batch; said once in a warning and counted in `stats()`.
        fluids_lods: merge LoDs as Fluid did, wrongly where a record holds several sequences.
    """

    light = True

    def __init__(
        self,
        name: str,
        underlying: Reader,
        batch_size: int,
        drop_last: bool,
        spec: Spec = (),
        *,
        fluids_lods: bool = False,
    ) -> None:
        super().__init__(name, spec, underlying)
        self._size = batch_size
        self._drop_last = drop_last
        self._fluids_lods = fluids_lods
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
        parts = self.underlying.read_blocks(self._size)
        count = sum(map(len, parts))
        if count < self._size and self._drop_last:
            self._drop(count)
            return None
        if not parts:
            return None
        try:
            tensors = RecordBlock.concat(parts, self._allocate).tensors()
        except ValueError as error:
            raise EnforceNotMet(f"batch reader {self.name}: {error}") from error
        return _with_fluids_lods(tensors, parts) if self._fluids_lods else tensors

    def _drop(self, count: int) -> None:
        if not count:
            return
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


def _with_fluids_lods(tensors: Tensors, parts: list[RecordBlock]) -> Tensors:
    """Return a batch with the LoDs that Fluid gave it: each offset was added to the one before, not to the record's."""
    records = [part.slice(i, i + 1) for part in parts for i in range(len(part))]
    return [
        (array, tuple(_running([record.columns[slot].lod[level] for record in records]) for level in range(len(lod))))
        for slot, (array, lod) in enumerate(tensors)
    ]


def _running(offsets: list[IntArray]) -> IntArray:
    first, *rest = offsets
    return np.concatenate([first, first[-1] + np.cumsum([n for level in rest for n in level[1:]], dtype=np.int64)])
