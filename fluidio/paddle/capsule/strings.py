"""Functions of Python 2's module `string` that became methods."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["WHITESPACE", "join", "maketrans", "zfill"]

WHITESPACE = "\t\n\x0b\x0c\r "


def join(words: Iterable[str], sep: str = " ") -> str:
    """Join words by `sep`."""
    return sep.join(words)


def maketrans(old: str | bytes, new: str | bytes) -> str:
    """Return Python 2's table for `translate`: the 256 characters, with those of `old` replaced by those of `new`."""
    old, new = (part.decode("latin-1") if isinstance(part, bytes) else part for part in (old, new))
    if len(old) != len(new):
        raise ValueError("maketrans arguments must have same length")
    return "".join(map(chr, range(256))).translate(str.maketrans(old, new))


def zfill(x: object, width: int) -> str:
    """Return text, or the text of a number, filled with zeros."""
    return str(x).zfill(width)
