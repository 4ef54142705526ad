"""Inspect the first record of a file whose first chunk is huge, without reading the whole chunk.

The checksum, which otherwise decides the dialect, is not computed; the header must be plausible in only one dialect.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.files.source import ByteSource
from fluidio.recordio.format.compressors import FRAME_MAGIC, STREAM_MAGIC, CodecError
from fluidio.recordio.format.dialects import DIALECTS, HEADER_SIZE, MAGIC, Dialect, Header
from fluidio.recordio.format.tensor_codec import TensorHead, parse_head

__all__ = ["HUGE", "Peek", "first_values", "peek", "tensor_heads"]

HUGE = 64 << 20
"""Chunks with more stored bytes are not read just to inspect a file."""
_LOOK = 1 << 20
_length = struct.Struct("<I")


class Peek(NamedTuple):
    """A first chunk of which only the beginning was read; `record` is the beginning of its first record."""

    dialect: Dialect
    header: Header
    record: bytes
    size: int
    """Bytes of the whole record."""
    source: ByteSource | None
    """Where the rest of the record can be read; None if it is compressed."""


def peek(source: ByteSource) -> Peek | None:
    """Return the beginning of a huge first chunk; None if it is not huge, or only its checksum can identify it."""
    head = source.read(0, HEADER_SIZE)
    if len(head) < HEADER_SIZE or head[:4] != MAGIC:
        return None
    found = []
    for dialect in DIALECTS:
        header = dialect.parse(head)
        if header.size > HUGE and dialect.plausible(header) and _goes_on(source, HEADER_SIZE + header.size):
            payload = _beginning(dialect.compressors[header.compressor], source.read(HEADER_SIZE, _LOOK))
            if payload is None or len(payload) < 4:
                continue
            (size,) = _length.unpack_from(payload)
            plain = dialect.compressors[header.compressor].name == "none"
            if not plain or size + 4 <= header.size:
                found.append(Peek(dialect, header, payload[4 : 4 + size], size, source if plain else None))
    return found[0] if len(found) == 1 else None


def _goes_on(source: ByteSource, end: int) -> bool:
    """Return whether the file ends here, or another chunk begins."""
    return bool(end == source.size or (end < source.size and source.read(end, 4) == MAGIC))


def _beginning(compressor: Any, stored: bytes) -> bytes | None:
    """Return the beginning of a payload from the beginning of its stored bytes; None if that is impossible."""
    view = memoryview(stored)
    try:
        if compressor.name == "none":
            return stored
        if compressor.name == "gzip":
            return zlib.decompressobj(31).decompress(stored, _LOOK)
        if compressor.name == "snappystream" and view[:7] == STREAM_MAGIC:
            end = _last(_stream_ends(view))
        elif compressor.name == "framed" and view[: len(FRAME_MAGIC)] == FRAME_MAGIC:
            end = _last(_frame_ends(view))
        else:
            return None
        return bytes(compressor.decompress(view[:end], Pool(), False)) if end else None
    except (CodecError, zlib.error):
        return None


def _last(ends: Iterator[int]) -> int:
    return max(ends, default=0)


def _stream_ends(view: memoryview) -> Iterator[int]:
    """Yield the ends of the complete blocks of a snappystream."""
    end = 7
    while end + 7 <= len(view):
        end += 7 + int.from_bytes(view[end + 1 : end + 3], "big")
        if end <= len(view):
            yield end


def _frame_ends(view: memoryview) -> Iterator[int]:
    end = 0
    while end + 4 <= len(view):
        end += 4 + int.from_bytes(view[end + 1 : end + 4], "little")
        if end <= len(view):
            yield end


def tensor_heads(found: Peek) -> tuple[list[TensorHead], bool]:
    """Return the heads of the first record's tensors ([] if it has none), and whether these are all of them."""
    if found.size < 4 or len(found.record) < 4:
        return [], True
    (count,) = _length.unpack_from(found.record)
    heads: list[TensorHead] = []
    position = 4
    for _ in range(count):
        data = _from(found, position)
        if not data:
            return heads, False
        try:
            head = parse_head(data, 0, found.size - position)
        except (CodecError, ValueError, struct.error):
            return [], True
        heads.append(head._replace(start=head.start + position, stop=head.stop + position))
        position = heads[-1].stop
    return (heads, True) if position == found.size else ([], True)


def _from(found: Peek, position: int) -> bytes:
    """Return enough of the record from a position on to parse the tensor head there."""
    if position < len(found.record) // 2 or found.source is None:
        return found.record[position:]
    at = HEADER_SIZE + 4 + position
    return bytes(found.source.read(at, min(_LOOK, found.size - position)))


def first_values(found: Peek, head: TensorHead, count: int) -> Any:
    """Return the first values of a tensor."""
    size = min(head.stop - head.start, count * head.dtype.itemsize)
    data = _from(found, head.start)[:size]
    return np.frombuffer(data[: len(data) // head.dtype.itemsize * head.dtype.itemsize], head.dtype)
