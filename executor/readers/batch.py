"""Batch: stack a fixed number of records into one item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fluidio.distributed.shares import next_step, share
from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Decorator, Reader, Spec, Tensors
from fluidio.executor.readers.copy_ahead import CopyAhead
from fluidio.executor.readers.open_files import OpenFiles, pooled_source
from fluidio.flow.observer import OBSERVERS
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.blocks.cut import cut, cut_batches
from fluidio.recordio.decode.block import Allocate
from fluidio.recordio.decode.spans import Part, gather
from fluidio.tensor.lod import IntArray

__all__ = ["Batch"]

_TOGETHER = 1 << 23  # approximate bytes of batches copied together


class _Group(NamedTuple):
    """The records of several batches of `size`; the last may be shorter."""

    parts: list[Part]
    size: int


class Batch(Decorator):
    """Joins `batch_size` records slot by slot along the first axis; LoDs are merged.

    Over `open_files`, the source's threads copy the records of all available batches together.

    Args:
        batch_size: records (not rows) in a batch.
        drop_last: drop the short last batch; reported once in a warning and counted in `stats()`.
        fluids_lods: merge LoDs as Fluid did, wrongly where a record holds several sequences.
        share: (trainers, trainer): take this trainer's part of the records of all trainers' batches. Positions are
            saved as record counts, so that a different number of trainers can resume there.
        join: the last records of an epoch may be too few for all trainers; those without one sit out.
    """

    is_cheap = True

    def __init__(
        self,
        name: str,
        below: Reader,
        batch_size: int,
        drop_last: bool,
        spec: Spec = (),
        *,
        fluids_lods: bool = False,
        share: tuple[int, int] | None = None,
        join: bool = False,
    ) -> None:
        super().__init__(name, below, spec)
        self._join = join
        self._size = batch_size
        self._share = share
        self._kept: list[Part] = []  # records read to see whether the epoch continues
        self._resumed_at = 0  # records of the epoch before the first item delivered
        self._drop_last = drop_last
        self._fluids_lods = fluids_lods
        self._groups = share is None and not fluids_lods  # batches can be copied together
        self._warned = False
        self._ended = False
        self._bytes_each = _TOGETHER  # of a batch, estimated from the last ones; unknown for the first
        self._allocate: Allocate | None = None
        source = pooled_source(below)
        self._ahead: CopyAhead[_Group, Tensors] | None = None if source is None else CopyAhead(source)
        if self._groups and isinstance(below, OpenFiles):
            below.expect_batches(batch_size)

    def read_into(self, allocate: Allocate) -> Tensors | None:
        """Read a batch into arrays of `allocate`."""
        with self._lock:
            self._allocate = allocate
            try:
                return self.read_next()
            finally:
                self._allocate = None

    def _next(self) -> Tensors | None:
        if self._ahead is not None and (self._ahead or self._allocate is None):
            return self._ahead.take(self._plan, self._copy)
        parts = self._records()
        return self._tensors(parts, self._allocate) if parts else None

    def _tensors(self, parts: list[Part], allocate: Allocate | None = None) -> Tensors:
        """Copy the records of a batch."""
        try:
            tensors = gather(parts, self._buffers, allocate).tensors()
        except ValueError as error:
            raise EnforceNotMet(f"batch reader {self.name}: {error}") from error
        return self._with_fluids_lods(tensors, parts) if self._fluids_lods else tensors

    def _plan(self, wait: bool) -> _Group | None:
        """Return the next batch and the following ones whose records are available; None at the end."""
        at_hand = self._at_hand()
        if self._ended or not (wait or at_hand):
            return None
        parts = self._records(at_hand or 1)
        if parts and not at_hand and self._groups:
            parts += self._records(self._at_hand())  # that arrived together with the awaited ones
        self._ended = not parts
        if not parts:
            return None
        count = sum(map(len, parts))
        self._bytes_each = max(1, sum([part.nbytes for part in parts]) * self._size // count)
        return _Group(parts, self._size if self._groups else count)  # a share may hold a few more records

    def _at_hand(self) -> int:
        """Return how many batches can be read together without waiting."""
        ready = self.below.ready()
        if self._share is not None:
            return int(ready >= (self._size + 1) * self._share[0])
        most = max(1, _TOGETHER // self._bytes_each) if self._groups else 1
        return min(most, ready // self._size)

    def _copy(self, group: _Group) -> list[Tensors | Exception]:
        """Copy the records of some batches."""
        parts, size = group
        count = sum(map(len, parts))
        try:
            return [self._tensors(parts)] if count <= size else [*cut_batches(parts, size, self._buffers)]
        except ValueError:  # from one of them, raised in its turn
            batches = [_Group(cut(parts, start, start + size), size) for start in range(0, count, size)]
            return [item for batch in batches for item in self._copy(batch)]
        except EnforceNotMet as error:
            return [error]

    def _records(self, batches: int = 1) -> list[Part]:
        """Return the records of the next batches, nothing at the end."""
        if self._share is not None:
            return self._shared_records(*self._share)
        parts = self.below.read_parts(batches * self._size)
        count = sum(map(len, parts))
        extra = count % self._size
        if extra and self._drop_last:
            self._drop(extra)
            return cut(parts, 0, count - extra)
        return parts

    def _shared_records(self, trainers: int, trainer: int) -> list[Part]:
        """Return this trainer's part of what all trainers read in this step."""
        ahead = self._size * trainers + trainers  # enough to see whether another step has a record for each trainer
        parts = [*self._kept, *self.below.read_parts(ahead - sum(map(len, self._kept)))]
        left = sum(map(len, parts))
        count = next_step(left, self._size, trainers, self._drop_last, self._join)
        if count < trainers and not (self._join and count):
            self._end_of_shares(left, trainers)
            return []
        self._kept = cut(parts, count, left)
        begin, end = share(count, trainers, trainer)
        self.sits_out = begin == end
        return cut(parts, begin, end) if begin < end else []

    def _end_of_shares(self, left: int, trainers: int) -> None:
        self._kept = []
        if self._drop_last:
            self._drop(left)
        elif left:
            raise EnforceNotMet(
                f"batch reader {self.name}: {left} records are left for {trainers} trainers, but each needs "
                "at least one"
            )

    def _drop(self, count: int) -> None:
        if not count:
            return
        self.dropped += count
        OBSERVERS.dropped(self.name, count)
        if not self._warned:
            self._warned = True
            each = "" if self._share is None else f" for each of {self._share[0]} trainers"
            self.pending_warning = (
                f"batch reader {self.name} drops the last {count:,} records of each epoch, too few for a batch of "
                f"{self._size}{each}; layers.batch(..., drop_last=False) delivers them"
            )

    # -- positions -------------------------------------------------------------------------------------------------

    def records_at(self, items: int) -> int | None:
        if self._share is None:
            return None
        return self._resumed_at + items * self._size * self._share[0]

    def skip_records(self, count: int) -> int:
        self._resumed_at = self.below.skip(count)
        return self._resumed_at

    def fingerprint(self) -> list[list[object]]:
        """Return the fingerprint without what may differ between trainers, or between a run and its resumption."""
        *below, mine = super().fingerprint()
        changing = ("trainers", "trainer_id") if self._share is None else ("trainers", "trainer_id", "batch_size")
        return [*below, [word for word in mine if not (isinstance(word, list) and word[0] in changing)]]

    def _begin(self) -> None:
        self._kept, self._resumed_at, self.sits_out, self._ended = [], 0, False, False

    def _stop(self) -> None:
        self._kept = []
        if self._ahead is not None:
            self._ahead.clear()

    def skip(self, count: int) -> int:
        if self._share is not None and count:
            raise EnforceNotMet(f"batch reader {self.name}: the state was saved by a reader without trainers=")
        records = self.below.skip(count * self._size)
        self.delivered = records // self._size if self._drop_last else -(-records // self._size)
        return self.delivered

    def stats(self) -> ReaderState:
        return {**super().stats(), "batch_size": self._size}

    def _with_fluids_lods(self, tensors: Tensors, parts: list[Part]) -> Tensors:
        """Return a batch with Fluid's LoDs, where each offset was added to the previous one, not to the record's."""
        blocks = [gather([part], self._buffers) for part in parts]
        records = [block.slice(i, i + 1) for block in blocks for i in range(len(block))]
        return [
            (array, tuple(_running([one.columns[slot].lod[level] for one in records]) for level in range(len(lod))))
            for slot, (array, lod) in enumerate(tensors)
        ]


def _running(offsets: list[IntArray]) -> IntArray:
    first, *rest = offsets
    return np.concatenate([first, first[-1] + np.cumsum([n for level in rest for n in level[1:]], dtype=np.int64)])
