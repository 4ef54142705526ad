"""Attributes as Fluid stores them: each must have the type its op declares, or building the op fails."""

from __future__ import annotations

import enum
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
    """Return an attribute set with `_set_attr` as the op keeps it; TypeError for a value that no attribute can hold."""
    if value is None:
        return False
    if isinstance(value, VarType):
        return value
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item() if value.dtype.kind != "b" else int(value.item())
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return _kept_list(op_type, name, list(value))
    if isinstance(value, np.generic):
        return value.item() if isinstance(value, float) or not era().checks_layer_arguments else int(value)
    return _kept_one(op_type, name, value)


def _kept_one(op_type: str, name: str, value: Any) -> Any:
    if isinstance(value, (dict, set, list, tuple)):
        raise TypeError(f"op {op_type}: attribute {name} cannot be {value!r}")
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, (int, np.integer, np.bool_)) and not isinstance(value, enum.Enum):
        return int(value) if -(2**63) <= int(value) < 2**63 else float(value)
    return value


def _kept_list(op_type: str, name: str, items: list[Any]) -> list[Any]:
    """Return a list as Fluid keeps it: of ints, of floats if there is one, or of strings."""
    kept = [_kept_one(op_type, name, item) for item in items]
    texts = sum(isinstance(item, str) for item in kept)
    if texts not in (0, len(kept)):
        raise TypeError(f"op {op_type}: attribute {name} cannot be {items!r}: some are texts, some are not")
    return [float(item) for item in kept] if any(isinstance(item, (float, np.floating)) for item in kept) else kept


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
        raise TypeError(f"attribute {name} must be of type {kind.name}, got an array of shape {list(value.shape)}")
    if found is None:
        expected = "a number" if isinstance(value, str) and kind in _NUMBERS else kind.name
        raise EnforceNotMet(f"attribute {name} must be {expected}, got {value!r}")
    return found


def _cut(name: str, number: Any, value: object) -> float | None:
    """Truncate a NumPy number that is not a Python float to an integer, as Fluid 1.8.5 does."""
    if isinstance(value, float) or not np.isfinite(number):
        return float(number)
    whole = _ONE[AttrType.INT](int(number))
    if whole != number:
        warnings.warn(
            f"attribute {name}: like Fluid 1.8.5, fluidio cuts {value!r} to {whole}; pass float(...) to keep "
            "the decimals",
            stacklevel=8,
        )
    return None if whole is None else float(whole)


def _check_kept(op_type: str, name: str, value: object) -> None:
    """Raise for a value that no attribute can hold."""
    if isinstance(value, Variable):
        raise ValueError(f"op {op_type}: attribute {name} cannot be a Variable ({value.name})")
    for item in (value, *value) if isinstance(value, (list, tuple)) else (value,):
        if item is None and item is not value:
            continue  # a list of None has its own type, which no attribute declares
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
