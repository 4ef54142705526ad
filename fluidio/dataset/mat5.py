"""Read the number arrays of a MATLAB file (level 5), as far as the data sets need it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

from fluidio.recordio.format.limits import chunk_limit
from fluidio.tensor.array import Array

__all__ = ["read_mat"]

_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}


def read_mat(path: str) -> dict[str, Array]:
    """Return the arrays of a file by name."""
    with open(path, "rb") as file:
        data = file.read()
    order = {b"IM": "<", b"MI": ">"}.get(data[126:128], "")
    if not order:
        raise RuntimeError(f"{path} is not a MATLAB file of level 5")
    try:
        return dict(_arrays(data[128:], order))
    except (struct.error, ValueError, IndexError, zlib.error) as error:
        raise RuntimeError(f"{path} is a damaged MATLAB file ({error})") from error


def _arrays(data: bytes, order: str, packed: bool = False) -> Iterator[tuple[str, Array]]:
    for kind, body in _elements(data, order):
        if kind == _COMPRESSED:
            if packed:
                raise ValueError("compressed data inside compressed data")
            yield from _arrays(_unpacked(body), order, packed=True)
        elif kind == _MATRIX:
            flags, shape, name, *values = [(_TYPES.get(t), b) for t, b in _elements(body, order)]
            number = struct.unpack(order + "I", flags[1][:4])[0] & 0xFF
            if number in _CLASSES and len(values) == 1 and values[0][0]:
                flat = np.frombuffer(values[0][1], order + values[0][0]).astype(_CLASSES[number])
                yield name[1].decode("ascii"), flat.reshape(np.frombuffer(shape[1], order + "i4"), order="F")


def _unpacked(body: bytes) -> bytes:
    unpacker, limit = zlib.decompressobj(), chunk_limit(len(body))
    found = unpacker.decompress(body, limit)
    if not unpacker.eof:
        raise ValueError(f"an element is incomplete, or longer than {limit} bytes")
    return found


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield the type and content of consecutive elements."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack(order + "II", data[at : at + 8])
        if kind >> 16:  # a small one: size, type and content in eight bytes
            yield kind & 0xFFFF, data[at + 4 : at + 4 + (kind >> 16)]
            at += 8
            continue
        if at + 8 + size > len(data):
            raise ValueError(f"an element of {size} bytes at byte {at} runs past the end of the data")
        yield kind, data[at + 8 : at + 8 + size]
        at += 8 + (size if kind == _COMPRESSED else -(-size // 8) * 8)
