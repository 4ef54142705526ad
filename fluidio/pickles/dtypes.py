"""Make dtypes from the codes and states in a pickle, after checking each."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.errors import UnsafePickleError

__all__ = ["DtypeCode", "dtype_of"]

_NUMBERS = re.compile(r"b1|[iu][1248]|f(2|4|8|12|16)|c(8|16|24|32)")
_FLEXIBLE = re.compile(r"([SUVa])(\d{0,9})")
_TIMES = re.compile(r"[Mm]8")
_OBJECT = re.compile(r"O\d?")
_UNITS = frozenset(["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])
_ORDERS = frozenset("<>|=")
_MOST_FIELDS = 10_000
_DEEPEST = 32
_LARGEST_ITEM = (1 << 31) - 1
_ALIGNED = 0x80


class DtypeCode:
    """A dtype, its code, the number of plain fields it contains and how deeply they are nested."""

    __slots__ = ("depth", "fields", "real", "text")

    def __init__(self, text: str, real: np.dtype[Any], fields: int = 1, depth: int = 0) -> None:
        if fields > _MOST_FIELDS or depth > _DEEPEST or real.itemsize > _LARGEST_ITEM:
            raise UnsafePickleError("the pickle asks for a dtype with too many fields")
        self.text = text
        self.real = real
        self.fields = fields
        self.depth = depth

    def with_state(self, state: object, code_of: Callable[[Any], DtypeCode]) -> DtypeCode:
        """Return the dtype that a pickle completes with byte order, size and fields."""
        if type(state) is not tuple or not 7 <= len(state) <= 9:
            raise ValueError("the state of a dtype is none")
        order, subarray, names, fields, size = state[1:6]
        if subarray is names is fields is None and (self.text, order) in _numbers:
            return _numbers[self.text, order]
        order = _text(order)
        if order not in _ORDERS:
            raise ValueError("a dtype has no byte order")
        if subarray is not None:
            return _subarray(self.text, subarray, code_of)
        if names is not None or fields is not None:
            return _structure(self.text, names, fields, size, state, code_of)
        return _plain(self.text, order, size, state)


def dtype_of(code: object) -> DtypeCode:
    """Return the dtype of a short code such as "f4"; a state may complete it."""
    if type(code) is str and (code, "=") in _numbers:
        return _numbers[code, "="]
    return _plain(_text(code).lstrip("<>|="), "=", None, ())


_numbers: dict[tuple[str, str], DtypeCode] = {}  # all of them, by code and byte order


def _plain(text: str, order: str, size: Any, state: tuple[Any, ...]) -> DtypeCode:
    if _OBJECT.fullmatch(text):
        return DtypeCode(text, np.dtype(object))
    if _NUMBERS.fullmatch(text):
        return _numbers.setdefault((text, order), DtypeCode(text, np.dtype(order + text)))
    if _TIMES.fullmatch(text):
        return DtypeCode(text, np.dtype(order + text + _unit(state)))
    flexible = _FLEXIBLE.fullmatch(text)
    if flexible is None:
        raise UnsafePickleError(f"the pickle asks for the dtype {text[:40]!r}")
    kind, length = flexible.groups()
    if size is not None and _whole(size) >= 0:
        length = str(size // (4 if kind == "U" else 1))
    return DtypeCode(text, np.dtype(order + kind + (length or "0")))


def _unit(state: tuple[Any, ...]) -> str:
    """Return the unit of a time, as "[25s]"."""
    if len(state) < 9:
        return ""
    unit, number = state[8][1][:2]
    if _text(unit) == "generic":
        return ""
    if _text(unit) not in _UNITS or not 0 < _whole(number) < 1 << 31:
        raise ValueError("a time has no unit")
    return f"[{number}{_text(unit)}]"


def _subarray(text: str, subarray: Any, code_of: Callable[[Any], DtypeCode]) -> DtypeCode:
    inner, shape = code_of(subarray[0]), subarray[1]
    dims = shape if type(shape) is tuple else (shape,)
    if len(dims) > 32 or not all(0 <= _whole(dim) <= _LARGEST_ITEM for dim in dims):
        raise ValueError("a dtype has no shape")
    _refuse_objects(inner)
    return DtypeCode(text, np.dtype((inner.real, dims)), inner.fields, inner.depth + 1)


def _structure(
    text: str, names: object, fields: object, size: object, state: tuple[Any, ...], code_of: Callable[[Any], DtypeCode]
) -> DtypeCode:
    if type(names) is not tuple or type(fields) is not dict or not 0 <= _whole(size) <= _LARGEST_ITEM:
        raise ValueError("a dtype has no fields")
    chosen = [fields[name] for name in names]
    inner = [code_of(field[0]) for field in chosen]
    for code in inner:
        _refuse_objects(code)
    spec: dict[str, Any] = {
        "names": [_text(name) for name in names],
        "formats": [code.real for code in inner],
        "offsets": [_whole(field[1]) for field in chosen],
        "itemsize": size,
    }
    titles = [_text(field[2]) if len(field) > 2 and field[2] is not None else None for field in chosen]
    if any(titles):
        spec["titles"] = titles
    aligned = len(state) > 7 and bool(_whole(state[7]) & _ALIGNED)
    depth = 1 + max((code.depth for code in inner), default=0)
    make: Any = np.dtype  # the type stubs know dicts of constants only
    return DtypeCode(text, make(spec, align=aligned), 1 + sum(code.fields for code in inner), depth)


def _refuse_objects(code: DtypeCode) -> None:
    if code.real.hasobject:
        raise UnsafePickleError("the pickle asks for a dtype with Python objects inside; allow_pickle=True reads it")


def _text(value: object) -> str:
    if type(value) is bytes:
        return value.decode("latin1")
    if type(value) is not str:
        raise ValueError("a dtype has something other than text in its state")
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError("a dtype has something other than a number in its state")
    return value
