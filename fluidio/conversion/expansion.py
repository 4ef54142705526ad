"""Refuse pickled samples that are small in a file and huge, or endless, when they are written out.

A pickle may refer to one list twice in another, and so on: a few hundred bytes hold 2**40 numbers for whoever walks
through them. Going by objects and not by references takes only as long as the pickle.
"""

from __future__ import annotations

from typing import Any

from fluidio.errors import ConversionError

__all__ = ["check_expansion"]

_USUAL = 1 << 26
_LARGER = 4  # times as large as in memory
_CONTAINERS = (list, tuple, dict, set, frozenset)


def check_expansion(value: object) -> None:
    """Check a value of plain containers, which may share parts.

    Raises:
        ConversionError: a container holds itself, or the value is much larger than the objects it is made of.
    """
    if isinstance(value, _CONTAINERS):
        found = _Sizes()
        whole = found.of(value)
        if whole > _USUAL + _LARGER * found.own:
            raise ConversionError(
                f"a sample repeats the same {found.own} parts until it has {whole}: it is damaged, or made to do harm"
            )


class _Sizes:
    """Sizes of values when all that they refer to is written out, about in characters."""

    def __init__(self) -> None:
        self.own = 0
        self._known: dict[int, int | None] = {}

    def of(self, value: Any) -> int:
        if not isinstance(value, (*_CONTAINERS, str, bytes, bytearray)):
            self.own += 1
            return 1
        key = id(value)
        if key in self._known:
            size = self._known[key]
            if size is None:
                raise ConversionError("a sample holds a list, tuple or dict that holds itself")
            return size
        self._known[key] = None
        items = [*value, *value.values()] if isinstance(value, dict) else value
        inner = sum([self.of(item) for item in items]) if isinstance(value, _CONTAINERS) else len(value)
        self.own += 1 if isinstance(value, _CONTAINERS) else 1 + len(value)
        self._known[key] = 1 + inner
        return 1 + inner
