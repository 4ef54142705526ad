"""What the records of the next chunk probably look like, where they differ in height."""

from __future__ import annotations

import math
from typing import NamedTuple

from fluidio.recordio.decode.loops import Pattern, pattern
from fluidio.recordio.decode.spans import Pieces, Span
from fluidio.recordio.format.compressors import CodecError
from fluidio.recordio.format.records import RecordTable
from fluidio.recordio.format.tensor_codec import TensorHead, parse_head

__all__ = ["Fixed", "RaggedPlan", "Varying", "ragged_plan"]


class Fixed(NamedTuple):
    """A tensor that has the same prefix in all records."""

    framing: bytes
    head: TensorHead

    @property
    def least(self) -> int:
        """Bytes of a record that it takes."""
        return len(self.framing) + self.head.stop - self.head.start


class Varying(NamedTuple):
    """A tensor that differs in height."""

    pattern: Pattern
    head: TensorHead

    @property
    def least(self) -> int:
        """Bytes of a record that it takes at least."""
        like = self.pattern
        return len(like.before) + 8 * like.has_lod + 8 + len(like.start) + 1 + len(like.tail)


RaggedPlan = tuple[Fixed | Varying, ...]
"""The tensors of a record, one after another behind its length."""


def ragged_plan(payload: memoryview, table: RecordTable, span: Span) -> RaggedPlan | None:
    """Return the tensors of the records of a chunk; None if they cannot be told by their prefixes alone."""
    first, end = table.bounds(0)
    lead, plan = 4, list[Fixed | Varying]()  # the tensor count is read with the first tensor
    try:
        for source in span.sources:
            head = parse_head(payload, first + lead, end)
            varies = type(source) is Pieces and (bool(head.lod) or source.column.record_offsets is not None)
            if not varies:
                plan.append(Fixed(bytes(payload[first : head.start]), head))
            elif (like := pattern(payload, first, head, lead, head.dtype.itemsize * math.prod(head.dims[1:]))) is None:
                return None
            else:
                plan.append(Varying(like, head))
            first, lead = head.stop, 0
    except CodecError:
        return None
    return tuple(plan)
