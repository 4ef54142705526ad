"""Records whose position in a chunk is known, and the single copy that turns them into arrays.

A batch often begins in one chunk and ends in the next, so nothing is copied before all its parts are found. Cutting and
shuffling work on parts, which hold only positions: a record is copied once, from its chunk to its batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluidio.recordio.decode.block import Allocate, Column, Layout, RecordBlock, check_same_layout
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.loops import Cuts, Places, copy, join, pick
from fluidio.recordio.format.tensor_codec import TensorHead
from fluidio.tensor.array import Array, DType
from fluidio.tensor.lod import IntArray

_NOTHING = bytes(16)

__all__ = [
    "ColumnSource",
    "Part",
    "Pieces",
    "Scattered",
    "Span",
    "Strided",
    "gather",
    "part_of",
    "repeat",
    "unfilled",
    "unset",
]


class Strided(NamedTuple):
    """One tensor of records with identical layout: always `stride` bytes after that of the previous record."""

    payload: memoryview
    stride: int
    head: TensorHead

    @property
    def layout(self) -> Layout:
        """Return the layout of the resulting column."""
        return self.head.dtype, self.head.dims[1:], len(self.head.lod)

    def rows(self, start: int, stop: int) -> int:
        """Return how many rows some records have."""
        return (stop - start) * self.head.dims[0]


class Pieces(NamedTuple):
    """One tensor of records of different heights: where the data of each is, and a column without the data."""

    payload: memoryview
    starts: Places
    stops: Places
    column: Column

    def cuts(self, start: int, stop: int) -> Cuts:
        """Return where the data of some records is."""
        return self.payload, self.starts[start:stop], self.stops[start:stop]

    @property
    def layout(self) -> Layout:
        """Return the layout of the resulting column."""
        return self.column.layout

    def rows(self, start: int, stop: int) -> int:
        """Return how many rows some records have."""
        return self.column.rows(start, stop)


class Scattered(NamedTuple):
    """One tensor of records scattered over several chunks, in their new order."""

    payloads: tuple[memoryview, ...]
    which: IntArray
    starts: IntArray
    stops: IntArray
    column: Column

    def copy(self, start: int, stop: int, target: Array) -> None:
        """Copy the data of some records."""
        chosen = slice(start, stop)
        pick(self.payloads, self.which[chosen], self.starts[chosen], self.stops[chosen], target)

    @property
    def layout(self) -> Layout:
        """Return the layout of the resulting column."""
        return self.column.layout

    def rows(self, start: int, stop: int) -> int:
        """Return how many rows some records have."""
        return self.column.rows(start, stop)


ColumnSource = Strided | Pieces | Scattered | Column


def unfilled(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return an array that has a shape and a dtype, but no memory of its own."""
    return np.ndarray(shape, dtype, _NOTHING, 0, (0,) * len(shape))


@dataclass(frozen=True, slots=True)
class Span:
    """`count` consecutive records of one layout, from one chunk or from several that were shuffled."""

    count: int
    sources: Sequence[ColumnSource]

    @property
    def layout(self) -> tuple[Layout, ...]:
        """Return the layouts of all columns."""
        return tuple([source.layout for source in self.sources])


class Part:
    """Records start..stop of a span, located but not copied yet."""

    __slots__ = ("span", "start", "stop")

    def __init__(self, span: Span, start: int, stop: int) -> None:
        self.span = span
        self.start = start
        self.stop = stop

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def layout(self) -> tuple[Layout, ...]:
        """Return the layouts of all columns."""
        return self.span.layout

    @property
    def nbytes(self) -> int:
        """Return the size of the rows in bytes."""
        return sum([_nbytes(source, self.start, self.stop) for source in self.span.sources])

    def slice(self, start: int, stop: int) -> Part:
        """Return records start..stop of these."""
        return Part(self.span, self.start + start, self.start + stop)

    def __repr__(self) -> str:
        return f"Part({self.start}..{self.stop} of {self.span.count} records, {self.layout})"


def part_of(block: RecordBlock) -> Part:
    """Return the records of a block as a part, without copying them again."""
    return Part(Span(len(block), block.columns), 0, len(block))


def _nbytes(source: ColumnSource, start: int, stop: int) -> int:
    if type(source) is Strided:
        return (stop - start) * (source.head.stop - source.head.start)
    dtype, dims, _ = source.layout
    return source.rows(start, stop) * dtype.itemsize * math.prod(dims)


def gather(parts: Sequence[Part], pool: Pool, allocate: Allocate | None = None) -> RecordBlock:
    """Return the records of all parts, one after another, as a block that owns its memory.

    Args:
        pool: provides the memory, which returns to it once the block and all its views are gone.
        allocate: allocates the arrays instead, for the (shape, dtype) of each column.

    Raises:
        ValueError: the parts differ in dtype, trailing dims or LoD levels; the text says where.
    """
    if len(parts) > 1:
        check_same_layout([part.span for part in parts])
    elif allocate is None and {type(source) for source in parts[0].span.sources} == {Strided}:
        return _gather_one(parts[0], pool)
    columns = []
    outs = [None] * len(parts[0].span.sources) if allocate is None else _room(parts, allocate)
    for slot, out in enumerate(outs):
        found: list[_Cut] = [(part.span.sources[slot], part.start, part.stop) for part in parts]
        columns.append(_column(found, pool, out))
    return RecordBlock(columns, sum([part.stop - part.start for part in parts]))


def _gather_one(part: Part, pool: Pool) -> RecordBlock:
    """Return the records of a part of one chunk whose tensors all have one shape: the usual batch."""
    start, count = part.start, part.stop - part.start
    columns = []
    sources: Sequence[Any] = part.span.sources
    for payload, stride, head in sources:
        column = unset(head, count, pool)
        size = head.stop - head.start
        if size:
            copy(payload, head.start + start * stride, stride, size, column.data, 0, count)
        columns.append(column)
    return RecordBlock(columns, count)


def unset(head: TensorHead, count: int, pool: Pool) -> Column:
    """Return the column of `count` records with one head, whose data is still to be written."""
    data = pool.array((count * head.dims[0], *head.dims[1:]), head.dtype)
    return Column(data, None, tuple([repeat(level, count) for level in head.lod]), num_records=count)


_Cut = tuple[Any, int, int]
"""Records start..stop of one source."""
_Out = Array | None


def _room(parts: Sequence[Part], allocate: Allocate) -> list[_Out]:
    layouts = parts[0].span.layout
    rows = [sum([part.span.sources[i].rows(part.start, part.stop) for part in parts]) for i in range(len(layouts))]
    return allocate([((count, *dims), dtype) for count, (dtype, dims, _) in zip(rows, layouts)])


def _column(found: list[_Cut], pool: Pool, out: _Out) -> Column:
    """Return one column of all parts, in `out` if given."""
    kind = type(found[0][0])
    if len(found) > 1 and any(type(source) is not kind for source, _, _ in found):
        kind = Column
    if kind is Strided and (len(found) == 1 or _alike([source.head for source, _, _ in found])):
        return _copy_strided(found, pool, out)
    if kind is Pieces:
        return _copy_pieces(found, pool, out)
    if kind is Scattered:
        return _copy_scattered(found, pool, out)
    if len(found) == 1 and out is None:
        source, start, stop = found[0]
        column: Column = source.slice(start, stop)
        return column
    if kind is Column and _are_dense([source for source, _, _ in found]):
        return _join_dense(found, pool, out)
    columns = [s.slice(a, b) if type(s) is Column else _column([(s, a, b)], pool, None) for s, a, b in found]
    like = columns[0].data
    rows = sum([len(column.data) for column in columns])
    return Column.concat(columns, pool.array((rows, *like.shape[1:]), like.dtype) if out is None else out)


def _alike(heads: list[TensorHead]) -> bool:
    first = heads[0]
    return all(
        head is first or (not head.lod and not first.lod and head.dims == first.dims and head.dtype == first.dtype)
        for head in heads
    )


def _are_dense(columns: Sequence[Any]) -> bool:
    """Return whether all are columns of records with one height and no LoD."""
    height = columns[0].rows_per_record if type(columns[0]) is Column else None
    return height is not None and all(
        type(column) is Column and column.rows_per_record == height and not column.lod for column in columns
    )


def _join_dense(found: list[_Cut], pool: Pool, out: _Out) -> Column:
    like: Column = found[0][0]
    height, count = like.rows_per_record or 0, sum([stop - start for _, start, stop in found])
    data = pool.array((count * height, *like.data.shape[1:]), like.data.dtype) if out is None else out
    np.concatenate([column.data[start * height : stop * height] for column, start, stop in found], out=data)
    return Column(data, num_records=count)


def _copy_strided(parts: list[_Cut], pool: Pool, out: _Out) -> Column:
    head: TensorHead = parts[0][0].head
    count = sum([stop - start for _, start, stop in parts])
    data = pool.array((count * head.dims[0], *head.dims[1:]), head.dtype) if out is None else out
    size = head.stop - head.start
    if size:
        done = 0
        for (payload, stride, own), start, stop in parts:
            copy(payload, own.start + start * stride, stride, size, data, done, stop - start)
            done += stop - start
    levels = tuple([repeat(level, count) for level in head.lod]) if head.lod else ()
    return Column(data, None, levels, num_records=count)


def repeat(level: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Return the merged offsets of `count` records with the same level."""
    out = np.empty(count * (len(level) - 1) + 1, np.int64)
    out[0] = 0
    if len(level) > 1:
        np.add.outer(np.arange(count, dtype=np.int64) * level[-1], level[1:], out=out[1:].reshape(count, -1))
    return out


def _copy_pieces(parts: list[_Cut], pool: Pool, out: _Out) -> Column:
    column = _joined([source.column.slice(start, stop) for source, start, stop in parts])
    column.data = join([source.cuts(start, stop) for source, start, stop in parts], column.data, pool, out)
    return column


def _copy_scattered(parts: list[_Cut], pool: Pool, out: _Out) -> Column:
    column = _joined([source.column.slice(start, stop) for source, start, stop in parts])
    like = column.data
    column.data = pool.array(like.shape, like.dtype) if out is None else out
    done = 0
    for source, start, stop in parts:
        rows = source.rows(start, stop)
        source.copy(start, stop, column.data[done : done + rows])
        done += rows
    return column


def _joined(columns: list[Column]) -> Column:
    """Join columns without data into one column without data."""
    if len(columns) == 1:
        return columns[0]
    like = columns[0].data
    rows = sum([len(column.data) for column in columns])
    return Column.chain(columns, unfilled((rows, *like.shape[1:]), like.dtype))
