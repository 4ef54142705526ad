"""hash() of Python 2.7 on 64 bits: the same in every run, for features that are hashed and seeds that are text."""

from __future__ import annotations

import math
from typing import Any

from fluidio.paddle.capsule.old_strings import as_bytes

__all__ = ["hash_of"]

_MASK = (1 << 64) - 1


def _signed(value: int) -> int:
    value &= _MASK
    value = value - (1 << 64) if value >> 63 else value
    return -2 if value == -1 else value


def hash_of(value: object) -> int:
    """Return hash(value)."""
    if isinstance(value, (str, bytes)):
        return _of_bytes(as_bytes(value) if not isinstance(value, str) or value.isascii() else _units(value))
    if isinstance(value, float):
        return _of_float(value)
    if isinstance(value, int):
        return _of_int(int(value))
    return _of_tuple(value) if isinstance(value, tuple) else hash(value)


def _units(text: str) -> object:
    from fluidio.paddle.capsule.old_strings import EncodedText

    return as_bytes(text) if isinstance(text, EncodedText) else list(map(ord, text))


def _of_bytes(units: Any) -> int:
    if not units:
        return 0
    found = units[0] << 7
    for unit in units:
        found = ((1000003 * found) & _MASK) ^ unit
    return _signed(found ^ len(units))


def _of_int(value: int) -> int:
    if -(1 << 63) <= value < 1 << 63:
        return _signed(value)
    found = 0
    digits = abs(value)
    for place in range((digits.bit_length() - 1) // 30, -1, -1):
        found = ((found << 30) & _MASK) | (found >> 34)
        found += (digits >> (30 * place)) & ((1 << 30) - 1)
        found = (found & _MASK) + (found >> 64)
    return _signed(-found if value < 0 else found)


def _of_float(value: float) -> int:
    if math.isinf(value):
        return 314159 if value > 0 else -271828
    if math.isnan(value):
        return 0
    if value.is_integer():
        return _of_int(int(value))
    fraction, exponent = math.frexp(value)
    fraction *= 2147483648.0
    high = int(fraction)
    fraction = (fraction - high) * 2147483648.0
    return _signed(high + int(fraction) + (exponent << 15))


def _of_tuple(values: tuple[Any, ...]) -> int:
    found, factor, left = 0x345678, 1000003, len(values)
    for value in values:
        left -= 1
        found = ((found ^ hash_of(value)) * factor) & _MASK
        factor += 82520 + 2 * left
    return _signed(found + 97531)
