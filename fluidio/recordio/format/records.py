"""Find the records inside a chunk's payload: u32 length, that many bytes, and so on to the last byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fluidio.recordio.decode.loops import alike, walk
from fluidio.recordio.format.compressors import CodecError
from fluidio.tensor.lod import IntArray

__all__ = ["RecordTable", "split"]


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The positions of the record bodies in a chunk.

    `stride` is set if all records have the same length (body i starts at 4 + i * stride); else `starts` and `stops`.
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
        raise CodecError("the header claims no records, but there is a payload")
    if count > size // 4:
        raise CodecError(
            f"the header claims {count} records, but a payload of {size} bytes can hold at most {size // 4}"
        )
    stride = 4 + int.from_bytes(payload[:4], "little")
    if stride * count == size and _same_lengths(payload, count, stride):
        return RecordTable(count, stride, _EMPTY, _EMPTY)
    return _walk(payload, count, size)


def _same_lengths(payload: memoryview, count: int, stride: int) -> bool:
    return alike(payload, 0, stride, count, bytes(payload[:4]))


def _walk(payload: memoryview, count: int, size: int) -> RecordTable:
    edges = walk(payload, count)
    end = int(edges[-1])
    if len(edges) <= count:
        raise CodecError(f"record {len(edges) - 1} of {count} would start at +{end}, past the payload of {size} bytes")
    if end > size:
        raise CodecError(f"record {count - 1} ends at +{end}, past the payload of {size} bytes")
    if end != size:
        raise CodecError(f"{count} records end at +{end}, but the payload has {size} bytes")
    return RecordTable(count, None, edges[:-1] + 4, edges[1:])
