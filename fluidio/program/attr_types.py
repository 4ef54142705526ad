"""Attribute types: a ProgramDesc says of each attribute whether it is an INT, a LONG, a FLOAT ..."""

from __future__ import annotations

import enum
import functools
from importlib import resources
from typing import Any

from fluidio.program.block import Block

__all__ = ["AttrType", "attr_names", "attr_type"]


class AttrType(enum.IntEnum):
    """`core.AttrType`."""

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOLEAN = 6
    BOOLEANS = 7
    BLOCK = 8
    LONG = 9
    BLOCKS = 10
    LONGS = 11


def attr_type(op_type: str, name: str, value: Any) -> AttrType:
    """Return the type that Fluid declares for an attribute, or for one it does not know, that of the value."""
    if isinstance(value, Block):
        return AttrType.BLOCK
    usual, odd = _table()
    base = op_type.removesuffix("_grad")
    known = odd.get(f"{base}.{name}", usual.get(name))
    return known if known is not None and _fits(known, value) else _of_value(value)


@functools.cache
def attr_names() -> frozenset[str]:
    """Return the names of attributes that any op of Fluid 1.8.5 has."""
    usual, odd = _table()
    return frozenset({*usual, *(key.partition(".")[2] for key in odd)})


@functools.cache
def _table() -> tuple[dict[str, AttrType], dict[str, AttrType]]:
    usual: dict[str, AttrType] = {}
    odd: dict[str, AttrType] = {}
    text = resources.files("fluidio.program").joinpath("attr_types.txt").read_text("utf-8")
    for line in text.splitlines():
        head, found, names = line.partition(": ")
        if line.startswith("#"):
            continue
        if found:
            usual.update(dict.fromkeys(names.split(), AttrType[head]))
        else:
            odd.update({key: AttrType[kind] for key, kind in (word.split("=") for word in line.split())})
    return usual, odd


_LISTS = (AttrType.INTS, AttrType.FLOATS, AttrType.STRINGS, AttrType.BOOLEANS, AttrType.BLOCKS, AttrType.LONGS)


def _fits(kind: AttrType, value: Any) -> bool:
    """Tell whether a value can be written as a type; the table may know the name from another op."""
    if isinstance(value, (list, tuple)):
        return kind in _LISTS and (not value or _fits(_element(kind), value[0]))
    if kind in _LISTS or kind is AttrType.BLOCK:
        return False
    if isinstance(value, str):
        return kind is AttrType.STRING
    if isinstance(value, float):
        return kind is AttrType.FLOAT
    return kind is not AttrType.STRING and not (isinstance(value, bool) and kind is not AttrType.BOOLEAN)


def _element(kind: AttrType) -> AttrType:
    return AttrType[kind.name.removesuffix("S")]


def _of_value(value: Any) -> AttrType:
    if isinstance(value, (list, tuple)):
        return AttrType[_of_value(value[0]).name + "S"] if value else AttrType.INTS
    if isinstance(value, Block):
        return AttrType.BLOCK
    if isinstance(value, bool):
        return AttrType.BOOLEAN
    if isinstance(value, (str, bytes)):
        return AttrType.STRING
    if isinstance(value, float):
        return AttrType.FLOAT
    return AttrType.INT if -(2**31) <= int(value) < 2**31 else AttrType.LONG
