"""Rarely used functions that NumPy has dropped or made stricter."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.paddle.capsule.arrays import obj2sctype

__all__ = [
    "deprecate",
    "issubsctype",
    "linspace",
    "maximum_sctype",
    "nbytes",
    "recfromcsv",
    "recfromtxt",
    "reshape",
    "sctype2char",
]


class _Sizes(dict[Any, int]):
    def __missing__(self, key: Any) -> int:
        return int(np.dtype(key).itemsize)


nbytes = _Sizes()


def issubsctype(arg1: object, arg2: object) -> bool:
    """Return whether one scalar type is a subclass of another."""
    return issubclass(_sctype(arg1), _sctype(arg2))


def _sctype(rep: object) -> Any:
    return rep if isinstance(rep, type) and issubclass(rep, np.generic) else obj2sctype(rep)


def maximum_sctype(t: Any) -> Any:
    """Return the largest scalar type of the same kind."""
    largest = {"i": np.int64, "u": np.uint64, "f": np.longdouble, "c": np.clongdouble}
    found = np.dtype(t)
    return largest.get(found.kind, found.type)


def sctype2char(sctype: Any) -> str:
    """Return the letter of a scalar type."""
    return str(np.dtype(sctype).char)


def linspace(start: Any, stop: Any, num: Any = 50, *args: Any, **kwargs: Any) -> Any:
    """Return np.linspace(...); `num` may be a whole float."""
    return np.linspace(start, stop, int(num), *args, **kwargs)


def reshape(a: Any, *args: Any, newshape: Any = None, **kwargs: Any) -> Any:
    """Return np.reshape(...); `newshape` is now `shape`."""
    return np.reshape(a, *([newshape] if newshape is not None else args), **kwargs)


def recfromtxt(fname: Any, **kwargs: Any) -> Any:
    """Return the records of a text file."""
    return np.rec.array(np.genfromtxt(fname, **{"dtype": None, "encoding": "utf-8", **kwargs}))


def recfromcsv(fname: object, **kwargs: object) -> Any:
    """Return the records of a file of comma-separated values."""
    defaults = {"case_sensitive": "lower", "names": True, "delimiter": ","}
    return recfromtxt(fname, **{**defaults, **kwargs})


def deprecate(*args: object, **kwargs: object) -> Any:
    """Return the function unchanged, or a decorator that does so."""
    if args and callable(args[0]):
        return args[0]

    def same(function: Callable[..., object]) -> Callable[..., Any]:
        return functools.wraps(function)(function)

    return same
