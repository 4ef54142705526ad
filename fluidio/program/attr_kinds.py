"""Attributes as Fluid stores them: each must have the type its op declares, or building the op fails."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.program.op_proto import AttrType, all_op_protos
from fluidio.program.variable import Variable

__all__ = ["as_kept", "typed"]

_LISTS = {
    AttrType.INTS: AttrType.INT,
    AttrType.LONGS: AttrType.LONG,
    AttrType.FLOATS: AttrType.FLOAT,
    AttrType.BOOLEANS: AttrType.BOOLEAN,
    AttrType.STRINGS: AttrType.STRING,
}

_NUMBERS = (AttrType.INT, AttrType.LONG, AttrType.FLOAT, AttrType.BOOLEAN)


def typed(op_type: str, attrs: Mapping[str, object]) -> dict[str, Any]:
    """Return attributes with the declared types; unknown ones, blocks and dtypes are unchanged.

    Raises:
        TypeError: no attribute can hold the value, such as a dict or a function; ValueError for a Variable.
        EnforceNotMet: the value is of another type than the attribute.
    """
    kinds = _kinds(op_type)
    return {name: _typed(op_type, name, kinds.get(name), value) for name, value in attrs.items()}


def as_kept(op_type: str, name: str, value: Any) -> Any:
    """Return what an op keeps of an attribute that is set by hand; TypeError for what none can hold."""
    if isinstance(value, (dict, set)):
        raise TypeError(f"op {op_type}: attribute {name} cannot be {value!r}")
    if not isinstance(value, np.generic):
        return value
    return value.item() if isinstance(value, float) or not era().checks_layer_arguments else int(value)


@functools.cache
def _kinds(op_type: str) -> dict[str, AttrType]:
    proto = all_op_protos().get(op_type)
    attrs = proto.attrs if proto is not None else ()
    skipped = (AttrType.BLOCK, AttrType.BLOCKS)
    return {a.name: a.type for a in attrs if a.type not in skipped and not a.name.endswith("dtype")}


def _typed(op_type: str, name: str, kind: AttrType | None, value: Any) -> Any:
    if kind is None or isinstance(value, VarType):
        return value
    _check_kept(op_type, name, value)
    found: Any
    if kind in _LISTS:
        found = _list(kind, value)
    else:
        plain = value.reshape(-1)[0] if isinstance(value, np.ndarray) and value.size == 1 else value
        found = _ONE[kind](plain)
        if kind is AttrType.FLOAT and isinstance(plain, np.floating) and era().checks_layer_arguments:
            found = _cut(name, plain, value)
    if found is None and isinstance(value, np.ndarray):
        raise TypeError(f"attribute {name} is an array of shape {list(value.shape)}; {kind.name} was expected")
    if found is None:
        expected = "a number" if isinstance(value, str) and kind in _NUMBERS else kind.name
        raise EnforceNotMet(f"attribute {name} is {value!r}; {expected} was expected")
    return found


def _cut(name: str, number: Any, value: object) -> float | None:
    """Return the whole number that Fluid 1.8.5 makes of a number of NumPy which is no Python float."""
    if isinstance(value, float) or not np.isfinite(number):
        return float(number)
    whole = _ONE[AttrType.INT](int(number))
    if whole != number:
        warnings.warn(f"attribute {name} cuts {value!r} to {whole}, as Fluid 1.8.5 does: pass float(...)", stacklevel=8)
    return None if whole is None else float(whole)


def _check_kept(op_type: str, name: str, value: object) -> None:
    """Raise for a value that no attribute can hold."""
    if isinstance(value, Variable):
        raise ValueError(f"op {op_type}: attribute {name} cannot be a Variable ({value.name})")
    for item in (value, *value) if isinstance(value, (list, tuple)) else (value,):
        if item is None and item is not value:
            continue  # a list of None has a type of its own, which no attribute declares
        nested = item is not value and isinstance(item, (list, tuple))
        if nested or not isinstance(item, (bool, int, float, str, bytes, list, tuple, range, np.generic, np.ndarray)):
            raise TypeError(f"op {op_type}: attribute {name} cannot be {value!r}")


def _list(kind: AttrType, value: object) -> list[Any] | None:
    if not isinstance(value, (list, tuple, range, np.ndarray)) or (isinstance(value, np.ndarray) and value.ndim != 1):
        return None
    items = [_ONE[_LISTS[kind]](item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return None if any(item is None for item in items) else items


def _int(value: object) -> int | None:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = int(value.reshape(-1)[0])
    if isinstance(value, (str, bytes, float)) or not isinstance(value, (int, np.number, np.bool_)):
        return None
    return int(value) if -(2**31) <= int(value) < 2**31 else None


def _long(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float, np.number, np.bool_)) else None


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float, np.number, np.bool_)) else None


def _bool(value: object) -> bool | None:
    return bool(value) if isinstance(value, (int, float, np.number, np.bool_)) else None


def _text(value: object) -> str | bytes | None:
    return value if isinstance(value, (str, bytes)) else None  # bytes: a file held in memory


_ONE: dict[AttrType, Callable[[Any], Any]] = {
    AttrType.INT: _int,
    AttrType.LONG: _long,
    AttrType.FLOAT: _float,
    AttrType.BOOLEAN: _bool,
    AttrType.STRING: _text,
}
