"""Records whose place in a chunk is known, and the one copy that makes them arrays.

A batch often begins in one chunk and ends in the next; so nothing is copied before all its parts are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluidio.recordio.decode.block import Column, Layout, RecordBlock
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.loops import Cuts, Places, copy, join
from fluidio.recordio.format.tensor_codec import TensorHead

_NOTHING = bytes(16)

__all__ = ["ColumnSource", "Part", "Pieces", "Span", "Strided", "gather", "unfilled"]


class Strided(NamedTuple):
    """One tensor of records that all look alike: always `stride` bytes after that of the record before."""

    payload: memoryview
    stride: int
    head: TensorHead

    @property
    def layout(self) -> Layout:
        """Return what the column will have."""
        return self.head.dtype, self.head.dims[1:], len(self.head.lod)


class Pieces(NamedTuple):
    """One tensor of records of different heights: where the data of each are, and a column that lacks just them."""

    payload: memoryview
    starts: Places
    stops: Places
    column: Column

    def cuts(self, start: int, stop: int) -> Cuts:
        """Return where the data of some records are."""
        return self.payload, self.starts[start:stop], self.stops[start:stop]

    @property
    def layout(self) -> Layout:
        """Return what the column will have."""
        return self.column.layout


ColumnSource = Strided | Pieces | Column


def unfilled(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array that has a shape and a type, but no memory of its own."""
    return np.ndarray(shape, dtype, _NOTHING, 0, (0,) * len(shape))


@dataclass(frozen=True, slots=True)
class Span:
    """`count` neighbours of one layout in one chunk."""

    count: int
    sources: Sequence[ColumnSource]

    @property
    def layout(self) -> tuple[Layout, ...]:
        """Return the layouts of all columns."""
        return tuple(source.layout for source in self.sources)


Part = tuple[Span, int, int]
"""Records start..stop of a span."""


def gather(parts: Sequence[Part], pool: Pool) -> RecordBlock:
    """Return records of one layout as a block that owns its memory, which goes back to the pool after it."""
    if len(parts) == 1:
        span, start, stop = parts[0]
        return RecordBlock([_cut(source, start, stop, pool) for source in span.sources], stop - start)
    count = sum([stop - start for _, start, stop in parts])
    columns = []
    for slot in range(len(parts[0][0].sources)):
        found: list[Any] = [(span.sources[slot], start, stop) for span, start, stop in parts]
        kinds = {type(source) for source, _, _ in found}
        if kinds == {Strided} and all(source.head is found[0][0].head for source, _, _ in found):
            columns.append(_copy_strided(found, pool))
        elif kinds == {Pieces}:
            columns.append(_copy_pieces(found, pool))
        else:
            columns.append(Column.concat([_cut(source, start, stop, pool) for source, start, stop in found]))
    return RecordBlock(columns, count)


def _cut(source: ColumnSource, start: int, stop: int, pool: Pool) -> Column:
    """Return some records of one source."""
    if type(source) is Column:
        return source.slice(start, stop)
    if type(source) is Strided:
        return _copy_strided([(source, start, stop)], pool)
    assert type(source) is Pieces
    column = source.column.slice(start, stop)
    column.data = join([source.cuts(start, stop)], column.data, pool)
    return column


def _copy_strided(parts: list[tuple[Strided, int, int]], pool: Pool) -> Column:
    source, start, stop = parts[0]
    head = source.head
    count = stop - start if len(parts) == 1 else sum([stop - start for _, start, stop in parts])
    data = pool.array((count * head.dims[0], *head.dims[1:]), head.dtype)
    size = head.stop - head.start
    if size:
        done = 0
        for (payload, stride, _), start, stop in parts:
            copy(payload, head.start + start * stride, stride, size, data, done, stop - start)
            done += stop - start
    levels = tuple([_repeat(level, count) for level in head.lod]) if head.lod else ()
    return Column(data, None, levels, num_records=count)


def _repeat(level: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Return the merged offsets of `count` records with the same level."""
    out = np.empty(count * (len(level) - 1) + 1, np.int64)
    out[0] = 0
    if len(level) > 1:
        np.add.outer(np.arange(count, dtype=np.int64) * level[-1], level[1:], out=out[1:].reshape(count, -1))
    return out


def _copy_pieces(parts: list[tuple[Pieces, int, int]], pool: Pool) -> Column:
    columns = [source.column.slice(start, stop) for source, start, stop in parts]
    like = columns[0].data
    shape = (sum([len(column.data) for column in columns]), *like.shape[1:])
    cuts = [source.cuts(start, stop) for source, start, stop in parts]
    return Column.chain(columns, join(cuts, unfilled(shape, like.dtype), pool))
