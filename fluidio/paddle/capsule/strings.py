"""Functions of Python 2's module `string` that became methods."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["join"]


def join(words: Iterable[str], sep: str = " ") -> str:
    """Join words by `sep`."""
    return sep.join(words)
