"""Find records that share their tensors but not their heights: all headers at once, field by field.

`at` is the position in every record. A field of fixed size is gathered for all records with one indexing operation
and must match the first record, or be a number that may vary (heights, LoD). Otherwise the record-by-record path
decodes it or reports what is wrong.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fluidio.recordio.decode import loops
from fluidio.recordio.decode.block import Column
from fluidio.recordio.decode.prefixes import DESC_ROOM, desc_start, read_prefixes
from fluidio.recordio.decode.spans import ColumnSource, Pieces, Span, unfilled
from fluidio.recordio.format.compressors import CodecError
from fluidio.recordio.format.records import RecordTable
from fluidio.recordio.format.tensor_codec import MOST_EMPTY, TensorHead, parse_head
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray, LoD
from fluidio.varint import varint

__all__ = ["locate", "uniform"]

_LARGEST_ITEM = 1 << 30  # NumPy's item sizes are 32-bit numbers
_FEW_BYTES = 512  # of data per record: read together with the prefix
_LONGEST_DESC = 4096


def locate(payload: memoryview, table: RecordTable) -> Span | None:
    """Return where all records are; None if they are not similar enough.

    Positions never decrease, so it is enough to check that each ends where its record does.
    """
    at, ends = _bounds(table)
    sources: list[ColumnSource] = []
    lead = 4  # the tensor count, which is read with the first tensor
    try:
        for _ in range(int.from_bytes(payload[int(at[0]) : min(int(at[0]) + 4, int(ends[0]))], "little")):
            source, at = _tensor(payload, at, ends, lead)
            sources.append(source)
            lead = 0
        if not sources:
            _check_same(payload, at, 4)
            at = at + 4
    except (_OtherWay, CodecError, IndexError):
        return None
    return None if (at != ends).any() else Span(table.count, sources)


class _OtherWay(Exception):
    """The records have to be decoded one by one."""


def _bounds(table: RecordTable) -> tuple[IntArray, IntArray]:
    if table.stride is None:
        return table.starts, table.stops
    starts = np.arange(table.count, dtype=np.int64) * table.stride + 4
    return starts, starts + (table.stride - 4)


def _tensor(payload: memoryview, at: IntArray, ends: IntArray, lead: int) -> tuple[ColumnSource, IntArray]:
    """Return one tensor of all records and the positions after it."""
    head = parse_head(payload, int(at[0]) + lead, int(ends[0]))
    if not head.dims:
        raise _OtherWay
    if not head.lod and head.stop - head.start <= _FEW_BYTES:
        alike = _alike(payload, at, head)
        if alike is not None:
            return alike
    row_size = head.dtype.itemsize
    for dim in head.dims[1:]:
        row_size *= dim
    sequences: IntArray | None = None
    sought = loops.prefixes(payload, at, ends, head, lead, row_size)
    if sought is not None:
        rows, at, stops = sought
        lengths = [rows] * len(head.lod)
    else:
        try:
            found = _prefixes(payload, at, head, lead)
        except (_OtherWay, IndexError):
            found = None
        rows, lengths, sequences, at = found or _fields(payload, at, ends, head, lead)
        if int(rows.max()) * row_size > len(payload):
            raise _OtherWay
        stops = at + rows * row_size
    if not row_size and int(rows.max()) > MOST_EMPTY:
        raise _OtherWay
    offsets = uniform(rows)
    if offsets is not None and len(lengths) == 1 and sequences is None and len(lengths[0]) == len(rows):
        lod: LoD = (offsets,)  # one sequence per record: the same offsets, so they are cut only once
    else:
        lod = tuple([_offsets(each) for each in lengths])
    total = int(offsets[-1]) if offsets is not None else int(rows[0]) * len(rows)
    data = unfilled((total, *head.dims[1:]), head.dtype)
    return Pieces(
        payload,
        loops.places(at),
        loops.places(stops),
        Column(data, offsets, lod, sequence_offsets=sequences, num_records=len(at)),
    ), stops


def _alike(payload: memoryview, at: IntArray, head: TensorHead) -> tuple[ColumnSource, IntArray] | None:
    """Return a small tensor that has the same prefix in all records, copied for the whole chunk at once."""
    start = int(at[0])
    size, split = head.stop - start, head.start - start
    if int(at[-1]) + size > len(payload):
        return None
    found = _fixed(payload, at, size)
    if found[:, :split].tobytes() != bytes(payload[start : head.start]) * len(at):
        return None
    data = found[:, split:].copy().reshape(-1).view(head.dtype)
    rows = head.dims[0] * len(at)
    return Column(data.reshape(rows, *head.dims[1:]), num_records=len(at)), at + size


_Found = tuple[IntArray, list[IntArray], IntArray | None, IntArray]
"""Heights, lengths of all sequences for each LoD level, sequence offsets, positions of the data."""


def _prefixes(payload: memoryview, at: IntArray, head: TensorHead, lead: int) -> _Found | None:
    """Read all prefixes at once; None if they differ in more than offsets and heights."""
    desc = lead + desc_start(head)
    found = read_prefixes(_fixed(payload, at, desc + DESC_ROOM), head, lead)
    return None if found is None else (found.rows, found.lengths, None, at + (found.sizes + desc))


def _fields(payload: memoryview, at: IntArray, ends: IntArray, head: TensorHead, lead: int) -> _Found:
    """Read the prefixes field by field."""
    _check_same(payload, at, lead + 12)
    at = at + (lead + 12)
    levels = []
    for _ in head.lod:
        offsets, counts, at = _level(payload, at, ends)
        levels.append((offsets, counts))
    rows, at = _heights(payload, at, head.dims)
    lengths = _lengths(levels, rows)
    return rows, lengths, uniform(levels[0][1] - 1) if levels else None, at


def _fixed(payload: memoryview, at: IntArray, size: int) -> npt.NDArray[np.uint8]:
    """Return the `size` bytes at each position, one row for each.

    Raises:
        IndexError: some are past the payload.
    """
    if not 0 < size <= len(payload) or size >= _LARGEST_ITEM:
        raise _OtherWay
    view: Array = np.ndarray((len(payload) - size + 1,), loops.untyped(size), payload, 0, (1,))
    return view[at].view(np.uint8).reshape(-1, size)


def _check_same(payload: memoryview, at: IntArray, size: int) -> None:
    found = _fixed(payload, at, size)
    if found.tobytes() != found[0].tobytes() * len(at):
        raise _OtherWay


def _words(payload: memoryview, at: IntArray, dtype: str) -> IntArray:
    view: Array = np.ndarray((len(payload) - int(dtype[-1]) + 1,), dtype, payload, 0, (1,))
    return view[at].astype(np.int64)


def _offsets(lengths: IntArray) -> IntArray:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _level(payload: memoryview, at: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return a LoD level of all records: the offsets one after another, how many each has, the positions after."""
    nbytes = _words(payload, at, "<i8")
    if (nbytes <= 0).any() or (nbytes & 7).any() or int(nbytes.max()) > len(payload):
        raise _OtherWay
    at = at + 8
    stops = at + nbytes
    if (stops > ends).any():
        raise _OtherWay
    parts = [payload[a:b] for a, b in zip(at.tolist(), stops.tolist())]
    return np.frombuffer(b"".join(parts), "<i8"), nbytes >> 3, stops


def _heights(payload: memoryview, at: IntArray, dims: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return every record's first dim and the positions of the data.

    A TensorDesc is `08 dtype 10 height 10 dim ...`; only the height, a varint, may differ and with it the length.
    """
    sizes = _words(payload, at + 4, "<i4")
    if _words(payload, at, "<u4").any() or int(sizes.min()) < 4 or int(sizes.max()) > _LONGEST_DESC:
        raise _OtherWay
    at = at + 8
    first = bytes(payload[int(at[0]) : int(at[0]) + int(sizes[0])])
    if first[0] != 8 or first[1] > 0x7F or first[2] != 0x10:
        raise _OtherWay
    tail = first[3 + len(varint(dims[0])) :]
    rows = np.empty(len(at), np.int64)
    for size in np.flatnonzero(np.bincount(sizes)).tolist():
        chosen = np.flatnonzero(sizes == size)
        desc = _fixed(payload, at[chosen], size)
        width = size - 3 - len(tail)
        same = desc[:, :3].tobytes() == first[:3] * len(desc) and desc[:, 3 + width :].tobytes() == tail * len(desc)
        values = _varints(desc[:, 3 : 3 + width]) if width > 0 and same else None
        if values is None:
            raise _OtherWay
        rows[chosen] = values
    return rows, at + sizes


def _varints(digits: npt.NDArray[np.uint8]) -> IntArray | None:
    """Return varints as numbers, one per row; None unless all have exactly this width."""
    width = digits.shape[1]
    if width > 5 or int(digits[:, -1].max()) > 0x7F or (width > 1 and int(digits[:, :-1].min()) < 0x80):
        return None
    rows = (digits[:, 0] & 0x7F).astype(np.int64)
    for index in range(1, width):
        rows |= (digits[:, index] & 0x7F).astype(np.int64) << (7 * index)
    return rows


def _lengths(levels: list[tuple[IntArray, IntArray]], rows: IntArray) -> list[IntArray]:
    """Return the sequence lengths of all records by level, if the levels match one another and the rows."""
    found = []
    for index, (offsets, counts) in enumerate(levels):
        below = levels[index + 1][1] - 1 if index + 1 < len(levels) else rows
        ends = np.cumsum(counts)
        if offsets[ends - counts].any() or (offsets[ends - 1] != below).any():
            raise _OtherWay
        lengths = np.zeros(len(offsets), np.int64)
        np.subtract(offsets[1:], offsets[:-1], out=lengths[1:])
        inner = np.ones(len(offsets), np.bool_)
        inner[ends - counts] = False
        lengths = lengths[inner]
        if (lengths < 0).any():
            raise _OtherWay
        found.append(lengths)
    return found


def uniform(lengths: IntArray) -> IntArray | None:
    """Return offsets for these lengths; None if all are the same."""
    return None if len(lengths) == 0 or (lengths == lengths[0]).all() else _offsets(lengths)
