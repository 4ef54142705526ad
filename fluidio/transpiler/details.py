"""`fluid.transpiler.details`: print programs as code, find ops, wait for servers."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TextIO

from fluidio.dtypes import VarType
from fluidio.program import Block, Operator, Parameter, Program, Variable

__all__ = [
    "UnionFind",
    "block_to_code",
    "delete_ops",
    "find_op_by_input_arg",
    "find_op_by_output_arg",
    "get_indent_space",
    "op_to_code",
    "program_to_code",
    "variable_to_code",
    "wait_server_ready",
]

_TENSORS = (VarType.LOD_TENSOR, VarType.SELECTED_ROWS)


def program_to_code(prog: Program, fout: TextIO | None = None, skip_op_callstack: bool = True) -> None:
    """Print every block of a program: variables by name, then the ops."""
    for index, block in enumerate(prog.blocks):
        block_to_code(block, index, fout, skip_op_callstack)


def block_to_code(block: Block, block_idx: int, fout: TextIO | None = None, skip_op_callstack: bool = False) -> None:
    """Print one block."""
    indent = get_indent_space(1)
    variables = [indent + variable_to_code(block.vars[name]) for name in sorted(block.vars)]
    lines = [f"{{ // block {block_idx}", *variables, *([""] if variables else [])]
    lines += [indent + op_to_code(op, skip_op_callstack) for op in block.ops]
    print("\n".join([*lines, "}"]), file=fout or sys.stdout)


def variable_to_code(var: Variable) -> str:
    """Return a variable as one line: kind, name, type, and the shape and dtype of tensors."""
    kind = "var"
    if isinstance(var, Parameter):
        kind = "trainable parameter" if var.trainable else "parameter"
    details = f".shape{tuple(var.shape)}.astype(VarType.{var.dtype.name})" if var.type in _TENSORS else ")"
    persist = "persist " if var.persistable else ""
    return f"{persist}{kind} {var.name} : fluid.VarType.{var.type.name}{details}"


def op_to_code(op: Operator, skip_op_callstack: bool = True) -> str:
    """Return an op as one line: {outputs} = type(inputs={...}, attributes)."""
    names = sorted(name for name in op.attr_names if not (skip_op_callstack and name == "op_callstack"))
    attrs = ", ".join(f"{name} = {_attr(op, name)}" for name in names)
    outputs = _slots((name, op.output(name)) for name in op.output_names)
    inputs = _slots((name, op.input(name)) for name in op.input_names)
    return f"{{{outputs}}} = {op.type}(inputs={{{inputs}}}, {attrs})"


def _slots(slots: Iterable[tuple[str, list[str]]]) -> str:
    return ", ".join(f"{name}={arguments}" for name, arguments in sorted(slots))


def _attr(op: Operator, name: str) -> str:
    value = op.attr(name)
    if isinstance(value, Block):
        return f"block[{value.idx}]"
    if isinstance(value, list) and value and isinstance(value[0], Block):
        return f"blocks[{[block.idx for block in value]}]"
    return str(int(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def get_indent_space(indent: int, space_num: int = 4) -> str:
    """Return the spaces of an indentation."""
    return " " * indent * space_num


def delete_ops(block: Block, ops: Iterable[Operator]) -> None:
    """Remove ops from a block."""
    for op in list(ops):
        block._remove_op(block.ops.index(op))


def find_op_by_input_arg(block: Block, arg_name: str) -> int:
    """Return the index of the first op that reads a variable, or -1."""
    return next((index for index, op in enumerate(block.ops) if arg_name in op.input_arg_names), -1)


def find_op_by_output_arg(block: Block, arg_name: str, reverse: bool = False) -> int:
    """Return the index of the first op (with `reverse`, the last) that writes a variable, or -1."""
    found = [index for index, op in enumerate(block.ops) if arg_name in op.output_arg_names]
    return found[-1 if reverse else 0] if found else -1


def wait_server_ready(endpoints: Sequence[str]) -> None:
    """Wait until something listens at every "host:port"; missing ones are reported every 3 seconds.

    Fluid: it waited forever, as this does; interrupt it with Ctrl-C.
    """
    if isinstance(endpoints, str):
        raise AssertionError(f"wait_server_ready takes a list of 'host:port', got {endpoints!r}")
    while missing := [end for end in endpoints if not _listens(end)]:
        print(f"still waiting for {', '.join(missing)}: trying again every 3 seconds", file=sys.stderr, flush=True)
        time.sleep(3)


def _listens(endpoint: str) -> bool:
    host, _, port = endpoint.rpartition(":")
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((host, int(port))) == 0


class UnionFind:
    """Sets of elements that are connected; `find` numbers them, -1 for anything else."""

    def __init__(self, elements: Iterable[object] | None = None) -> None:
        self._index = {element: index for index, element in enumerate(elements or ())}
        self._parents = list(range(len(self._index)))

    def find(self, x: object) -> int:
        if x not in self._index:
            return -1
        index = self._index[x]
        while index != self._parents[index]:
            self._parents[index] = self._parents[self._parents[index]]
            index = self._parents[index]
        return index

    def union(self, x: object, y: object) -> None:
        first, second = self.find(x), self.find(y)
        if first != second:
            self._parents[first] = second

    def is_connected(self, x: object, y: object) -> bool:
        return self.find(x) == self.find(y)
