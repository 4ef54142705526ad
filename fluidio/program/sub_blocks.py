"""Blocks inside blocks: building them, what they read and write outside, and the op that runs one conditionally."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from fluidio.dtypes import VarType
from fluidio.program.block import Block
from fluidio.program.guards import default_main_program
from fluidio.program.op_def import EMPTY
from fluidio.program.variable import Variable

__all__ = ["append_conditional", "outer_names", "sub_block"]


def outer_names(block: Block) -> tuple[list[str], list[str]]:
    """Return the names of outer variables that a block reads before it writes them, and those it writes.

    They stand in the order of their first use.
    """
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    inside: set[str] = set()
    for op in block.ops:
        holds_block = any(isinstance(value, Block) for value in op.attrs.values())
        for name in op.input_arg_names:
            if name != EMPTY and name not in inside and name not in block.vars:
                reads[name] = None
        for name in op.output_arg_names:
            if name == EMPTY:
                continue
            if name not in block.vars:
                writes[name] = None
            if name in block.vars or not holds_block:  # a branch may leave a variable as it is
                inside.add(name)
    return list(reads), list(writes)


@contextlib.contextmanager
def sub_block() -> Iterator[Block]:
    """Build a sub-block of the current block; the outer block becomes current again even after an error."""
    program = default_main_program()
    block = program._create_block()
    try:
        yield block
    finally:
        program._rollback()


def append_conditional(conditions: Sequence[Variable], body: Block, is_scalar_condition: bool) -> None:
    """Append the op that runs a finished block under a condition to the enclosing block."""
    parent = body.parent
    assert parent is not None
    reads, writes = outer_names(body)
    known = [n for n in reads if parent._find_var_recursive(n) is not None]
    scope = parent.create_var(type=VarType.STEP_SCOPES)
    parent.append_op(
        type="conditional_block",
        inputs={"Cond": list(conditions), "Input": known},
        outputs={"Out": writes, "Scope": [scope]},
        attrs={"sub_block": body, "is_scalar_condition": is_scalar_condition},
    )
