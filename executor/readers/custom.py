"""Custom: run a sub-block of the program on every item (`layers.Preprocessor`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.executor.frame import Frame
from fluidio.executor.plan import Plan
from fluidio.executor.readers.base import Decorator, Reader, Spec, Tensors, part_of_item
from fluidio.executor.readers.row_wise import origins
from fluidio.ops.frame import SubBlock
from fluidio.recordio import Column, RecordBlock
from fluidio.recordio.blocks.cut import PartBuffer
from fluidio.recordio.decode.spans import Part, gather, part_of
from fluidio.tensor import Scope
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["Custom"]


class Custom(Decorator):
    """Binds the tensors of each item to `sources`, runs the sub-block, and delivers `sinks`.

    The sub-block cannot see the program's scope. If its ops work row by row, many records go through it at once. Fluid:
    the LoD of the results was lost; here it is kept, unless the era is strict.
    """

    def __init__(
        self,
        name: str,
        below: Reader,
        plan: Plan,
        body: SubBlock,
        sources: Sequence[str],
        sinks: Sequence[str],
        spec: Spec = (),
    ) -> None:
        super().__init__(name, below, spec)
        self._plan = plan
        self._body = body
        self._sources = list(sources)
        self._sinks = list(sinks)
        self._scope = Scope()
        self._keep_lod = not era().strict
        found = origins(body.block, self._sources, self._sinks)
        self._origins = None if found is None else [self._sources.index(origin) for origin in found]
        self._failed = PartBuffer()  # records of a group that failed as a whole

    def _next(self) -> Tensors | None:
        if len(self._failed):
            part = self._failed.take(1, lambda: None)
            assert part is not None
            return self._run(gather([part], self._buffers).tensors())
        item = self.below.read_next()
        return None if item is None else self._run(item)

    def _part(self, most: int) -> Part | None:
        if self._origins is None or len(self._failed):
            item = self._next()
            return None if item is None else part_of_item(item)
        part = self.below.read_part(most)
        if part is None:
            return None
        block = gather([part], self._buffers)
        try:
            return part_of(RecordBlock(self._columns(block.columns, self._origins), len(part)))
        except Exception:  # from one record, which raises it again in its turn
            self._failed.put(part_of(block))
            return self._part(1)

    def _columns(self, given: Sequence[Column], origins: list[int]) -> list[Column]:
        """Return the sinks of many records."""
        found = []
        for (array, lod), origin in zip(self._run([(column.data, column.lod) for column in given]), origins):
            like = given[origin]
            if len(array) != len(like.data) or (lod and not all(map(np.array_equal, lod, like.lod))):
                raise ValueError(
                    f"preprocessor {self.name}: its output has a LoD that does not match that of "
                    f"{self._sources[origin]}"
                )
            sequences = like.sequence_offsets if lod else None
            found.append(
                Column(array, like.record_offsets, lod, sequence_offsets=sequences, num_records=like.num_records)
            )
        return found

    def _run(self, item: Tensors) -> Tensors:
        """Run the block on an item."""
        if len(item) != len(self._sources):
            raise EnforceNotMet(
                f"preprocessor {self.name}: the reader below it delivers {len(item)} tensors, but its block "
                f"takes {len(self._sources)}"
            )
        count = len(self._plan._names)
        values: list[Any] = [None] * count
        f = Frame(self._plan, self._scope, values, [()] * count, [None] * count)
        given = dict(zip(self._sources, item))
        slots, dev = self._body.slots, self._plan.dev
        with dev.active():
            for source, (array, lod) in given.items():
                if source in slots:  # else no op of the block uses it
                    values[slots[source]], f.lods[slots[source]] = dev.upload(array), lod
            self._body.run(f)
        results = [self._result(f, sink, given) for sink in self._sinks]
        # Copy from a GPU back to the host, where the reader above may work.
        lods = [lod if self._keep_lod else () for _, lod in results]
        return list(zip(dev.fetch([array for array, _ in results]), lods))

    def _result(self, f: Frame, sink: str, given: dict[str, tuple[Any, LoD]]) -> tuple[Array, LoD]:
        slot = self._body.slots.get(sink)
        if slot is None and sink in given:
            return given[sink]
        if slot is None or f.values[slot] is None:
            raise EnforceNotMet(f"preprocessor {self.name}: nothing in its block computes the output {sink!r}")
        return f.values[slot], f.lods[slot]

    def _stop(self) -> None:
        self._failed.clear()
