"""`contrib.model_stat.summary`: a table of the size and cost of each op of a network."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from fluidio.program import Block, Operator, Program

__all__ = ["summary"]

_KNOWN = (
    "counted: Conv, DepthwiseConv, FC (mul), BatchNorm, Pool and the activations sigmoid, tanh, relu, leaky_relu, prelu"
)


class _Row(NamedTuple):
    op: str
    given: tuple[int, ...]
    made: tuple[int, ...]
    params: int
    flops: int


def summary(main_prog: Program) -> None:
    """Print the input and output shapes, parameters and floating-point operations of a program's ops.

    Fluid: biases are not counted except one per `mul`; activations include the batch size, -1 if unknown.
    """
    rows = [row for block in main_prog.blocks for op in block.ops if (row := _row(block, op)) is not None]
    header = ["No.", "TYPE", "INPUT", "OUTPUT", "PARAMs", "FLOPs"]
    lines = [
        [str(number), row.op, str(row.given), str(row.made), str(row.params), str(row.flops)]
        for number, row in enumerate(rows)
    ]
    print(_table([header, *lines]))
    params, flops = sum(row.params for row in rows), sum(row.flops for row in rows)
    print(f"Total PARAMs: {params}({params / 1e6:.4f}M)")
    print(f"Total FLOPs: {flops}({flops / 1e9:.2f}G)")
    print(f"Notice: \n {_KNOWN}")


def _table(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    rows = ["| " + " | ".join(cell.rjust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
    return "\n".join([rule, rows[0], rule, *rows[1:], rule])


def _row(block: Block, op: Operator) -> _Row | None:
    count = _COUNTS.get(op.type)
    if count is None:
        return None
    given, made, params, flops = count(block, op)
    return _Row(op.type, given[1:], made[1:], params, flops)


_Counted = tuple[tuple[int, ...], tuple[int, ...], int, int]


def _shape(block: Block, names: list[str]) -> tuple[int, ...]:
    return block._var_recursive(names[0]).shape


def _conv(block: Block, op: Operator) -> _Counted:
    given, made = _shape(block, op.input("Input")), _shape(block, op.output("Output"))
    filters, *kernel = _shape(block, op.input("Filter"))
    each = math.prod(kernel) / int(op.attr("groups"))  # Fluid: divides by the groups twice
    return given, made, int(filters * each), int(2 * math.prod(made[2:]) * made[1] * each)


def _pool(block: Block, op: Operator) -> _Counted:
    given, made = _shape(block, op.input("X")), _shape(block, op.output("Out"))
    return given, made, 0, math.prod(made[1:]) * math.prod(op.attr("ksize"))


def _mul(block: Block, op: Operator) -> _Counted:
    given, made, weight = _shape(block, op.input("X")), _shape(block, op.output("Out")), _shape(block, op.input("Y"))
    return given, made, math.prod(weight) + 1, math.prod(weight)


def _batch_norm(block: Block, op: Operator) -> _Counted:
    given, made = _shape(block, op.input("X")), _shape(block, op.output("Y"))
    return given, made, 2 * given[1], 2 * math.prod(given[1:])


def _activation(block: Block, op: Operator) -> _Counted:
    given, made = _shape(block, op.input("X")), _shape(block, op.output("Out"))
    return given, made, int(op.type == "prelu"), math.prod(given)


_COUNTS: dict[str, Callable[[Block, Operator], _Counted]] = {
    "conv2d": _conv,
    "depthwise_conv2d": _conv,
    "pool2d": _pool,
    "mul": _mul,
    "batch_norm": _batch_norm,
    **dict.fromkeys(("sigmoid", "tanh", "relu", "leaky_relu", "prelu"), _activation),
}
