"""Encode blocks of columns as the payload of a chunk, without a loop over records if the data is dense."""

from __future__ import annotations

import functools
import itertools
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.recordio.decode import loops
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.decode.buffers import Buffer
from fluidio.recordio.format.tensor_codec import encode_desc, tensor_prefix
from fluidio.tensor.array import Array, DType
from fluidio.tensor.lod import IntArray

compiled: Any
try:
    from fluidio.recordio import _records as compiled
except ImportError:
    compiled = None

__all__ = ["around_height", "encode_block", "record_sizes"]

_u64 = struct.Struct("<Q")


def is_dense(block: RecordBlock) -> bool:
    """Return whether all records have the same bytes outside their data."""
    return all(column.record_offsets is None and not column.lod for column in block.columns)


def _dense_size(block: RecordBlock) -> int:
    """Return the length of each record of a dense block."""
    size = 4
    for column in block.columns:
        dims = (column.rows_per_record or 0, *column.data.shape[1:])
        size += len(tensor_prefix(column.data.dtype, dims)) + column.data.dtype.itemsize * math.prod(dims)
    return size


def record_sizes(block: RecordBlock) -> IntArray:
    """Return the length of every record (without its length word)."""
    if is_dense(block):
        return np.full(len(block), _dense_size(block), np.int64)
    if compiled is not None:
        found = np.empty(len(block), np.int64)
        compiled.sizes(len(block), _told(block), found)
        return found
    sizes = np.full(len(block), 4, np.int64)
    for column in block.columns:
        dims = column.data.shape[1:]
        row_size = column.data.dtype.itemsize * int(np.prod(dims, dtype=np.int64))
        heights = np.diff(column.offsets())
        if column.record_offsets is None:
            prefix: Any = len(tensor_prefix(column.data.dtype, (column.rows_per_record or 0, *dims)))
        else:
            unique, inverse = np.unique(heights, return_inverse=True)
            lengths = [len(tensor_prefix(column.data.dtype, (int(rows), *dims))) for rows in unique]
            prefix = np.array(lengths, np.int64)[inverse]
        sizes += prefix + heights * row_size
        bounds = column.sequences()
        for level in column.lod:
            sizes += 8 + 8 * (np.diff(bounds) + 1)
            bounds = level[bounds]
    return sizes


def encode_block(block: RecordBlock, scratch: Buffer | None = None, size: int | None = None) -> memoryview:
    """Return the payload of a block: each record as length word, count word, tensors.

    Args:
        scratch: the bytes are valid until it is used again.
        size: the sum of `record_sizes`, if known.
    """
    if not len(block):
        return memoryview(b"")
    if compiled is not None:
        size = int(record_sizes(block).sum()) if size is None else size
        payload = (scratch or Buffer()).view(size + 4 * len(block))
        compiled.encode(len(block), _told(block), payload)
        return payload
    if is_dense(block):
        return _dense(block, scratch or Buffer())
    return memoryview(_ragged(block))


def _told(block: RecordBlock) -> tuple[Any, ...]:
    """Return the description of each column that the compiled encoder needs."""
    return tuple(_told_column(column) for column in block.columns)


def _told_column(column: Column) -> tuple[Any, ...]:
    data = _little(column.data)
    start, tail = around_height(data.dtype, data.shape[1:])
    row_size = data.dtype.itemsize * math.prod(data.shape[1:])
    edges = None if column.record_offsets is None else _numbers(column.record_offsets)
    single = column.is_a_sequence_each
    levels = (edges,) if single else tuple(_numbers(level) for level in column.lod)
    sequences = _numbers(column.sequences()) if column.lod and not single else None
    raw = data.reshape(-1).view(np.uint8)
    return raw, row_size, column.rows_per_record or 0, edges, sequences, levels, start, tail


@functools.lru_cache(maxsize=256)
def around_height(dtype: DType, dims: tuple[int, ...]) -> tuple[bytes, bytes]:
    """Return the bytes of a TensorDesc before and after its first dim."""
    start = encode_desc(dtype, (0,))[:-1]
    return start, encode_desc(dtype, (0, *dims))[len(start) + 1 :]


def _numbers(edges: IntArray) -> IntArray:
    return np.ascontiguousarray(edges, np.int64)


def _dense(block: RecordBlock, scratch: Buffer) -> memoryview:
    count = len(block)
    prefixes = []
    bodies = []
    for column in block.columns:
        data = _little(column.data)
        prefixes.append(tensor_prefix(data.dtype, (column.rows_per_record or 0, *data.shape[1:])))
        bodies.append(
            data.reshape(-1).view(np.uint8).reshape(count, -1) if data.size else np.empty((count, 0), np.uint8)
        )
    size = 4 + sum(map(len, prefixes)) + sum(body.shape[1] for body in bodies)
    start = struct.pack("<II", size, len(block.columns))
    payload = scratch.view(count * (size + 4))
    out = np.frombuffer(payload, np.uint8).reshape(count, size + 4)
    at = 0
    for prefix, body in zip(prefixes, bodies):
        framing = np.frombuffer(start + prefix, np.uint8)
        start = b""
        out[:, at : at + len(framing)] = framing
        at += len(framing)
        out[:, at : at + body.shape[1]] = body
        at += body.shape[1]
    if start:
        out[:] = np.frombuffer(start, np.uint8)
    return payload


Pieces = tuple[Any, IntArray, IntArray]
"""Bytes, and where a piece for each record begins and ends in them."""


def _ragged(block: RecordBlock) -> bytes | memoryview:
    heads = np.empty((len(block), 2), "<u4")
    heads[:, 0] = record_sizes(block)
    heads[:, 1] = len(block.columns)
    parts: list[Pieces] = [_between(heads.reshape(-1).view(np.uint8), np.arange(len(block) + 1, dtype=np.int64) * 8)]
    for column in block.columns:
        parts += _prefixes(column)
        data = _little(column.data)
        row_size = data.dtype.itemsize * int(np.prod(data.shape[1:], dtype=np.int64))
        parts.append(_between(data.reshape(-1).view(np.uint8), column.offsets() * row_size))
    return _interleaved(parts) if loops.compiled is None else _joined(parts)


def _interleaved(parts: list[Pieces]) -> bytes:
    pieces = []
    for data, starts, stops in parts:
        view = memoryview(data)
        pieces.append([view[a:b] for a, b in zip(starts.tolist(), stops.tolist())])
    return b"".join(itertools.chain.from_iterable(zip(*pieces)))


def _joined(parts: list[Pieces]) -> memoryview:
    """Return the pieces of each record one after another, copied by the compiled loop."""
    bases = np.cumsum([0, *(len(data) for data, _, _ in parts)])
    starts = np.stack([starts + base for (_, starts, _), base in zip(parts, bases)], axis=1).reshape(-1)
    stops = np.stack([stops + base for (_, _, stops), base in zip(parts, bases)], axis=1).reshape(-1)
    target = np.empty(int((stops - starts).sum()), np.uint8)
    loops.compiled.join(memoryview(b"".join(data for data, _, _ in parts)), starts, stops, target)
    return target.data


def _prefixes(column: Column) -> list[Pieces]:
    """Return the bytes before the data of every record, in one or more parts."""
    dims = column.data.shape[1:]
    dtype = column.data.dtype
    heights = np.diff(column.offsets())
    if not column.lod:
        return [_chosen(heights, lambda rows: tensor_prefix(dtype, (rows, *dims)))]
    if len(column.lod) == 1 and column.sequence_offsets is None and len(column.lod[0]) - 1 == column.num_records:
        return [_chosen(heights, lambda rows: tensor_prefix(dtype, (rows, *dims), (np.array([0, rows]),)))]
    parts = [_chosen(np.zeros_like(heights), lambda _: struct.pack("<IQ", 0, len(column.lod)))]
    bounds = column.sequences()
    for level in column.lod:
        counts = np.diff(bounds) + 1
        edges = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=edges[1:])
        members = np.arange(int(edges[-1])) + np.repeat(bounds[:-1] - edges[:-1], counts)
        offsets = level[members] - np.repeat(level[bounds[:-1]], counts)
        parts.append(_chosen(counts, lambda count: _u64.pack(8 * count)))
        parts.append(_between(offsets.astype("<i8").view(np.uint8), edges * 8))
        bounds = level[bounds]
    return [*parts, _chosen(heights, lambda rows: tensor_prefix(dtype, (rows, *dims))[12:])]


def _chosen(numbers: IntArray, make: Callable[[int], bytes]) -> Pieces:
    """Return the bytes that `make` gives for each record's number, computed once for each distinct number."""
    unique, inverse = np.unique(numbers, return_inverse=True)
    made = [make(number) for number in unique.tolist()]
    edges = np.cumsum([0, *map(len, made)])
    return np.frombuffer(b"".join(made), np.uint8), edges[:-1][inverse], edges[1:][inverse]


def _between(data: npt.NDArray[np.uint8], edges: IntArray) -> Pieces:
    return data, edges[:-1], edges[1:]


def _little(data: Array) -> Array:
    """Return the rows as contiguous little-endian memory."""
    return np.ascontiguousarray(data, data.dtype.newbyteorder("<"))
