"""Fluid 1.8.5's descriptions of op types, as the protobuf messages that `get_all_op_protos` returns."""

from __future__ import annotations

import functools
from typing import Any

from fluidio.program.op_proto import COMMON_ATTRS, OpProto, all_op_protos
from fluidio.proto import framework_pb2

__all__ = ["op_message", "op_messages"]


@functools.cache
def op_message(op_type: str) -> Any:
    """Return the `framework_pb2.OpProto` of an op type, with the attributes that every op has."""
    return _message(all_op_protos()[op_type])


def op_messages() -> list[Any]:
    """Return the messages of all op types."""
    return [op_message(op_type) for op_type in all_op_protos()]


def _message(proto: OpProto) -> Any:
    made = framework_pb2.OpProto(type=proto.type, comment=proto.comment)
    for slots, fields in ((proto.inputs, made.inputs), (proto.outputs, made.outputs)):
        for slot in slots:
            fields.add(
                name=slot.name,
                comment=slot.comment,
                duplicable=slot.duplicable,
                intermediate=slot.intermediate,
                dispensable=slot.dispensable,
            )
    for attr in (*proto.attrs, *COMMON_ATTRS):
        made.attrs.add(name=attr.name, type=int(attr.type), comment=attr.comment, generated=False)
    return made
