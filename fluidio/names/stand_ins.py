"""Let scripts import names that fluidio lacks, as long as they do not use them.

Libraries of Fluid's time define classes for imperative mode beside their static programs, and import at the top names
that only one branch needs. Such a name is a class here: it can be imported, subclassed, passed to `isinstance` and used
as a decorator; calling it raises `NotHere`.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any, NoReturn

from fluidio.errors import NotHere
from fluidio.names.find import find, has, missing, names_here
from fluidio.names.table import module

__all__ = ["exported", "find_or_stand_in", "is_stand_in"]


def find_or_stand_in(key: str, name: str) -> Any:
    """Return the object that Fluid's module `key` has under a name, or a stand-in.

    Raises:
        NotHere: neither fluidio nor 1.8.5 has it; the text says what to use.
    """
    return _stand_in(key, name) if _has_stand_in(key, name) and not has(key, name) else find(key, name)


def exported(key: str) -> list[str]:
    """Return the names that `from module import *` imports."""
    stood_for = {name for name in module(key).exported if _has_stand_in(key, name)}
    return sorted({*names_here(key), *stood_for})


def is_stand_in(found: object) -> bool:
    """Return whether an object is a stand-in."""
    return isinstance(found, _NotHereType)


def _has_stand_in(key: str, name: str) -> bool:
    """Return whether a missing name was a class or function of Fluid 1.8.5."""
    entry = module(key)
    there, original = entry.taken.get(name, ("", ""))
    if original:
        return _has_stand_in(there, original)
    return name in entry.exported or (name in entry.others and not name.isupper())


_made: dict[tuple[str, str], type] = {}


def _stand_in(key: str, name: str) -> type:
    """Return the stand-in for a name: the same class wherever Fluid had it, in all threads."""
    taken = module(key).taken.get(name)
    if taken is not None and taken[1]:
        return _stand_in(*taken)
    if (key, name) not in _made:
        made = _NotHereType(name, (_Unusable,), {"_place": (key, name), "__module__": f"fluidio.{key}"})
        _made.setdefault((key, name), made)
    return _made[key, name]


class _NotHereType(type):
    _place: tuple[str, str]

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _error(cls)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], (FunctionType, type)) and "_place" in vars(cls):
            return _unusable(cls, args[0])
        raise _error(cls)


class _Unusable:
    """The root of all stand-ins."""


def _unusable(cls: type, decorated: FunctionType | type) -> Any:
    """Return the replacement of a function below a missing decorator: calling it raises."""

    @functools.wraps(decorated)
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise _error(cls)

    return refuse


def _error(cls: Any) -> NotHere:
    return missing(*cls._place)
