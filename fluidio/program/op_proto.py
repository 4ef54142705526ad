"""The ops of Fluid 1.8.5 as it describes them: slots and attributes with types and defaults.

`op_protos.txt` is the one table behind attribute types, attribute defaults, `OpProtoHolder` and `fluid.op`.
"""

from __future__ import annotations

import copy
import enum
import functools
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "COMMON_ATTRS",
    "AttrProto",
    "AttrType",
    "OpProto",
    "SlotProto",
    "all_op_protos",
    "find_proto",
    "usual_types",
]


class AttrType(enum.IntEnum):
    """`core.AttrType`."""

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOL = 6
    BOOLS = 7
    BLOCK = 8
    LONG = 9
    BLOCKS = 10
    LONGS = 11
    BOOLEAN = 6
    BOOLEANS = 7

    @property
    def proto_name(self) -> str:
        """Return the name in Fluid's protobuf files."""
        return self.name.replace("BOOL", "BOOLEAN")

    def __str__(self) -> str:
        return f"AttrType.{self.name}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class SlotProto:
    """An input or output of an op."""

    name: str
    duplicable: bool = False
    dispensable: bool = False
    intermediate: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class AttrProto:
    """An attribute of an op; `default` is None if a value is required; for lists it may also mean `[]`."""

    name: str
    type: AttrType
    default: Any = None
    generated: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class OpProto:
    """The description of an op type in 1.8.5."""

    type: str
    inputs: tuple[SlotProto, ...]
    outputs: tuple[SlotProto, ...]
    attrs: tuple[AttrProto, ...]
    comment: str = ""

    def defaults(self) -> dict[str, Any]:
        """Return the attributes that have a default, as fresh values."""
        return {attr.name: copy.copy(attr.default) for attr in self.attrs if attr.default is not None}


COMMON_ATTRS = (
    AttrProto("op_role", AttrType.INT, 0, True),
    AttrProto("op_role_var", AttrType.STRINGS, [], True),
    AttrProto("op_namescope", AttrType.STRING, "", True),
    AttrProto("op_callstack", AttrType.STRINGS, [], True),
    AttrProto("op_device", AttrType.STRING, "", True),
)
"""The attributes that every op has besides its own."""


@functools.cache
def all_op_protos() -> dict[str, OpProto]:
    """Return the descriptions of all op types by name."""
    text = Path(__file__).with_name("op_protos.txt").read_text("utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return {proto.type: proto for proto in map(_parse, lines)}


def find_proto(op_type: str) -> OpProto | None:
    """Return the description of an op type, or of a gradient's forward op; None if 1.8.5 does not have it."""
    protos = all_op_protos()
    while op_type not in protos and op_type.endswith("_grad"):
        op_type = op_type.removesuffix("_grad")
    return protos.get(op_type)


@functools.cache
def usual_types() -> dict[str, AttrType]:
    """Return the type that an attribute of some name has in most ops."""
    votes: dict[str, Counter[AttrType]] = {}
    for proto in all_op_protos().values():
        for attr in (*proto.attrs, *COMMON_ATTRS):
            votes.setdefault(attr.name, Counter())[attr.type] += 1
    return {name: counter.most_common(1)[0][0] for name, counter in votes.items()}


def _parse(line: str) -> OpProto:
    slots, _, attrs = line.partition(" |")
    head, _, outputs = slots.partition(" >")
    op_type, *inputs = head.split()
    return OpProto(
        op_type, tuple(map(_slot, inputs)), tuple(map(_slot, outputs.split())), tuple(map(_attr, attrs.split()))
    )


def _slot(word: str) -> SlotProto:
    return SlotProto(word.rstrip("*?~"), "*" in word, "?" in word, "~" in word)


def _attr(word: str) -> AttrProto:
    declared, has_default, default = word.partition("=")
    name, _, kind = declared.partition(":")
    return AttrProto(name, AttrType[kind], json.loads(default) if has_default else None)
