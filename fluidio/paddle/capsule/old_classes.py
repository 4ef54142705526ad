"""Classes with Python 2's methods for slices, and with strings that are bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fluidio.paddle.capsule.old_strings import as_text

__all__ = ["OldMethods", "delslice", "getslice", "setslice"]

_SLICES = {"__getitem__": "__getslice__", "__setitem__": "__setslice__", "__delitem__": "__delslice__"}


def _bounds(value: Any, part: slice) -> tuple[Any, Any]:
    """Return the bounds that Python 2 passed: from 0 to sys.maxint, negative ones from the end."""
    bounds = [0 if part.start is None else part.start, sys.maxsize if part.stop is None else part.stop]
    first, last = (bound + len(value) if bound < 0 else bound for bound in bounds)
    return first, last


def _by_slices(own: Callable[..., object], name: str) -> Callable[..., object]:
    def item(self: object, index: object, *values: object) -> object:
        if isinstance(index, slice) and index.step is None:
            return getattr(self, name)(*_bounds(self, index), *values)
        return own(self, index, *values)

    return item


def _as_str(own: Callable[..., object]) -> Callable[..., object]:
    def shown(self: object) -> object:
        found = own(self)
        return as_text(found) if isinstance(found, bytes) else found

    return shown


class OldMethods:
    """A class of a Python 2 module: slices reach `__getslice__`, and `__str__` may return bytes."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for new, old in _SLICES.items():
            if old in vars(cls):
                setattr(cls, new, _by_slices(getattr(cls, new, _no_item), old))
        for name in ("__str__", "__repr__"):
            if name in vars(cls):
                setattr(cls, name, _as_str(vars(cls)[name]))


def _no_item(self: object, index: object, *values: object) -> object:
    raise AttributeError(f"{type(self).__name__} instance has no attribute '__getitem__'")


def getslice(value: Any, *args: Any) -> object:
    """Return value.__getslice__(i, j)."""
    return _called("__getslice__", "__getitem__", value, args)


def setslice(value: object, *args: object) -> object:
    """Call value.__setslice__(i, j, values)."""
    return _called("__setslice__", "__setitem__", value, args)


def delslice(value: object, *args: object) -> object:
    """Call value.__delslice__(i, j)."""
    return _called("__delslice__", "__delitem__", value, args)


def _called(old: str, new: str, value: object, args: tuple[Any, ...]) -> object:
    if hasattr(value, old):
        return getattr(value, old)(*args)
    owner = args[:1] if isinstance(value, type) else ()
    first, last, *rest = args[len(owner) :]
    return getattr(value, new)(*owner, slice(first, last), *rest)
