"""Protobuf's varints: 64-bit numbers in one to ten bytes, seven bits in each."""

from __future__ import annotations

__all__ = ["read_varint", "varint"]

_MASK = 0xFFFFFFFFFFFFFFFF


def varint(value: int) -> bytes:
    """Return a varint; a negative number takes ten bytes."""
    value &= _MASK
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Return the varint at a position and the position after it; it must end before `end`.

    Raises:
        IndexError: the data end inside the number, or it has more than ten bytes.
    """
    value = 0
    for shift in range(0, 70, 7):
        if position >= end:
            raise IndexError("the data ends inside a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, position
    raise IndexError("a number of more than ten bytes")
