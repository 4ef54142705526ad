"""`paddle.compat`: the helpers that let one script run on Python 2 and 3."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["floor_division", "get_exception_message", "int_type", "long_type", "round", "to_bytes", "to_text"]

int_type = int
long_type = int


def _convert(obj: Any, one: Any, inplace: bool) -> Any:
    if isinstance(obj, list):
        converted: Any = [_convert(item, one, inplace) for item in obj]
        if inplace:
            obj[:] = converted
            return obj
        return converted
    if isinstance(obj, set):
        converted = {_convert(item, one, inplace) for item in obj}
        if inplace:
            obj.clear()
            obj.update(converted)
            return obj
        return converted
    return one(obj)


def to_text(obj: object, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """Decode bytes, also inside lists and sets; text and None stay."""
    return _convert(obj, lambda o: o.decode(encoding) if isinstance(o, bytes) else o, inplace)


def to_bytes(obj: object, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """Encode text, also inside lists and sets; bytes and None stay."""
    return _convert(obj, lambda o: o if o is None or isinstance(o, bytes) else o.encode(encoding), inplace)


def round(x: float, d: int = 0) -> float:
    """Round half away from zero, as Python 2 did."""
    factor = 10.0**d
    return math.floor(x * factor + 0.5) / factor if x >= 0 else math.ceil(x * factor - 0.5) / factor


def floor_division(x: Any, y: Any) -> Any:
    """Return x // y."""
    return x // y


def get_exception_message(exc: BaseException) -> str:
    """Return the text of an exception."""
    assert exc is not None, "get_exception_message() takes an exception, got None"
    return str(exc)
