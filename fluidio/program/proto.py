"""Parse and serialize ProgramDesc bytes, which Fluid stores in `__model__` and `.pdmodel` files.

Every version from 0.12 to 1.8 is read; written bytes carry the version of the current era.
"""

from __future__ import annotations

from typing import Any, cast

from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.program.attr_defaults import full_attrs
from fluidio.program.attr_types import AttrType, attr_type
from fluidio.program.block import Block
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.proto_read import read_program
from fluidio.program.variable import Variable
from fluidio.program.wire import float_field, text_field, varint_field

__all__ = ["parse_program", "serialize_block", "serialize_op", "serialize_program", "serialize_variable"]

_DENSE = (VarType.LOD_TENSOR, VarType.LOD_TENSOR_ARRAY)


def parse_program(data: bytes, what: str = "the ProgramDesc", *, allow_files: bool = False) -> Program:
    """Return the program in ProgramDesc bytes.

    Args:
        what: what the bytes are, for error texts.
        allow_files: let its ops use files, functions and other machines when it runs.

    Raises:
        EnforceNotMet: the bytes are not a valid ProgramDesc.
        ValueError: the program needs an op that fluidio lacks.
    """
    return read_program(bytes(data), what, allow_files)


def serialize_program(program: Program) -> bytes:
    """Return a program as ProgramDesc bytes."""
    blocks = b"".join(text_field(1, serialize_block(block)) for block in program.blocks)
    if era().name == "1.8":
        return blocks + text_field(4, varint_field(1, program.desc_version))
    return blocks + text_field(2, varint_field(1, 0))


def serialize_block(block: Block) -> bytes:
    """Return a block as BlockDesc bytes."""
    parts = [varint_field(1, block.idx), varint_field(2, block.parent_idx)]
    parts += [text_field(3, serialize_variable(variable)) for variable in block.vars.values()]
    parts += [text_field(3, part) for op in block.ops for part in _added_variables(op)]
    parts += [text_field(4, serialize_op(op)) for op in block.ops]
    if block.forward_block_idx != -1:
        parts.append(varint_field(5, block.forward_block_idx))
    return b"".join(parts)


def serialize_variable(variable: Variable) -> bytes:
    """Return a variable as VarDesc bytes."""
    out = text_field(1, variable.name) + text_field(2, _var_type(variable))
    if variable.states_persistable:
        out += varint_field(3, int(variable.persistable))
    if variable.need_check_feed:
        out += varint_field(4, 1)
    return out


def _var_type(variable: Variable) -> bytes:
    kind = variable.type
    out = varint_field(1, int(kind))
    tensor = _tensor_desc(variable._dtype, variable._shape)
    if kind is VarType.SELECTED_ROWS:
        out += text_field(2, tensor)
    elif kind in _DENSE:
        level = varint_field(2, variable.lod_level) if variable.states_lod_level else b""
        out += text_field(3 if kind is VarType.LOD_TENSOR else 4, text_field(1, tensor) + level)
    elif kind is VarType.READER:
        slots = b"".join(
            text_field(1, text_field(1, _tensor_desc(dtype, shape)) + varint_field(2, level))
            for shape, dtype, level in variable.reader_slots
        )
        out += text_field(5, slots)
    return out


def _tensor_desc(dtype: VarType, shape: tuple[int, ...]) -> bytes:
    return varint_field(1, int(dtype)) + b"".join(varint_field(2, dim) for dim in shape)


def serialize_op(op: Operator) -> bytes:
    """Return an op as OpDesc bytes."""
    parts = [text_field(1, _arguments(slot, names)) for slot, names in op.slots_in.items()]
    parts += [text_field(2, _arguments(slot, names)) for slot, names in op.slots_out.items()]
    parts += [text_field(2, _arguments(slot, [name])) for slot, name in _added_outputs(op).items()]
    parts.append(text_field(3, op.type))
    parts += [text_field(4, _attr(op.type, name, value)) for name, value in full_attrs(op).items()]
    return b"".join(parts)


# Outputs that 1.8.5 requires and older programs lack: their Adam updates its powers in separate ops.
_NEW_OUTPUTS = {"adam": ("Beta1PowOut", "Beta2PowOut"), "hierarchical_sigmoid": ("W_Out",)}


def _added_outputs(op: Operator) -> dict[str, str]:
    """Return slot and name of outputs that only 1.8.5 requires and nothing reads."""
    return {slot: f"{op.output_arg_names[0]}@{slot}" for slot in _NEW_OUTPUTS.get(op.type, ()) if not op.output(slot)}


def _added_variables(op: Operator) -> list[bytes]:
    tensor = text_field(3, text_field(1, _tensor_desc(VarType.FP32, (1,))))
    kind = varint_field(1, int(VarType.LOD_TENSOR)) + tensor
    return [text_field(1, name) + text_field(2, kind) for name in _added_outputs(op).values()]


def _arguments(slot: str, names: list[str]) -> bytes:
    return text_field(1, slot) + b"".join(text_field(2, name) for name in names)


# attribute type -> field number, and how one value is written there
_FIELDS = {
    AttrType.INT: 3,
    AttrType.FLOAT: 4,
    AttrType.STRING: 5,
    AttrType.INTS: 6,
    AttrType.FLOATS: 7,
    AttrType.STRINGS: 8,
    AttrType.BOOLEAN: 10,
    AttrType.BOOLEANS: 11,
    AttrType.BLOCK: 12,
    AttrType.LONG: 13,
    AttrType.BLOCKS: 14,
    AttrType.LONGS: 15,
}


def _attr(op_type: str, name: str, value: Any) -> bytes:
    kind = attr_type(op_type, name, value)
    values = value if kind.name.endswith("S") else [value]
    head = text_field(1, name) + varint_field(2, int(kind))
    return head + b"".join(_attr_value(_FIELDS[kind], kind, item) for item in values)


def _attr_value(field: int, kind: AttrType, value: Any) -> bytes:
    if kind in (AttrType.FLOAT, AttrType.FLOATS):
        return float_field(field, float(value))
    if kind in (AttrType.STRING, AttrType.STRINGS):
        return text_field(field, cast(str, value))
    return varint_field(field, value.idx if isinstance(value, Block) else int(value))
