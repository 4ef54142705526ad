"""Attribute types: a ProgramDesc states for each attribute whether it is an INT, a LONG, a FLOAT ..."""

from __future__ import annotations

from typing import Any

from fluidio.program.block import Block
from fluidio.program.op_proto import AttrType, find_proto, usual_types

__all__ = ["AttrType", "attr_names", "attr_type"]


def attr_type(op_type: str, name: str, value: object) -> AttrType:
    """Return the type that Fluid declares for an attribute, or the value's own type if it declares none."""
    if isinstance(value, Block):
        return AttrType.BLOCK
    proto = find_proto(op_type)
    declared = [attr.type for attr in proto.attrs if attr.name == name] if proto else []
    known = declared[0] if declared else usual_types().get(name)
    return known if known is not None and _fits(known, value) else _of_value(value)


def attr_names() -> frozenset[str]:
    """Return the names of attributes that any op of Fluid 1.8.5 has."""
    return frozenset(usual_types())


_LISTS = (AttrType.INTS, AttrType.FLOATS, AttrType.STRINGS, AttrType.BOOLEANS, AttrType.BLOCKS, AttrType.LONGS)


def _fits(kind: AttrType, value: object) -> bool:
    """Return whether a value can be written as a type; the table may know the name from another op."""
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
        kinds = {_of_value(item) for item in value}
        one = AttrType.LONG if AttrType.LONG in kinds else _of_value(value[0]) if value else AttrType.INT
        return AttrType[one.name + "S"]
    if isinstance(value, Block):
        return AttrType.BLOCK
    if isinstance(value, bool):
        return AttrType.BOOLEAN
    if isinstance(value, (str, bytes)):
        return AttrType.STRING
    if isinstance(value, float):
        return AttrType.FLOAT
    return AttrType.INT if -(2**31) <= int(value) < 2**31 else AttrType.LONG
