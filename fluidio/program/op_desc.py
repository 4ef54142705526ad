"""`core.OpDesc`: an op's description, which can be created and changed separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fluidio.errors import EnforceNotMet
from fluidio.program.attr_defaults import full_attrs
from fluidio.program.attr_types import attr_type
from fluidio.program.attr_values import as_stored
from fluidio.program.block import Block
from fluidio.program.gradient_slots import empty_gradient_slots
from fluidio.program.op_def import EMPTY, GRAD_SUFFIX, OP_TABLE, GradOp
from fluidio.program.op_facts import WITHOUT_GRAD_MAKER
from fluidio.program.op_proto import AttrType, find_proto
from fluidio.program.operator import Operator
from fluidio.program.program import Program

if TYPE_CHECKING:
    from fluidio.program.desc import BlockDesc

__all__ = ["OpDesc", "grad_op_descs"]


class OpDesc:
    """`operator.desc`; `core.OpDesc()` belongs to no block until it is appended or copied."""

    def __init__(self, op: Operator | None = None) -> None:
        self._op = op if op is not None else Operator.blank(Program().global_block())

    def type(self) -> str:
        return self._op.type

    def set_type(self, type: str) -> None:
        self._op.type = type
        self._op.block.program.note_change()

    # -- arguments ------------------------------------------------------------------------------------------------

    def input(self, name: str) -> list[str]:
        return self._slot("Input", self._op.slots_in, name)

    def output(self, name: str) -> list[str]:
        return self._slot("Output", self._op.slots_out, name)

    def _slot(self, kind: str, slots: dict[str, list[str]], name: str) -> list[str]:
        proto = find_proto(self._op.type)
        declared = proto is not None and any(s.name == name for s in (*proto.inputs, *proto.outputs))
        if name not in slots and not declared:
            raise EnforceNotMet(f"op {self._op.type} has no {kind.lower()} {name}; it has {sorted(slots)}")
        return list(slots.get(name, ()))

    def inputs(self) -> dict[str, list[str]]:
        return {slot: list(names) for slot, names in self._op.slots_in.items()}

    def outputs(self) -> dict[str, list[str]]:
        return {slot: list(names) for slot, names in self._op.slots_out.items()}

    def input_names(self) -> list[str]:
        return sorted(self._op.slots_in)

    def output_names(self) -> list[str]:
        return sorted(self._op.slots_out)

    def input_arg_names(self) -> list[str]:
        return self._op.input_arg_names

    def output_arg_names(self) -> list[str]:
        return self._op.output_arg_names

    def set_input(self, name: str, arguments: Sequence[str]) -> None:
        self._op.slots_in[name] = list(arguments)
        self._op.block.program.note_change()

    def set_output(self, name: str, arguments: Sequence[str]) -> None:
        self._op.slots_out[name] = list(arguments)
        self._op.block.program.note_change()

    def _rename_input(self, old: str, new: str) -> None:
        self._op._rename_input(old, new)

    def _rename_output(self, old: str, new: str) -> None:
        self._op._rename_output(old, new)

    # -- attributes -----------------------------------------------------------------------------------------------

    def attr(self, name: str) -> Any:
        attrs = self._op.attrs if name in self._op.attrs else full_attrs(self._op)
        if name not in attrs:
            raise EnforceNotMet(f"op {self._op.type} has no attribute {name}")
        value = attrs[name]
        return value.desc if isinstance(value, Block) else as_stored(value)

    def has_attr(self, name: str) -> bool:
        return name in full_attrs(self._op)

    def attr_names(self) -> list[str]:
        return list(full_attrs(self._op))

    def attr_type(self, name: str) -> AttrType:
        value = self.attr(name)
        return AttrType.BLOCK if hasattr(value, "op_size") else attr_type(self._op.type, name, value)

    def _set_attr(self, name: str, value: object) -> None:
        if isinstance(value, list) and not value and not (self._declares(name) or self.has_attr(name)):
            raise EnforceNotMet(f"op {self._op.type} has no attribute {name}, so the type of [] is unknown")
        self._op._set_attr(name, value)

    set_attr = _set_attr

    def _declares(self, name: str) -> bool:
        proto = find_proto(self._op.type)
        return proto is not None and any(attr.name == name for attr in proto.attrs)

    def remove_attr(self, name: str) -> None:
        self._op.attrs.pop(name, None)
        self._op.block.program.note_change()

    def set_serialized_attr(self, name: str, value: bytes) -> None:
        self._op._set_attr(name, value.decode("latin-1"))

    def set_block_attr(self, name: str, block: BlockDesc) -> None:
        self._op._set_attr(name, block._block)

    def set_blocks_attr(self, name: str, blocks: Sequence[BlockDesc]) -> None:
        self._op._set_attr(name, [block._block for block in blocks])

    def _block_attr_id(self, name: str) -> int:
        return self._op._block_attr_id(name)

    def _blocks_attr_ids(self, name: str) -> list[int]:
        return [block.idx for block in self._op.attrs[name]]

    def check_attrs(self) -> None:
        """Give absent attributes their defaults; raise EnforceNotMet for an unknown op type."""
        self._check_known()
        proto = find_proto(self._op.type)
        self._op.attrs = {**(proto.defaults() if proto else {}), **self._op.definition.attrs, **self._op.attrs}
        self._op.has_defaults = True

    def _check_known(self) -> None:
        if find_proto(self._op.type) is None and self._op.type not in OP_TABLE:
            raise EnforceNotMet(f"there is no op {self._op.type!r}")

    def text(self) -> str:
        """Return the op as the text of its protobuf message."""
        return self._op.to_string(True)

    # -- the whole op -----------------------------------------------------------------------------------------------

    def infer_var_type(self, block: BlockDesc) -> None:
        """Do nothing for a known op type: `infer_shape` sets types too."""
        self._check_known()

    def infer_shape(self, block: BlockDesc) -> None:
        """Describe the outputs from the inputs, with the variables of `block`."""
        self._check_known()
        own = self._op.block
        self._op.block = block._block
        try:
            self._op.infer()
        finally:
            self._op.block = own

    def set_is_target(self, is_target: bool) -> None:
        self._op.is_target = is_target

    def copy_from(self, other: OpDesc) -> None:
        """Copy the type, arguments and attributes of another op."""
        self._op.type = other._op.type
        self._op.slots_in = other.inputs()
        self._op.slots_out = other.outputs()
        self._op.attrs = dict(other._op.attrs)
        self._op.has_defaults = other._op.has_defaults
        self._op.from_bytes = other._op.from_bytes
        self._op.block.program.note_change()

    def block(self) -> BlockDesc:
        desc: BlockDesc = self._op.block.desc
        return desc

    def serialize_to_string(self) -> bytes:
        """Return the OpDesc message as bytes."""
        from fluidio.program.proto import serialize_op

        return serialize_op(self._op)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpDesc) and other._op is self._op

    def __hash__(self) -> int:
        return hash(id(self._op))

    def __repr__(self) -> str:
        return f"OpDesc({self._op.type!r})"


def grad_op_descs(op: OpDesc, no_grad: set[str], blocks: Sequence[object]) -> tuple[list[OpDesc], dict[str, str]]:
    """Return the gradient ops of an op, and the forward name behind each gradient (`core.get_grad_op_desc`).

    Args:
        no_grad: names of gradients, with their suffix; outputs to them are left empty.
    """
    forward = op._op
    maker = forward.definition.grad
    if maker is None:
        if forward.type in WITHOUT_GRAD_MAKER:
            raise EnforceNotMet(f"op {forward.type} has no gradient; set stop_gradient=True on the Variables it reads")
        return [], {}
    drops = forward.type == "minus"  # Fluid: its maker omits what the others leave empty
    skipped = {name.removesuffix(GRAD_SUFFIX) for name in no_grad if drops and name.endswith(GRAD_SUFFIX)}
    descs = [_from_grad_op(made, no_grad) for made in maker(forward, skipped)]
    inputs, outputs = empty_gradient_slots().get(forward.type, ((), ()))
    for desc in descs:
        for slots, known in ((desc._op.slots_in, inputs), (desc._op.slots_out, outputs)):
            slots.update({slot: [] for slot in known if slot not in slots})
    read = {name for desc in descs for name in desc.input_arg_names()}
    written = {name for desc in descs for name in desc.output_arg_names()}
    pairs = [
        *((name, written) for name in forward.input_arg_names),
        *((name, read) for name in forward.output_arg_names),
    ]
    return descs, {f"{name}{GRAD_SUFFIX}": name for name, used in pairs if f"{name}{GRAD_SUFFIX}" in used}


def _from_grad_op(made: GradOp, no_grad: set[str]) -> OpDesc:
    desc = OpDesc()
    desc._op.type = made.type
    desc._op.slots_in = {slot: list(names) for slot, names in made.inputs.items()}
    one = {slot.name for slot in desc._op.definition.outputs if not slot.many and slot.name.endswith(GRAD_SUFFIX)}
    desc._op.slots_out = {}
    for slot, names in made.outputs.items():
        left = [EMPTY if name in no_grad else name for name in names]
        desc._op.slots_out[slot] = [name for name in left if name != EMPTY] if slot in one else left
    desc._op.attrs = dict(made.attrs)
    return desc
