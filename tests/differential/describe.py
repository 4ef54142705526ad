"""Describe a built program as plain data: variables and ops of every block. Read by Python 3.7 as well."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["describe"]

_TENSORS = (7, 8, 13)  # LOD_TENSOR, SELECTED_ROWS, LOD_TENSOR_ARRAY: the kinds that have a shape
_UNCOMPARED = {"op_callstack", "op_namescope", "op_role_var", "op_device", "with_quant_attr"}


def describe(program: Any) -> dict[str, Any]:
    """Return {"vars": {name: facts}, "ops": [facts]} of all blocks; names are unique enough in small programs."""
    variables: dict[str, Any] = {}
    for block in program.blocks:
        for name, var in block.vars.items():
            variables[_plain(name)] = _variable(var)
    return {"vars": variables, "ops": [[_op(op) for op in block.ops] for block in program.blocks]}


def _plain(name: str) -> str:
    """Leave out the number of a reader: readers are counted in the whole process."""
    return re.sub(r"^(double_buffer|create_py_reader|lod_tensor_blocking_queue)_\d+$", r"\1", name)


def _variable(var: Any) -> dict[str, Any]:
    kind = int(var.type)
    facts: dict[str, Any] = {"type": kind, "persistable": bool(var.persistable)}
    if kind in _TENSORS:
        facts["shape"] = [int(size) for size in var.shape]
        facts["dtype"] = int(var.dtype)
        facts["stop_gradient"] = bool(var.stop_gradient)
    if kind in (7, 13):
        facts["lod_level"] = int(var.lod_level)
    return facts


def _op(op: Any) -> dict[str, Any]:
    attrs = {name: _attr(op, name) for name in op.attr_names if name not in _UNCOMPARED}
    return {
        "type": op.type,
        "in": {slot: list(map(_plain, op.input(slot))) for slot in op.input_names if op.input(slot)},
        "out": {slot: list(map(_plain, op.output(slot))) for slot in op.output_names if op.output(slot)},
        "attrs": {name: value for name, value in attrs.items() if value is not None},
    }


def _attr(op: Any, name: str) -> Any:
    if name.endswith(("block", "blocks")):
        return None
    value = op.attr(name)
    return value if isinstance(value, (bool, int, float, str, list)) else None
