"""`fluid.op.OpDescCreationMethod`: descriptions of ops as protobuf messages, made from the names of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fluidio.program.op_proto import COMMON_ATTRS, AttrType, OpProto
from fluidio.proto import framework_pb2

__all__ = ["OpDescCreationMethod", "create_op_creation_method", "is_str"]

_FIELDS = {
    AttrType.INT: "i",
    AttrType.FLOAT: "f",
    AttrType.STRING: "s",
    AttrType.BOOL: "b",
    AttrType.LONG: "l",
    AttrType.INTS: "ints",
    AttrType.FLOATS: "floats",
    AttrType.STRINGS: "strings",
    AttrType.BOOLS: "bools",
    AttrType.LONGS: "longs",
}


def is_str(s: object) -> bool:
    return isinstance(s, str)


class OpDescCreationMethod:
    """A function from keyword arguments to an OpDesc message.

    Args:
        op_proto: the op's description, from `get_all_op_protos()` or your own `framework_pb2.OpProto`.
    """

    def __init__(self, op_proto: Any) -> None:
        if not isinstance(op_proto, (OpProto, framework_pb2.OpProto)):
            raise TypeError(f"expected an OpProto, got {type(op_proto).__name__}")
        self.__op_proto__ = op_proto

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Return the OpDesc; omitted slots are empty, omitted attributes are absent."""
        if args:
            raise ValueError("pass inputs, outputs and attributes by name")
        proto = self.__op_proto__
        desc = framework_pb2.OpDesc()
        for slots, fill in ((proto.inputs, desc.inputs), (proto.outputs, desc.outputs)):
            for slot in slots:
                arguments = self.extract_input_or_output(slot.duplicable, kwargs.get(slot.name, []))
                fill.add(parameter=slot.name, arguments=arguments)
        desc.type = proto.type
        for attr in self._attrs(proto):
            if not attr.generated and kwargs.get(attr.name) is not None:
                self._add_attr(desc, attr, kwargs[attr.name])
        return desc

    @staticmethod
    def _attrs(proto: Any) -> Iterable[Any]:
        return (*proto.attrs, *COMMON_ATTRS) if isinstance(proto, OpProto) else proto.attrs

    @staticmethod
    def _add_attr(desc: Any, attr: Any, value: Any) -> None:
        field = _FIELDS.get(AttrType(attr.type))
        if field is None:
            raise NotImplementedError(f"attributes of type {attr.type} are not supported")
        made = desc.attrs.add(name=attr.name, type=int(attr.type))
        if field.endswith("s") and len(field) > 1:
            getattr(made, field).extend(value)
        else:
            setattr(made, field, value)

    @staticmethod
    def extract_input_or_output(duplicable: bool, value: Any) -> list[str]:
        """Return the names for a slot; ValueError for several where only one is allowed."""
        names: list[str] = value if isinstance(value, list) else [value]
        if not duplicable and len(names) > 1:
            raise ValueError(f"this slot takes one variable, got {len(names)}: {', '.join(names)}")
        return names

    @staticmethod
    def any_is_true(generator: Iterable[object]) -> bool:
        return any(generator)


@dataclass(frozen=True)
class OpCreation:
    """The description of an op type for `create_op_creation_method`."""

    name: str
    method: Callable[..., Any]
    inputs: list[tuple[str, bool]]
    outputs: list[tuple[str, bool]]
    attrs: list[str]


def create_op_creation_method(op_proto: Any) -> OpCreation:
    """Return the function that creates descriptions of an op type, with the names of its arguments."""
    method = OpDescCreationMethod(op_proto)
    return OpCreation(
        op_proto.type,
        method,
        [(slot.name, slot.duplicable) for slot in op_proto.inputs],
        [(slot.name, slot.duplicable) for slot in op_proto.outputs],
        [attr.name for attr in method._attrs(op_proto)],
    )
