"""Bloom filters in the format `pyramid_hash` reads from a parameter: a header of four numbers, then bits."""

from __future__ import annotations

import struct

from fluidio.errors import EnforceNotMet
from fluidio.tensor.array import Array

__all__ = ["BloomFilter", "murmur128"]

_MAGIC = 17070416
_HEADER = struct.Struct("<4Q")
_MASK = (1 << 64) - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def _rotate(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (64 - bits))) & _MASK


def _mixed(x: int) -> int:
    x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCD & _MASK
    x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53 & _MASK
    return x ^ (x >> 33)


def murmur128(data: bytes, seed: int) -> tuple[int, int]:
    """Return both halves of the 128-bit MurmurHash3 (x64) of some bytes."""
    one = two = seed
    whole = len(data) // 16 * 16
    for a, b in struct.iter_unpack("<2Q", data[:whole]):
        one ^= _rotate(a * _C1 & _MASK, 31) * _C2 & _MASK
        one = ((_rotate(one, 27) + two) * 5 + 0x52DCE729) & _MASK
        two ^= _rotate(b * _C2 & _MASK, 33) * _C1 & _MASK
        two = ((_rotate(two, 31) + one) * 5 + 0x38495AB5) & _MASK
    rest = data[whole:]
    two ^= _rotate(int.from_bytes(rest[8:], "little") * _C2 & _MASK, 33) * _C1 & _MASK
    one ^= _rotate(int.from_bytes(rest[:8], "little") * _C1 & _MASK, 31) * _C2 & _MASK
    one, two = one ^ len(data), two ^ len(data)
    one = (one + two) & _MASK
    two = (two + one) & _MASK
    one, two = _mixed(one), _mixed(two)
    one = (one + two) & _MASK
    return one, (two + one) & _MASK


class BloomFilter:
    """A set of byte strings with a few false positives: `data in filter`."""

    def __init__(self, parameter: Array) -> None:
        data = parameter.tobytes()
        magic, self._bits, self._hashes, _ = _HEADER.unpack(data[: _HEADER.size].ljust(_HEADER.size, b"\0"))
        if magic != _MAGIC:
            raise EnforceNotMet(
                f"pyramid_hash: a word list must be a Bloom filter that begins with {_MAGIC}, this one begins "
                f"with {magic}"
            )
        self._vector = data[_HEADER.size :]
        if not 0 < self._bits <= 8 * len(self._vector):
            raise EnforceNotMet(
                f"pyramid_hash: a Bloom filter has {8 * len(self._vector)} bits, but its header says {self._bits}"
            )

    def __contains__(self, data: bytes) -> bool:
        places = (place % self._bits for seed in range(self._hashes) for place in murmur128(data, seed))
        return all(self._vector[place >> 3] >> (7 - (place & 7)) & 1 for place in places)
