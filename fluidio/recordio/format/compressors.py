"""How a chunk's payload is stored: uncompressed, in one of three snappy forms, or gzipped.

name          used by               form
none          all                   the payload itself
snappystream  Fluid                 "snappy\\0", then blocks of at most 32 KiB with a big-endian header
framed        Go, pip `recordio`    the standard framing format ("sNaPpY"), blocks of at most 64 KiB
raw           elasticdl             one raw snappy block for the whole chunk
gzip          Go, elasticdl         a gzip member
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.format.checksum import masked_crc32c
from fluidio.recordio.format.limits import chunk_limit

cramjam: Any
try:
    import cramjam
except ImportError:  # a free-threaded Python 3.13
    from fluidio.recordio.format import without_cramjam as cramjam

_inflate: Any
try:
    from isal import isal_zlib as _inflate
except ImportError:
    _inflate = zlib

compiled: Any  # a third faster than cramjam, and it needs the interpreter lock once for each chunk, not for each block
try:
    from fluidio.recordio import _snappy as compiled
except ImportError:
    compiled = None

__all__ = [
    "FRAMED",
    "GZIP",
    "NONE",
    "RAW",
    "SNAPPYSTREAM",
    "Bytes",
    "CodecError",
    "Compressor",
    "check_limit",
    "cramjam",
]

Bytes = bytes | bytearray | memoryview

_decompress_raw_into = cramjam.snappy.decompress_raw_into
_compress_raw_into = cramjam.snappy.compress_raw_into


class CodecError(ValueError):
    """Stored bytes that do not decode; the caller knows the file and the offset."""


@dataclass(frozen=True)
class Compressor:
    """One way to store a payload.

    `decompress(stored, buffers, verify)` returns the payload, possibly a view of `stored`;
    `compress(payload)` returns the stored form.
    """

    name: str
    decompress: Callable[[memoryview, Pool, bool], memoryview]
    compress: Callable[[Bytes], Bytes]


# -- Fluid's snappystream ---------------------------------------------------------------------------------------------

STREAM_MAGIC = b"snappy\0"
STREAM_BLOCK = 32768
_stream_block = struct.Struct(">BHI")
_USUAL_BLOCKS = 256

Blocks = Any
"""(flag, checksum, start, stop) of every block: a list of tuples, or an array with a row for each."""


def _stream_blocks(stored: memoryview) -> Blocks:
    if compiled is not None:
        table = np.empty((_USUAL_BLOCKS, 4), np.int64)
        count = compiled.blocks(stored, table, STREAM_BLOCK)
        if count > len(table):
            table = np.empty((count, 4), np.int64)
            compiled.blocks(stored, table, STREAM_BLOCK)
        if count >= 0:
            return table[:count]
    return _parse_stream(stored)  # which raises the error


def _parse_stream(stored: memoryview) -> Blocks:
    if stored[:7] != STREAM_MAGIC:
        raise CodecError(
            f"a snappy stream must start with {STREAM_MAGIC!r}, this one starts with {bytes(stored[:7])!r}"
        )
    size = len(stored)
    blocks = []
    position = 7
    unpack = _stream_block.unpack_from
    while position < size:
        if size - position < 7:
            raise CodecError(f"snappy stream: {size - position} bytes after the last block")
        flag, length, crc = unpack(stored, position)
        position += 7
        if flag == 0x73 and stored[position - 7 : position] == STREAM_MAGIC:
            continue  # concatenated streams repeat the magic
        if not 0 < length <= STREAM_BLOCK or length > size - position:
            raise CodecError(
                f"the snappy block at +{position - 7} claims {length} bytes, but {size - position} are left"
            )
        blocks.append((flag, crc, position, position + length))
        position += length
    return blocks


def _decompress_stream(stored: memoryview, buffers: Pool, verify: bool) -> memoryview:
    return _fill_blocks(stored, _stream_blocks(stored), STREAM_BLOCK, buffers, verify)


def _most(stored: memoryview) -> int:
    """Return the maximum decompressed size of snappy data: its densest element expands 3 bytes to 64."""
    return 22 * len(stored) + 64


def _fill_blocks(stored: memoryview, blocks: Blocks, limit: int, buffers: Pool, verify: bool) -> memoryview:
    """Decode blocks one after another; flag 0 is stored, anything else is compressed."""
    target = buffers.view(_room(stored, blocks, limit))
    sizes = _decompress_blocks(stored, blocks, limit, target)
    if verify:
        end = 0
        for (_, crc, start, _), size in zip(blocks, sizes):
            found = masked_crc32c(target[end : end + size])
            if found != crc:
                raise CodecError(f"the snappy block at +{start} has checksum {found:#010x}, but claims {crc:#010x}")
            end += size
    return target[: sum(sizes)]


def _room(stored: memoryview, blocks: Blocks, limit: int) -> int:
    """Return the maximum decompressed size of the blocks, each at most `limit`."""
    room = min(len(blocks) * limit, _most(stored))
    if room > chunk_limit(len(stored)):  # small blocks, or a decompression bomb: use their announced sizes
        room = sum([_announced(stored[start:stop]) if flag else stop - start for flag, _, start, stop in blocks])
        check_limit(room, stored)
    return room


def _announced(block: memoryview) -> int:
    try:
        return min(int(cramjam.snappy.decompress_raw_len(block)), _most(block))
    except cramjam.DecompressionError:
        return 0  # it will not decompress


def check_limit(size: int, stored: memoryview) -> None:
    """Raise if a chunk would become too large."""
    if size > (limit := chunk_limit(len(stored))):
        raise CodecError(
            f"{len(stored)} stored bytes would become {size}, above the limit of {limit} bytes for a chunk; "
            "if you trust the file, raise the limit with recordio.set_chunk_limit or FLUIDIO_CHUNK_LIMIT"
        )


def _decompress_blocks(stored: memoryview, blocks: Blocks, limit: int, target: memoryview) -> list[int]:
    """Decompress the blocks, each to at most `limit` bytes, into `target`; return their sizes."""
    if compiled is not None and len(blocks):
        table = np.array(blocks, np.int64)  # a copy: sizes take the place of the checksums
        done = compiled.decompress(stored, table, limit, target)
        if done < len(blocks):
            raise CodecError(f"the snappy block at +{blocks[done][2]} cannot be decompressed")
        found: list[int] = table[:, 1].tolist()
        return found
    sizes = []
    end = 0
    array: Any = np.asarray(target)  # cramjam fills no memoryview on a free-threaded Python
    for flag, _, start, stop in blocks:
        size = stop - start
        try:
            if flag:
                size = _decompress_raw_into(stored[start:stop], array[end : end + limit])
            else:
                target[end : end + size] = stored[start:stop]
        except cramjam.DecompressionError as error:
            raise CodecError(f"the snappy block at +{start} cannot be decompressed: {error}") from error
        sizes.append(size)
        end += size
    return sizes


def _compress_stream(payload: Bytes) -> memoryview:
    view = memoryview(payload)
    total = len(view)
    room = 7 + STREAM_BLOCK + STREAM_BLOCK // 6 + 64
    size = 7 + (total + STREAM_BLOCK - 1) // STREAM_BLOCK * 7 + total + room
    out: Any = np.empty(size, np.uint8)  # bytearray(size) would fill it with zeros first
    target: memoryview = out.data
    target[:7] = STREAM_MAGIC
    end = 7
    for start in range(0, total, STREAM_BLOCK):
        piece = view[start : start + STREAM_BLOCK]
        size = _compress_raw_into(piece, out[end + 7 : end + room])
        # Fluid: a block is stored uncompressed if compression saves less than an eighth.
        flag = int(size < len(piece) - len(piece) // 8)
        if not flag:
            size = len(piece)
            target[end + 7 : end + 7 + size] = piece
        _stream_block.pack_into(target, end, flag, size, masked_crc32c(piece))
        end += 7 + size
    return target[:end]


# -- the standard framing format --------------------------------------------------------------------------------------

FRAME_MAGIC = b"\xff\x06\x00\x00sNaPpY"
FRAME_BLOCK = 65536


def _frames(stored: memoryview) -> Blocks:
    if stored[:10] != FRAME_MAGIC:
        raise CodecError(f"snappy frames must start with {FRAME_MAGIC!r}, these start with {bytes(stored[:10])!r}")
    size = len(stored)
    blocks = []
    position = 0
    while position < size:
        if size - position < 4:
            raise CodecError(f"snappy frames: {size - position} bytes after the last frame")
        word = int.from_bytes(stored[position : position + 4], "little")
        kind, length = word & 0xFF, word >> 8
        position += 4
        stop = position + length
        if stop > size:
            raise CodecError(
                f"the snappy frame at +{position - 4} claims {length} bytes, but {size - position} are left"
            )
        if kind <= 1:
            if not 4 <= length <= FRAME_BLOCK + FRAME_BLOCK // 6 + 36 or (kind == 1 and length > FRAME_BLOCK + 4):
                raise CodecError(f"the snappy frame at +{position - 4} claims {length} bytes, which is impossible")
            crc = int.from_bytes(stored[position : position + 4], "little")
            if length > 4:
                blocks.append((1 - kind, crc, position + 4, stop))
        elif kind == 0xFF:
            if stored[position - 4 : stop] != FRAME_MAGIC:
                raise CodecError(f"the snappy frame at +{position - 4} has a wrong stream identifier")
        elif kind < 0x80:
            raise CodecError(f"the snappy frame at +{position - 4} has the unknown type {kind:#x}")
        position = stop
    return blocks


def _decompress_frames(stored: memoryview, buffers: Pool, verify: bool) -> memoryview:
    return _fill_blocks(stored, _frames(stored), FRAME_BLOCK, buffers, verify)


def _compress_frames(payload: Bytes) -> bytes:
    view = memoryview(payload)
    parts: list[Bytes] = [FRAME_MAGIC]
    for start in range(0, len(view), FRAME_BLOCK):
        piece = view[start : start + FRAME_BLOCK]
        body: Any = memoryview(cramjam.snappy.compress_raw(piece))
        kind = int(len(body) >= len(piece) - len(piece) // 8)
        body = piece if kind else body
        parts.append(struct.pack("<II", kind | (len(body) + 4) << 8, masked_crc32c(piece)))
        parts.append(body)
    return b"".join(parts)


# -- one raw block ----------------------------------------------------------------------------------------------------


def _decompress_raw(stored: memoryview, buffers: Pool, verify: bool) -> memoryview:
    try:
        size = cramjam.snappy.decompress_raw_len(stored)
        if size > _most(stored):  # a false size must not cause an allocation
            raise CodecError(f"a raw snappy block of {len(stored)} bytes claims {size} bytes")
    except cramjam.DecompressionError as error:
        raise CodecError(f"the raw snappy block cannot be decompressed: {error}") from error
    check_limit(size, stored)
    target = buffers.view(size)
    if size and _decompress_blocks(stored, [(1, 0, 0, len(stored))], size, target) != [size]:
        raise CodecError("the raw snappy block is shorter than its header says")
    return target


def _compress_raw(payload: Bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(payload))


# -- gzip -------------------------------------------------------------------------------------------------------------

_GZIP = 31  # zlib's window bits for "gzip header and trailer"


_FIRST_PIECE = 512  # bytes of a further member to try first


def _decompress_gzip(stored: memoryview, buffers: Pool, verify: bool) -> memoryview:
    parts: list[bytes] = []
    room = chunk_limit(len(stored)) + 1  # one more than allowed, to detect excess
    position, piece = 0, len(stored)
    while position < len(stored):
        start = position
        found, position = _inflate_member(stored, start, piece, room)
        parts += found
        room -= sum(map(len, found))
        if room <= 0:
            check_limit(sum(map(len, parts)), stored)
        # The rest of a piece is copied, so do not decompress a small member from a large piece.
        piece = max(_FIRST_PIECE, 4 * (position - start))
    return memoryview(parts[0] if len(parts) == 1 else b"".join(parts))


def _inflate_member(stored: memoryview, position: int, piece: int, room: int) -> tuple[list[bytes], int]:
    """Return the contents of one gzip member, or its first `room` bytes, and the position after it."""
    member = _inflate.decompressobj(_GZIP)
    parts: list[bytes] = []
    try:
        while not member.eof and room > 0:
            if position >= len(stored):
                raise CodecError("the gzip data is incomplete")
            taken = stored[position : position + piece]
            parts.append(member.decompress(taken, room))
            room -= len(parts[-1])
            position += len(taken) - len(member.unused_data)
            piece *= 2
    except (zlib.error, _inflate.error) as error:
        raise CodecError(f"the gzip data cannot be decompressed: {error}") from error
    return parts, position


def _compress_gzip(payload: Bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    return packer.compress(payload) + packer.flush()


NONE = Compressor("none", lambda stored, buffers, verify: stored, lambda payload: payload)
SNAPPYSTREAM = Compressor("snappystream", _decompress_stream, _compress_stream)
FRAMED = Compressor("framed", _decompress_frames, _compress_frames)
RAW = Compressor("raw", _decompress_raw, _compress_raw)
GZIP = Compressor("gzip", _decompress_gzip, _compress_gzip)
