"""RecordBlock: many records at once, one array for each slot.

Records are never passed one by one. A chunk becomes a block; slicing is free, permuting takes one copy, and a batch is
a block whose columns are exactly the batch's tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from fluidio.tensor.array import Array
from fluidio.tensor.lod import NO_LOD, IntArray, LoD

__all__ = ["Allocate", "Column", "Layout", "RecordBlock", "check_same_layout"]

Layout = tuple[np.dtype[Any], tuple[int, ...], int]
"""dtype, dims after the first, number of LoD levels."""
TakeRows = Callable[[Array, IntArray, IntArray], Array]
Allocate = Callable[[Sequence[tuple[tuple[int, ...], Any]]], list[Any]]
"""Allocates an array for each (shape, dtype)."""


class Column:
    """One slot of many records: their rows stacked along axis 0.

    Attributes:
        data: all rows; record i has rows `record_offsets[i]:record_offsets[i + 1]`.
        record_offsets: int64, records + 1 entries; None when every record has `rows_per_record` rows.
        lod: the LoD of the whole column, merged over the records, as in a batch of them.
        sequence_offsets: int64, which outermost sequences belong to which record; None when every record has the same
            number of them (and without LoD).
    """

    __slots__ = ("data", "lod", "num_records", "record_offsets", "rows_per_record", "sequence_offsets")

    def __init__(
        self,
        data: Array,
        record_offsets: IntArray | None = None,
        lod: LoD = NO_LOD,
        *,
        sequence_offsets: IntArray | None = None,
        num_records: int | None = None,
    ) -> None:
        if num_records is None:
            num_records = len(data) if record_offsets is None else len(record_offsets) - 1
        self.data = data
        self.record_offsets = record_offsets
        self.lod = lod
        self.sequence_offsets = sequence_offsets
        self.num_records = num_records
        self.rows_per_record: int | None = None
        if record_offsets is None:
            self.rows_per_record = len(data) // num_records if num_records else 0
            if self.rows_per_record * num_records != len(data):
                raise ValueError(f"{len(data)} rows cannot be divided into {num_records} records of equal height")

    @property
    def layout(self) -> Layout:
        """Return dtype, trailing dims and LoD levels, which must match to stack columns."""
        return self.data.dtype, self.data.shape[1:], len(self.lod)

    @property
    def is_a_sequence_each(self) -> bool:
        """Return whether every record is one sequence: its LoD is its record offsets."""
        return len(self.lod) == 1 and self.lod[0] is self.record_offsets and self.sequence_offsets is None

    def offsets(self) -> IntArray:
        """Return the record offsets, computed if all records have the same height."""
        if self.record_offsets is not None:
            return self.record_offsets
        return np.arange(self.num_records + 1, dtype=np.int64) * (self.rows_per_record or 0)

    def rows(self, start: int, stop: int) -> int:
        """Return how many rows records start..stop have."""
        if self.record_offsets is None:
            return (stop - start) * (self.rows_per_record or 0)
        return int(self.record_offsets[stop] - self.record_offsets[start])

    def sequences(self) -> IntArray:
        """Return which outermost sequences belong to which record, as offsets."""
        if self.sequence_offsets is not None:
            return self.sequence_offsets
        each = (len(self.lod[0]) - 1) // self.num_records if self.lod and self.num_records else 0
        return np.arange(self.num_records + 1, dtype=np.int64) * each

    def slice(self, start: int, stop: int) -> Column:
        """Return records start..stop; the rows are not copied."""
        count = stop - start
        offsets: IntArray | None = None
        if self.record_offsets is None:
            rows = self.rows_per_record or 0
            first, last = start * rows, stop * rows
        else:
            offsets = self.record_offsets[start : stop + 1]
            first, last = int(offsets[0]), int(offsets[-1])
            offsets = offsets - first
        data = self.data[first:last]
        if not self.lod:
            return Column(data, offsets, num_records=count)
        if offsets is not None and self.is_a_sequence_each:
            return Column(data, offsets, (offsets,), num_records=count)
        sequences: IntArray | None = None
        if self.sequence_offsets is None:
            each = (len(self.lod[0]) - 1) // self.num_records if self.num_records else 0
            low, high = start * each, stop * each
        else:
            sequences = self.sequence_offsets[start : stop + 1]
            low, high = int(sequences[0]), int(sequences[-1])
            sequences = sequences - low
        levels = []
        for level in self.lod:
            part = level[low : high + 1]
            low, high = int(part[0]), int(part[-1])
            levels.append(part - low)
        return Column(data, offsets, tuple(levels), sequence_offsets=sequences, num_records=count)

    def split(self, size: int) -> list[tuple[Array, LoD]]:
        """Return the rows and the LoD of each run of `size` records; the last run may be shorter (no copy of rows)."""
        starts, data = range(0, self.num_records, size), self.data
        if not self.lod and self.record_offsets is None:
            rows = (self.rows_per_record or 0) * size
            return [(data[run * rows : (run + 1) * rows], NO_LOD) for run in range(len(starts))]
        if not self.is_a_sequence_each:
            return [(run.data, run.lod) for run in (self.slice(at, min(at + size, self.num_records)) for at in starts)]
        level = self.lod[0]
        edges = [*level[::size].tolist(), int(level[-1])]
        return [
            (data[first:last], (level[at : at + size + 1] - first,))
            for at, first, last in zip(starts, edges, edges[1:])
        ]

    def take(self, indices: IntArray, take_rows: TakeRows | None = None) -> Column:
        """Return the records with these numbers, in this order; one copy.

        Args:
            take_rows: an alternative function that returns ranges of the rows (array, starts, lengths).
        """
        if take_rows is None:
            take_rows = _take_rows
            if not self.lod and self.record_offsets is None:
                return self._take_uniform(indices)
        count = len(indices)
        if not self.lod:
            edges = self.offsets()
            lengths = (edges[1:] - edges[:-1])[indices]
            data = take_rows(self.data, edges[:-1][indices], lengths)
            return Column(data, _uniform_or_offsets(_offsets(lengths)), num_records=count)
        sequences, members = _take_ranges(self.sequences(), indices)
        offsets = sequences
        levels: list[IntArray] = []
        starts = lengths = members
        for number, level in enumerate(self.lod):
            members = _ranges(starts, lengths) if number else members
            starts, lengths = level[:-1][members], (level[1:] - level[:-1])[members]
            levels.append(_offsets(lengths))
            offsets = levels[-1][offsets]
        return Column(
            take_rows(self.data, starts, lengths),
            _uniform_or_offsets(offsets),
            tuple(levels),
            sequence_offsets=_uniform_or_offsets(sequences),
            num_records=count,
        )

    def _take_uniform(self, indices: IntArray) -> Column:
        rows, count = self.rows_per_record or 0, len(indices)
        if rows == 1:
            return Column(self.data.take(indices, axis=0), num_records=count)
        tall = self.data.reshape(self.num_records, rows, *self.data.shape[1:]).take(indices, axis=0)
        return Column(tall.reshape(count * rows, *self.data.shape[1:]), num_records=count)

    @staticmethod
    def concat(columns: Sequence[Column], out: Array | None = None) -> Column:
        """Return the records of all columns, one after another; one copy (into `out` if given)."""
        return Column.chain(columns, np.concatenate([column.data for column in columns], out=out))

    @staticmethod
    def chain(columns: Sequence[Column], data: Array) -> Column:
        """Return the records of all columns, one after another, with their rows already in `data`."""
        count = sum(column.num_records for column in columns)
        heights = {column.rows_per_record for column in columns if column.num_records}
        offsets: IntArray | None = None
        if None in heights or len(heights) > 1:
            offsets = _chain([column.offsets() for column in columns])
        if not columns[0].lod:
            return Column(data, offsets, num_records=count)
        if offsets is not None and all(len(c.lod) == 1 and c.lod[0] is c.record_offsets for c in columns):
            return Column(data, offsets, (offsets,), num_records=count)  # a sequence each
        lod = tuple(_chain([column.lod[level] for column in columns]) for level in range(len(columns[0].lod)))
        sequences = _uniform_or_offsets(_chain([column.sequences() for column in columns]))
        return Column(data, offsets, lod, sequence_offsets=sequences, num_records=count)

    def __repr__(self) -> str:
        rows = self.rows_per_record if self.record_offsets is None else "ragged"
        lod = f", {len(self.lod)} LoD levels" if self.lod else ""
        return f"Column({self.num_records} records, {rows} rows each, {self.data.shape[1:]} {self.data.dtype}{lod})"


class RecordBlock:
    """Records with one layout: `columns` side by side, `len(block)` records.

    Args:
        columns: one Column for each slot.
        num_records: how many records they hold.
    """

    __slots__ = ("columns", "num_records")

    def __init__(self, columns: Sequence[Column], num_records: int | None = None) -> None:
        if num_records is None:
            if not columns:
                raise ValueError("a block without columns needs num_records")
            num_records = columns[0].num_records
        self.num_records = num_records
        self.columns = tuple([c if c.num_records == num_records else _recount(c, num_records) for c in columns])

    def __len__(self) -> int:
        return self.num_records

    @property
    def layout(self) -> tuple[Layout, ...]:
        """Return the layouts of all columns."""
        return tuple(column.layout for column in self.columns)

    @property
    def nbytes(self) -> int:
        """Return the size of the rows in bytes."""
        return sum(int(column.data.nbytes) for column in self.columns)

    def slice(self, start: int, stop: int) -> RecordBlock:
        """Return records start..stop (no copy of rows)."""
        start, stop, _ = slice(start, stop).indices(self.num_records)
        stop = max(start, stop)
        return RecordBlock([column.slice(start, stop) for column in self.columns], stop - start)

    def take(self, indices: Sequence[int] | IntArray) -> RecordBlock:
        """Return the records with these numbers, in this order (one copy)."""
        chosen = np.asarray(indices, dtype=np.int64)
        return RecordBlock([column.take(chosen) for column in self.columns], len(chosen))

    @staticmethod
    def concat(blocks: Sequence[RecordBlock], allocate: Allocate | None = None) -> RecordBlock:
        """Return the records of all blocks, one after another.

        Args:
            allocate: allocates the target arrays for the (shape, dtype) of each column.

        Raises:
            ValueError: the blocks differ in dtype, trailing dims or LoD levels; the text says where.
        """
        if not blocks:
            raise ValueError("concat needs at least one block")
        if len(blocks) == 1:
            return blocks[0]
        first = check_same_layout(blocks)
        outs: list[Any] = [None] * len(first)
        if allocate is not None:
            rows = [sum(len(b.columns[i].data) for b in blocks) for i in range(len(first))]
            outs = allocate([((n, *dims), dtype) for n, (dtype, dims, _) in zip(rows, first)])
        columns = [Column.concat([b.columns[i] for b in blocks], outs[i]) for i in range(len(first))]
        return RecordBlock(columns, sum(len(block) for block in blocks))

    def tensors(self) -> list[tuple[Array, LoD]]:
        """Return (array, LoD) of each column: the tensors of a batch made of all these records."""
        return [(column.data, column.lod) for column in self.columns]

    def split(self, size: int) -> list[list[tuple[Array, LoD]]]:
        """Return the tensors of each run of `size` records; the last run may be shorter (no copy of rows)."""
        runs = [column.split(size) for column in self.columns]
        return [list(tensors) for tensors in zip(*runs)] if runs else [[] for _ in range(0, self.num_records, size)]

    def __repr__(self) -> str:
        return f"RecordBlock({self.num_records} records, {list(self.columns)})"


def _recount(column: Column, num_records: int) -> Column:
    """Return a column with its number of records set, once the block knows it."""
    if column.record_offsets is not None:
        raise ValueError(f"a column has {column.num_records} records, but the block has {num_records}")
    return Column(column.data, None, column.lod, sequence_offsets=column.sequence_offsets, num_records=num_records)


class HasLayout(Protocol):
    """Something with columns."""

    @property
    def layout(self) -> tuple[Layout, ...]: ...


def check_same_layout(blocks: Sequence[HasLayout]) -> tuple[Layout, ...]:
    """Return the layout of all blocks; ValueError says where they differ."""
    first = blocks[0].layout
    for block in blocks:
        if block.layout != first:
            raise ValueError(_difference(first, block.layout))
    return first


def describe(layout: Layout) -> str:
    """Return a layout in words: "float32 (rows, 784)"."""
    dtype, dims, levels = layout
    shape = ", ".join(["rows", *map(str, dims)]) if dims else "rows,"
    return f"{dtype.name} ({shape})" + (f" with {levels} LoD levels" if levels else "")


def _difference(first: tuple[Layout, ...], other: tuple[Layout, ...]) -> str:
    if len(first) != len(other):
        return f"records of {len(first)} tensors and records of {len(other)} tensors cannot be stacked"
    index = next(i for i in range(len(first)) if first[i] != other[i])
    return (
        f"records cannot be stacked: slot {index} is {describe(first[index])} in some, "
        f"{describe(other[index])} in others"
    )


def _offsets(lengths: IntArray) -> IntArray:
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def _ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return starts[0], starts[0] + 1, ... for each range, all in one array."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    members: IntArray = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
    return members


def _take_ranges(offsets: IntArray, indices: IntArray) -> tuple[IntArray, IntArray]:
    """Return the offsets of the chosen ranges side by side, and the numbers of their members."""
    lengths = (offsets[1:] - offsets[:-1])[indices]
    return _offsets(lengths), _ranges(offsets[:-1][indices], lengths)


def _take_rows(data: Array, starts: IntArray, lengths: IntArray) -> Array:
    """Return the rows of some ranges; rows of zero bytes are not enumerated."""
    if not data.size:
        return np.empty((int(lengths.sum()), *data.shape[1:]), data.dtype)
    return data.take(_ranges(starts, lengths), axis=0)


def _chain(parts: Sequence[IntArray]) -> IntArray:
    """Concatenate lists of offsets, each starting at 0, into one."""
    out = np.empty(sum(len(part) - 1 for part in parts) + 1, np.int64)
    out[0] = 0
    end = 0
    for part in parts:
        stop = end + len(part) - 1
        np.add(part[1:], out[end], out=out[end + 1 : stop + 1])
        end = stop
    return out


def _uniform_or_offsets(offsets: IntArray) -> IntArray | None:
    """Return None if all ranges have the same length, which needs no offsets."""
    if len(offsets) < 2:
        return None
    lengths = offsets[1:] - offsets[:-1]
    return None if (lengths == lengths[0]).all() else offsets
