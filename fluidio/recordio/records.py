"""Find the records inside a chunk's payload: u32 length, that many bytes, and so on to the last byte."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from fluidio.recordio.compressors import CodecError
from fluidio.tensor.lod import IntArray

__all__ = ["RecordTable", "split"]

_unpack_length = struct.Struct("<I").unpack_from


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Where the bodies of a chunk's records lie.

    `stride` is set when all records have one length (body i starts at 4 + i * stride); else `starts` and `stops`.
    """

    count: int
    stride: int | None
    starts: IntArray
    stops: IntArray

    def bounds(self, index: int) -> tuple[int, int]:
        """Return the first and the last-plus-one byte of record `index`."""
        if self.stride is not None:
            start = 4 + index * self.stride
            return start, start + self.stride - 4
        return int(self.starts[index]), int(self.stops[index])


_EMPTY: IntArray = np.zeros(0, np.int64)


def split(payload: memoryview, count: int) -> RecordTable:
    """Return the table of `count` records that fill `payload` exactly.

    Raises:
        CodecError: the lengths run past the end, or the records end before it.
    """
    size = len(payload)
    if count <= 0:
        raise CodecError("the header announces no records, yet there is a payload")
    if count > size // 4:
        raise CodecError(f"{count} records announced, the payload of {size} bytes can hold at most {size // 4}")
    stride = 4 + _unpack_length(payload, 0)[0]
    if stride * count == size and _same_lengths(payload, count, stride):
        return RecordTable(count, stride, _EMPTY, _EMPTY)
    return _walk(payload, count, size)


def _same_lengths(payload: memoryview, count: int, stride: int) -> bool:
    return np.ndarray((count,), "V4", payload, 0, (stride,)).tobytes() == bytes(payload[:4]) * count


def _walk(payload: memoryview, count: int, size: int) -> RecordTable:
    # Each length says where the next one is, so this loop cannot be an array operation.
    edges = [0] * (count + 1)
    index = position = 0
    unpack = _unpack_length
    try:
        for index in range(count):
            edges[index] = position
            (length,) = unpack(payload, position)
            position += length + 4
    except struct.error:
        raise CodecError(
            f"record {index} of {count} would start at +{position}, past the payload of {size} bytes"
        ) from None
    if position > size:
        raise CodecError(f"record {count - 1} ends at +{position}, past the payload of {size} bytes")
    if position != size:
        raise CodecError(f"{count} records end at +{position}, the payload has {size} bytes")
    edges[count] = position
    bounds = np.array(edges, np.int64)
    return RecordTable(count, None, bounds[:-1] + 4, bounds[1:])
