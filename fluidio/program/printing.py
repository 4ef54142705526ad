"""Programs as readable text."""

from __future__ import annotations

from typing import Any

from fluidio.dtypes import VarType
from fluidio.program.block import Block
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.variable import Parameter, Variable

__all__ = ["block_text", "op_line", "program_text", "var_line"]

_HIDDEN = frozenset({"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device"})


def var_line(variable: Variable) -> str:
    """Return `param fc_0.w_0: float32[784, 10]` and the like."""
    kind = "param" if isinstance(variable, Parameter) else "persist var" if variable.persistable else "var"
    if variable.type is VarType.READER:
        slots = ", ".join(f"{dtype.name.lower()}{list(shape)}" for shape, dtype, _ in variable.reader_slots)
        return f"{kind} {variable.name}: reader({slots})"
    if variable.type is not VarType.LOD_TENSOR:
        return f"{kind} {variable.name}: {variable.type.name}"
    lod = f" lod_level={variable.lod_level}" if variable.lod_level else ""
    grad = " stop_gradient" if variable.stop_gradient else ""
    return f"{kind} {variable.name}: {variable.dtype.name.lower()}{list(variable.shape)}{lod}{grad}"


def op_line(op: Operator) -> str:
    """Return `{Out=[y]} = mul(inputs={X=[x], Y=[w]}, x_num_col_dims=1)`."""
    inputs = ", ".join(f"{slot}={names}" for slot, names in op._inputs.items())
    outputs = ", ".join(f"{slot}={names}" for slot, names in op._outputs.items())
    attrs = "".join(f", {k}={_short(v)}" for k, v in op._attrs.items() if k not in _HIDDEN)
    return f"{{{outputs}}} = {op.type}(inputs={{{inputs}}}{attrs})"


def _short(value: Any) -> str:
    if isinstance(value, Block):
        return f"block[{value.idx}]"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def block_text(block: Block) -> str:
    """Return all lines of one block."""
    head = f"{{ // block {block.idx}" + (f", parent {block.parent_idx}" if block.parent_idx >= 0 else "")
    lines = [head, *(f"    {var_line(v)}" for v in block.vars.values()), "", *(f"    {op_line(o)}" for o in block.ops)]
    return "\n".join([*lines, "}"])


def program_text(program: Program) -> str:
    """Return all blocks of a program."""
    return "\n".join(block_text(block) for block in program.blocks)
