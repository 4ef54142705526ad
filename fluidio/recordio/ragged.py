"""Decode records that share their tensors but not their heights: all headers at once, field by field.

`at` is the position in every record. A field of fixed size is gathered for all records with one indexing operation
and must agree with what the first record says, or be a number that we follow (heights, LoD). Every early `return None`
means "not this way": the record-by-record path then decodes it or says what is wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluidio.recordio.block import Column, RecordBlock
from fluidio.recordio.compressors import CodecError
from fluidio.recordio.prefixes import read_prefixes
from fluidio.recordio.records import RecordTable
from fluidio.recordio.tensor_codec import TensorHead, parse_head
from fluidio.tensor.lod import IntArray, LoD

__all__ = ["decode", "uniform"]

_LARGEST_ITEM = 1 << 30  # NumPy's item sizes are 32-bit numbers


class _Tensor(NamedTuple):
    column: Column
    at: IntArray


def decode(payload: memoryview, table: RecordTable) -> RecordBlock | None:
    """Return all records as one block, None when they are not alike enough."""
    at, ends = _bounds(table)
    count = _same(payload, at, ends, 4)
    if count is None:
        return None
    at = at + 4
    columns = []
    for _ in range(int.from_bytes(count, "little")):
        tensor = _tensor(payload, at, ends)
        if tensor is None:
            return None
        columns.append(tensor.column)
        at = tensor.at
    if (at != ends).any():
        return None
    return RecordBlock(columns, table.count)


def _bounds(table: RecordTable) -> tuple[IntArray, IntArray]:
    if table.stride is None:
        return table.starts, table.stops
    starts = np.arange(table.count, dtype=np.int64) * table.stride + 4
    return starts, starts + (table.stride - 4)


def _tensor(payload: memoryview, at: IntArray, ends: IntArray) -> _Tensor | None:
    try:
        head = parse_head(payload, int(at[0]), int(ends[0]))
    except CodecError:
        return None
    if not head.dims:
        return None
    found = _prefix(payload, at, ends, head) or _fields(payload, at, ends, head)
    if found is None:
        return None
    rows, lod, sequences, at = found
    row_size = head.dtype.itemsize
    for dim in head.dims[1:]:
        row_size *= dim
    if int(rows.max()) * row_size > len(payload):
        return None
    stops = at + rows * row_size
    if (stops > ends).any():
        return None
    data = _gather(payload, at, stops).view(head.dtype)
    column = Column(
        data.reshape(int(rows.sum()), *head.dims[1:]),
        uniform(rows),
        lod,
        sequence_offsets=sequences,
        num_records=len(at),
    )
    return _Tensor(column, stops)


_Found = tuple[IntArray, LoD, IntArray | None, IntArray]
"""Heights, merged LoD, sequence offsets, positions of the data."""


def _prefix(payload: memoryview, at: IntArray, ends: IntArray, head: TensorHead) -> _Found | None:
    """Read the prefixes of all records at once; None when their lengths differ."""
    size = head.start - int(at[0])
    found = _fixed(payload, at, ends, size)
    if found is None:
        return None
    pattern = bytes(payload[int(at[0]) : head.start])
    prefixes = read_prefixes(found.view(np.uint8).reshape(-1, size), pattern, head)
    return None if prefixes is None else (prefixes.rows, prefixes.lod, None, at + size)


def _fields(payload: memoryview, at: IntArray, ends: IntArray, head: TensorHead) -> _Found | None:
    """Read the prefixes field by field."""
    if _same(payload, at, ends, 12) is None:
        return None
    at = at + 12
    levels = []
    for _ in head.lod:
        level = _level(payload, at, ends)
        if level is None:
            return None
        offsets, counts, at = level
        levels.append((offsets, counts))
    heights = _heights(payload, at, ends, head.dims)
    if heights is None:
        return None
    rows, at = heights
    lod = _merge(levels, rows)
    if lod is None:
        return None
    return rows, lod, uniform(levels[0][1] - 1) if levels else None, at


def _fixed(payload: memoryview, at: IntArray, ends: IntArray, size: int) -> npt.NDArray[np.void] | None:
    """Return the `size` bytes at each position, None where a record is too short."""
    if size >= _LARGEST_ITEM or (at + size > ends).any():
        return None
    if size == 0:
        return np.zeros(len(at), "V1")[:0]
    view: npt.NDArray[np.void] = np.ndarray((len(payload) - size + 1,), f"V{size}", payload, 0, (1,))
    return view[at]


def _same(payload: memoryview, at: IntArray, ends: IntArray, size: int) -> bytes | None:
    """Return the `size` bytes that stand at every position; None when they differ."""
    found = _fixed(payload, at, ends, size)
    if found is None:
        return None
    first = found[0].tobytes()
    return first if found.tobytes() == first * len(at) else None


def _words(payload: memoryview, at: IntArray, ends: IntArray, dtype: str) -> IntArray | None:
    found = _fixed(payload, at, ends, np.dtype(dtype).itemsize)
    return None if found is None else found.view(dtype).astype(np.int64)


def _level(payload: memoryview, at: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray] | None:
    """Return a LoD level of all records: the offsets one after another, how many each has, the positions after."""
    nbytes = _words(payload, at, ends, "<i8")
    if nbytes is None or (nbytes <= 0).any() or (nbytes & 7).any() or int(nbytes.max()) > len(payload):
        return None
    at = at + 8
    stops = at + nbytes
    if (stops > ends).any():
        return None
    return _gather(payload, at, stops).view("<i8"), nbytes >> 3, stops


def _heights(
    payload: memoryview, at: IntArray, ends: IntArray, dims: tuple[int, ...]
) -> tuple[IntArray, IntArray] | None:
    """Return every record's first dim and the positions of the data.

    A TensorDesc is `08 dtype 10 height 10 dim ...`; only the height, a varint, may differ and with it the length.
    """
    head = _words(payload, at, ends, "<u4")
    sizes = _words(payload, at + 4, ends, "<i4")
    if head is None or sizes is None or head.any() or (sizes < 4).any():
        return None
    at = at + 8
    if (at + sizes > ends).any():
        return None
    first = bytes(payload[int(at[0]) : int(at[0]) + int(sizes[0])])
    if first[0] != 8 or first[1] > 0x7F or first[2] != 0x10:
        return None
    tail = first[3 + _varint_size(dims[0]) :]
    rows = np.empty(len(at), np.int64)
    for size in np.flatnonzero(np.bincount(sizes)).tolist() if int(sizes.max()) < 4096 else []:
        chosen = np.flatnonzero(sizes == size) if size != sizes[0] or (sizes != size).any() else slice(None)
        found = _fixed(payload, at[chosen], ends[chosen], size)
        if found is None:
            return None
        values = _parse_heights(found.view(np.uint8).reshape(-1, size), first[:3], tail)
        if values is None:
            return None
        rows[chosen] = values
    return (rows, at + sizes) if int(sizes.max()) < 4096 else None


def _parse_heights(desc: npt.NDArray[np.uint8], start: bytes, tail: bytes) -> IntArray | None:
    size = desc.shape[1]
    width = size - len(start) - len(tail)
    if not 1 <= width <= 5:
        return None
    if desc[:, :3].tobytes() != start * len(desc) or desc[:, 3 + width :].tobytes() != tail * len(desc):
        return None
    digits = desc[:, 3 : 3 + width]
    if (digits[:, :-1] < 0x80).any() or (digits[:, -1] > 0x7F).any():
        return None
    rows = np.zeros(len(desc), np.int64)
    for index in range(width):
        rows |= (digits[:, index] & 0x7F).astype(np.int64) << (7 * index)
    return rows


def _varint_size(value: int) -> int:
    return max(1, (value.bit_length() + 6) // 7)


def _gather(payload: memoryview, starts: IntArray, stops: IntArray) -> npt.NDArray[np.uint8]:
    """Return the bytes of all ranges one after another, in memory of their own."""
    sizes = stops - starts
    size = int(sizes[0])
    if (sizes == size).all() and size < _LARGEST_ITEM:
        if size == 0:
            return np.zeros(0, np.uint8)
        view: npt.NDArray[Any] = np.ndarray((len(payload) - size + 1,), f"V{size}", payload, 0, (1,))
        return view[starts].view(np.uint8)
    # Joining slices beats indexing with 8 bytes of index for every 8 bytes of data.
    parts = [payload[a:b] for a, b in zip(starts.tolist(), stops.tolist())]
    return np.frombuffer(bytearray().join(parts), np.uint8)


def _merge(levels: list[tuple[IntArray, IntArray]], rows: IntArray) -> LoD | None:
    """Return the LoD over all records; None when some record's LoD does not fit itself or its rows."""
    merged = []
    for index, (offsets, counts) in enumerate(levels):
        below = levels[index + 1][1] - 1 if index + 1 < len(levels) else rows
        ends = np.cumsum(counts)
        if offsets[ends - counts].any() or (offsets[ends - 1] != below).any():
            return None
        lengths = np.empty(len(offsets), np.int64)
        lengths[0] = 0
        np.subtract(offsets[1:], offsets[:-1], out=lengths[1:])
        inner = np.ones(len(offsets), np.bool_)
        inner[ends - counts] = False
        lengths = lengths[inner]
        if (lengths < 0).any():
            return None
        level = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=level[1:])
        merged.append(level)
    return tuple(merged)


def uniform(lengths: IntArray) -> IntArray | None:
    """Return offsets of these lengths; None when they are all the same."""
    if len(lengths) == 0 or (lengths == lengths[0]).all():
        return None
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
