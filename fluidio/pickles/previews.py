"""Show a value in one line, with work proportional to the line and not to the value.

A few hundred bytes of pickle make a tuple of shared tuples whose repr has 2**40 items.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

__all__ = ["preview"]

_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    collections.deque: ("deque([", "])"),
}


def preview(value: object, limit: int = 100) -> str:
    """Return the beginning of `repr(value)` in one line of at most `limit` characters."""
    text = ""
    for piece in _pieces(value, limit):
        text += piece
        if len(text) > 4 * limit:
            break
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _pieces(value: Any, limit: int) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _dict(value, limit)
    elif type(value) in _BRACKETS and value:
        yield from _items(value, *_BRACKETS[type(value)], limit)
    elif isinstance(value, (str, bytes, bytearray)):
        yield repr(value[: 4 * limit])
    elif isinstance(value, int) and value.bit_length() > 1024:
        yield f"a number of {value.bit_length()} bits"
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        yield f"array of objects {value.shape}"
    else:
        yield _repr(value)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # NumPy shows no times without a unit
        return f"{type(value).__name__} of {getattr(value, 'dtype', 'something')}"


def _items(values: Iterable[Any], opening: str, closing: str, limit: int) -> Iterator[str]:
    yield opening
    count = 0
    for value in values:
        if count:
            yield ", "
        yield from _pieces(value, limit)
        count += 1
    yield "," + closing if opening == "(" and count == 1 else closing


def _dict(values: dict[Any, Any], limit: int) -> Iterator[str]:
    yield "{" if type(values) is dict else f"{type(values).__name__}({{"
    for number, (key, value) in enumerate(islice(values.items(), 4 * limit)):
        if number:
            yield ", "
        yield from _pieces(key, limit)
        yield ": "
        yield from _pieces(value, limit)
    yield "}" if type(values) is dict else "})"
