"""Chunks compressed with Zstandard, a fluidio extension for files that only fluidio reads.

The size of the payload, eight bytes (little endian), then one Zstandard frame.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.format.compressors import Bytes, CodecError, Compressor, check_limit, cramjam

__all__ = ["NUMBER", "ZSTD"]

NUMBER = int.from_bytes(b"zstd", "little")
"""The compressor's number in a header, chosen so that no other writer is likely to use it."""
_LEVEL = 3
_USUAL_RATIO = 64  # larger ones get memory as the data actually arrives
_size = struct.Struct("<Q")


def _decompress(stored: memoryview, buffers: Pool, verify: bool) -> memoryview:
    if len(stored) < _size.size:
        raise CodecError(f"zstd data has {len(stored)} bytes, but its size alone needs {_size.size}")
    (size,) = _size.unpack_from(stored)
    check_limit(size, stored)
    frame = stored[_size.size :]
    room = min(size, _USUAL_RATIO * len(stored))
    while True:
        target = buffers.view(room)
        array: Any = np.asarray(target)  # cramjam fills no memoryview on a free-threaded Python
        try:
            found = cramjam.zstd.decompress_into(frame, array)
        except cramjam.DecompressionError as error:
            if room == size or "whole buffer" not in str(error):
                raise CodecError(f"zstd data cannot be decompressed: {error}") from error
            room = min(size, 8 * room)
            continue
        if found != size:
            raise CodecError(f"zstd data became {found} bytes, but claims {size}")
        return target[:size]


def _compress(payload: Bytes) -> bytes:
    return _size.pack(len(payload)) + bytes(cramjam.zstd.compress(payload, _LEVEL))


ZSTD = Compressor("zstd", _decompress, _compress)
