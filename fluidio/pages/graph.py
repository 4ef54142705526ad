"""A program as plain values: ops with their role, scope, layer and line, variables with shape and dtype."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.program import Block, Operator, Program, Variable
from fluidio.program.op_def import EMPTY
from fluidio.program.op_roles import OpRole

__all__ = ["Costs", "graph_of", "layer_of", "role_of"]

Costs = Mapping[tuple[str, str], tuple[int, float]]
"""(type, first output) of an op -> how often it ran, and seconds in all."""

_COMMON = {"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "sub_block"}
_LAYER = re.compile(r"^(.+?)\.(?:w|b|tmp)_\d+")
_TEXT = 120


def graph_of(program: Program, *, readers_from: Sequence[Program] = (), costs: Costs | None = None) -> dict[str, Any]:
    """Return the data of the program page.

    Args:
        readers_from: programs with the ops that create this program's readers, usually the startup program.
        costs: the time of ops, from a profile.
    """
    parameters = _parameters(program)
    variables = _Variables({parameter.name for parameter in parameters})
    sites: dict[Any, int] = {}
    found: list[dict[str, Any]] = []
    for op in _reader_ops(program, readers_from):
        found.append(_op(op, "reader", [], variables, sites, costs))
    found += [_data(variable, variables) for variable in _fed(program)]
    _walk(program.global_block(), [], found, variables, sites, costs)
    _join_layers(found)
    _complete_paths(found, variables.described)
    return {
        "ops": found,
        "vars": variables.described,
        "sites": [_site(site) for site in sites],
        "parameters": len(parameters),
        "parameter_values": sum(_count(parameter) for parameter in parameters),
        "blocks": program.num_blocks,
        "timed": bool(costs),
    }


def _complete_paths(ops: Sequence[dict[str, Any]], variables: Sequence[Sequence[Any]]) -> None:
    """Place ops that sum gradients where the variable was made, and updates in the scope that uses the parameter."""
    forward = [op for op in ops if op["role"] == "forward"]
    made = {str(variables[v][0]): op["path"] for op in forward for v in op["out"]}
    scopes = {op["path"][-1]: op["path"][:-1] for op in reversed(forward) if op["path"]}
    for op in ops:
        name = str(variables[op["out"][0]][0]) if op["out"] else ""
        if op["role"] == "backward" and len(op["path"]) < 2 and "@GRAD" in name:
            op["path"] = made.get(name.partition("@GRAD")[0], op["path"])
        if op["role"] == "update" and len(op["path"]) == 1:
            op["path"] = [*scopes.get(op["path"][0], []), *op["path"]]


def _fed(program: Program) -> list[Variable]:
    """Return the variables that users feed: data that no op writes but some op reads."""
    block = program.global_block()
    made = {name for op in block.ops for name in op.output_arg_names}
    used = {name for each in program.blocks for op in each.ops for name in op.input_arg_names}
    return [v for v in block.vars.values() if v.is_data and v.name in used - made]


def _data(variable: Variable, variables: _Variables) -> dict[str, Any]:
    number = variables.number(variable.block, variable.name)
    return {"type": "data", "role": "reader", "path": [], "in": [], "out": [number], "attrs": {}}


class _Variables:
    """The variables that ops use, each once."""

    def __init__(self, parameters: set[str]) -> None:
        self._parameters = parameters
        self.described: list[list[Any]] = []
        self._numbers: dict[tuple[int, str], int] = {}

    def numbers(self, op: Operator, names: Sequence[str]) -> list[int]:
        return [self.number(op.block, name) for name in dict.fromkeys(names) if name != EMPTY]

    def number(self, block: Block, name: str) -> int:
        variable = block._find_var_recursive(name)
        is_reader = variable is not None and variable.type == VarType.READER  # one in all programs
        key = (-1 if is_reader else block.idx if variable is None else id(variable), name)
        if key not in self._numbers:
            self._numbers[key] = len(self.described)
            self.described.append(_variable(name, variable, name in self._parameters))
        return self._numbers[key]


def _parameters(program: Program) -> list[Variable]:
    """Return the parameters; a saved model does not record them, so there: what its ops read but never write."""
    if declared := list(program.all_parameters()):
        return list[Variable](declared)
    ops = [op for block in program.blocks for op in block.ops]
    written = {name for op in ops for name in op.output_arg_names}
    read = {name for op in ops for name in op.input_arg_names} - written
    tensors = (variable for variable in program.list_vars() if variable.type == VarType.LOD_TENSOR)
    return [variable for variable in tensors if variable.persistable and variable.name in read]


def _variable(name: str, variable: Variable | None, is_parameter: bool) -> list[Any]:
    """Return name, kind, shape, dtype and LoD level."""
    if variable is None:
        return [name, "unknown", None, "", 0]
    if variable.type == VarType.READER:
        return [name, "reader", None, "", 0]
    is_tensor = variable.type in (VarType.LOD_TENSOR, VarType.SELECTED_ROWS, VarType.LOD_TENSOR_ARRAY)
    shape = list(variable.shape) if is_tensor else None
    dtype = _dtype(variable) if is_tensor else variable.type.name.lower()
    return [name, "parameter" if is_parameter else _kind(variable), shape, dtype, variable.lod_level or 0]


def _kind(variable: Variable) -> str:
    if variable.is_data:
        return "data"
    return "state" if variable.persistable else "value"


def _dtype(variable: Variable) -> str:
    try:
        return to_numpy(variable.dtype).name
    except ValueError:  # a kind of variable
        return variable.dtype.name.lower()


def _walk(
    block: Block,
    inside: list[str],
    found: list[dict[str, Any]],
    variables: _Variables,
    sites: dict[Any, int],
    costs: Costs | None,
) -> None:
    for op in block.ops:
        role = "reader" if op.type == "read" or _makes_reader(op) else role_of(op)
        found.append(_op(op, role, inside, variables, sites, costs))
        body = op.attrs.get("sub_block")
        if isinstance(body, Block) and body.idx != block.idx:
            _walk(body, [*found[-1]["path"], f"{op.type} body"], found, variables, sites, costs)


def _op(
    op: Operator, role: str, inside: list[str], variables: _Variables, sites: dict[Any, int], costs: Costs | None
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": op.type,
        "role": role,
        "path": [*(inside or _scope(op)), *filter(None, [layer_of(op)])],
        "in": variables.numbers(op, op.input_arg_names),
        "out": variables.numbers(op, op.output_arg_names),
        "attrs": _attributes(op),
    }
    if op.site is not None:
        described["site"] = sites.setdefault(op.site, len(sites))
    outputs = op.output_arg_names
    cost = costs.get((op.type, outputs[0] if outputs else "")) if costs else None
    if cost is not None:
        described["runs"], described["seconds"] = cost
    return described


def _join_layers(ops: list[dict[str, Any]]) -> None:
    """Put updates into the scopes of their layers: optimizers open a scope of their own for each parameter."""
    homes: dict[str, list[str]] = {}
    for op in ops:
        if op["role"] == "forward" and op["path"]:
            homes.setdefault(op["path"][-1], op["path"])
    for op in ops:
        if op["role"] == "update" and op["path"]:
            op["path"] = homes.get(op["path"][-1], op["path"])


def role_of(op: Operator) -> str:
    """Return "forward", "backward" or "update"."""
    role = int(op.attrs.get("op_role", 0))
    if role & OpRole.Backward:
        return "backward"
    return "update" if role & (OpRole.Optimize | OpRole.LRSched) else "forward"


def layer_of(op: Operator) -> str:
    """Return the layer of an op by the names of its variables, fc_0 of fc_0.tmp_1 and fc_0.w_0@GRAD; "" without."""
    updated = op.attrs.get("op_role_var") or []
    for name in [*updated[:1], *op.output_arg_names, *op.input_arg_names]:
        match = _LAYER.match(name)
        if match is not None:
            return match[1]
    return ""


def _scope(op: Operator) -> list[str]:
    return [part for part in str(op.attrs.get("op_namescope", "")).split("/") if part]


def _attributes(op: Operator) -> dict[str, str]:
    return {name: _short(value) for name, value in sorted(op.attrs.items()) if name not in _COMMON}


def _short(value: object) -> str:
    text = f"block {value.idx}" if isinstance(value, Block) else repr(value)
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 2]} …"


def _site(site: tuple[str, int, str]) -> list[Any]:
    """Return file, line, function and the text of the line."""
    return [*site, linecache.getline(site[0], site[1]).strip()[:200]]


def _count(parameter: Variable) -> int:
    return int(np.prod([max(0, dim) for dim in parameter.shape], dtype=np.int64))


def _makes_reader(op: Operator) -> bool:
    for name in op.output_arg_names:
        variable = op.block._find_var_recursive(name)
        if variable is not None and variable.type == VarType.READER:
            return True
    return False


def _reader_ops(program: Program, others: Sequence[Program]) -> list[Operator]:
    """Return the ops of other programs that create this program's readers, starting with the source."""
    mine = [op for op in program.global_block().ops if op.type == "read" or _makes_reader(op)]
    wanted = {name for op in mine for name in op.input_arg_names}
    wanted -= {name for op in mine for name in op.output_arg_names}
    found: list[Operator] = []
    for other in others:
        for op in reversed(other.global_block().ops):
            if _makes_reader(op) and wanted.intersection(op.output_arg_names):
                wanted.update(op.input_arg_names)
                found.append(op)
    return found[::-1]
