"""Programs as the text of their protobuf messages: what `print(program)` and `to_string` gave in Fluid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.program.attr_defaults import full_attrs
from fluidio.program.attr_types import AttrType, attr_type
from fluidio.program.block import Block
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.variable import Parameter, Variable

__all__ = ["block_text", "op_text", "program_text", "variable_text"]

_FIELDS = {
    AttrType.INT: "i",
    AttrType.FLOAT: "f",
    AttrType.STRING: "s",
    AttrType.INTS: "ints",
    AttrType.FLOATS: "floats",
    AttrType.STRINGS: "strings",
    AttrType.BOOLEAN: "b",
    AttrType.BOOLEANS: "bools",
    AttrType.BLOCK: "block_idx",
    AttrType.LONG: "l",
    AttrType.BLOCKS: "blocks_idx",
    AttrType.LONGS: "longs",
}
_DETAILS = ("error_clip", "stop_gradient")
_PARAMETER_DETAILS = ("trainable", "optimize_attr", "regularizer", "do_model_average")


def program_text(program: Program, with_details: bool = False) -> str:
    """Return a program's ProgramDesc as text."""
    blocks = "".join(_message("blocks", _block(block, with_details)) for block in program.blocks)
    if with_details and era().name == "1.8":
        return blocks.removesuffix("\n")
    if with_details or era().name != "1.8":
        return blocks
    return blocks + _message("version", [f"version: {program.desc_version}"])


def block_text(block: Block, with_details: bool = False) -> str:
    """Return a block's BlockDesc as text; 1.8 puts the details into `blocks {}`."""
    if with_details and era().name == "1.8":
        return _message("blocks", _block(block, True)).removesuffix("\n")
    return _lines(_block(block, with_details))


def op_text(op: Operator) -> str:
    """Return an op's OpDesc as text."""
    return _lines(_op(op))


def variable_text(variable: Variable, with_details: bool = False) -> str:
    """Return a variable's VarDesc as text, on request with what only Python knows."""
    return _lines(_variable(variable, with_details))


def _message(name: str, lines: Iterable[str]) -> str:
    return _lines(_nested(name, lines))


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _nested(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield name + " {"
    yield from (f"  {line}" for line in lines)
    yield "}"


def _block(block: Block, with_details: bool) -> Iterator[str]:
    yield f"idx: {block.idx}"
    yield f"parent_idx: {block.parent_idx}"
    for variable in block.vars.values():
        yield from _nested("vars", _variable(variable, with_details))
    for op in block.ops:
        yield from _nested("ops", _op(op))
    if block.forward_block_idx != -1:
        yield f"forward_block_idx: {block.forward_block_idx}"


def _variable(variable: Variable, with_details: bool) -> Iterator[str]:
    yield f'name: "{variable.name}"'
    yield from _nested("type", _type(variable))
    if variable.states_persistable:
        yield f"persistable: {_bool(variable.persistable)}"
    if variable.need_check_feed:
        yield "need_check_feed: true"
    if with_details:
        names = (*_DETAILS, *(_PARAMETER_DETAILS if isinstance(variable, Parameter) else ()))
        yield from (f"{name}: {getattr(variable, name)}" for name in names)


def _type(variable: Variable) -> Iterator[str]:
    yield f"type: {variable.type.name}"
    if variable.type is VarType.READER:
        slots = [_tensor("lod_tensor", *slot) for slot in variable.reader_slots]
        yield from _nested("reader", (line for slot in slots for line in slot))
    elif variable.type is VarType.SELECTED_ROWS:
        yield from _nested("selected_rows", _dims(variable.shape, variable.dtype))
    elif variable.type in (VarType.LOD_TENSOR, VarType.LOD_TENSOR_ARRAY):
        name = "lod_tensor" if variable.type is VarType.LOD_TENSOR else "tensor_array"
        level = variable.lod_level if variable.states_lod_level else None
        yield from _tensor(name, variable.shape, variable.dtype, level)


def _tensor(name: str, shape: Iterable[int], dtype: VarType, lod_level: int | None) -> Iterator[str]:
    lines = list(_nested("tensor", _dims(shape, dtype)))
    yield from _nested(name, lines if lod_level is None else [*lines, f"lod_level: {lod_level}"])


def _dims(shape: Iterable[int], dtype: VarType) -> Iterator[str]:
    yield f"data_type: {dtype.name}"
    yield from (f"dims: {dim}" for dim in shape)


def _op(op: Operator) -> Iterator[str]:
    for kind, names, slots in (("inputs", op.input_names, op.slots_in), ("outputs", op.output_names, op.slots_out)):
        for slot in names:
            arguments = [f'arguments: "{name}"' for name in slots.get(slot, ())]
            yield from _nested(kind, [f'parameter: "{slot}"', *arguments])
    yield f'type: "{op.type}"'
    for name, value in full_attrs(op).items():
        yield from _nested("attrs", _attr(op.type, name, value))


def _attr(op_type: str, name: str, value: Any) -> Iterator[str]:
    kind = attr_type(op_type, name, value)
    yield f'name: "{name}"'
    yield f"type: {kind.proto_name}"
    values = value if kind.name.endswith("S") else [value]
    yield from (f"{_FIELDS[kind]}: {_value(kind, item)}" for item in values)


def _value(kind: AttrType, value: Any) -> str:
    if isinstance(value, Block):
        return str(value.idx)
    if kind in (AttrType.STRING, AttrType.STRINGS):
        return '"' + _escaped(value) + '"'
    if kind in (AttrType.BOOLEAN, AttrType.BOOLEANS):
        return _bool(value)
    if kind in (AttrType.FLOAT, AttrType.FLOATS):
        return repr(float(np.float32(value)))
    return str(int(value))


def _escaped(text: str | bytes) -> str:
    plain = text.decode("latin-1") if isinstance(text, bytes) else text
    for old, new in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ('"', '\\"'), ("'", "\\'")):
        plain = plain.replace(old, new)
    return plain


def _bool(value: object) -> str:
    return "true" if value else "false"
