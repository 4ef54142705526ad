"""Loops: While and while_loop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.layer_helper import LayerHelper
from fluidio.layers.utils import assert_same_structure, copy_mutable_vars, map_structure
from fluidio.program import Block, Program, Variable, default_main_program
from fluidio.program.op_def import EMPTY

__all__ = [
    "While",
    "increment",
    "is_empty",
    "while_loop",
]


def increment(x: Variable, value: float = 1.0, in_place: bool = True) -> Variable:
    """Add `value`; in place by default."""
    helper = LayerHelper("increment", **locals())
    out = x if in_place else helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="increment", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"step": float(value)})
    return out


def is_empty(x: Variable, cond: Variable | None = None) -> Variable:
    """Return whether x has no elements."""
    helper = LayerHelper("is_empty", **locals())
    if cond is None:
        cond = helper.create_variable_for_type_inference("bool")
        cond.stop_gradient = True
    elif not isinstance(cond, Variable):
        raise TypeError("cond takes a variable")
    helper.append_op(type="is_empty", inputs={"X": [x]}, outputs={"Out": [cond]})
    return cond


def outer_names(block: Block) -> tuple[list[str], list[str]]:
    """Return the names of outer variables that a block reads, and of those that it writes, in order of first use."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    inside: set[str] = set()
    for op in block.ops:
        for name in op.input_arg_names:
            if name != EMPTY and name not in inside and name not in block.vars:
                reads[name] = None
        for name in op.output_arg_names:
            if name == EMPTY:
                continue
            if name in block.vars:
                inside.add(name)
            else:
                writes[name] = None
    return list(reads), list(writes)


class BlockGuard:
    """`with BlockGuard(program):` builds a sub-block of the current block."""

    def __init__(self, main_program: Program) -> None:
        if not isinstance(main_program, Program):
            raise TypeError("BlockGuard takes a program")
        self.main_program = main_program

    def __enter__(self) -> Any:
        return self.main_program._create_block()

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> bool:
        self.main_program._rollback()
        return exc_type is None


@contextlib.contextmanager
def sub_block() -> Iterator[Block]:
    """Build a sub-block of the current block; also after an error the block outside is current again."""
    program = default_main_program()
    block = program._create_block()
    try:
        yield block
    finally:
        program._rollback()


class While:
    """Run a block as long as a condition holds.

    Example:
        >>> import fluidio as fluid
        >>> i = fluid.layers.fill_constant([1], "int64", 0)
        >>> n = fluid.layers.fill_constant([1], "int64", 10)
        >>> cond = fluid.layers.less_than(i, n)
        >>> loop = fluid.layers.While(cond)
        >>> with loop.block():
        ...     i = fluid.layers.increment(i)
        ...     cond = fluid.layers.less_than(i, n, cond=cond)
    """

    BEFORE_WHILE_BLOCK = 0
    IN_WHILE_BLOCK = 1
    AFTER_WHILE_BLOCK = 2

    def __init__(self, cond: Variable, is_test: bool = False, name: str | None = None) -> None:
        self.helper = LayerHelper("while", name=name)
        self.status = While.BEFORE_WHILE_BLOCK
        if not isinstance(cond, Variable) or cond.dtype is not VarType.BOOL:
            raise TypeError(f"condition should be a boolean variable, got {cond!r}")
        if _elements(cond) != 1:
            raise TypeError(f"condition expected shape as [1], but given shape as {list(cond.shape)}.")
        self.cond_var = cond
        self.is_test = is_test

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Build the body of the loop; it must set the condition again."""
        with sub_block() as body:
            self.status = While.IN_WHILE_BLOCK
            yield
            self.status = While.AFTER_WHILE_BLOCK
        complete_while(self.cond_var, body, self.is_test)


def _elements(variable: Variable) -> int:
    total = 1
    for dim in variable.shape:
        total *= dim
    return total


def complete_while(cond: Variable, body: Block, is_test: bool = False) -> None:
    """Append the `while` op of a finished body to the block around it."""
    parent = body.parent
    assert parent is not None
    reads, writes = outer_names(body)
    reads = [name for name in reads if name != cond.name]
    scopes = parent.create_var(type=VarType.STEP_SCOPES)
    known = [name for name in reads if parent._find_var_recursive(name) is not None]
    parent.append_op(
        type="while",
        inputs={"X": known, "Condition": [cond]},
        outputs={"Out": writes, "StepScopes": [scopes]},
        attrs={"sub_block": body, "is_test": is_test},
    )


def assign_to(source: Variable, target: Variable) -> None:
    """Append an `assign`."""
    LayerHelper("assign").append_op(type="assign", inputs={"X": [source]}, outputs={"Out": [target]})


def while_loop(
    cond: Callable[..., Variable],
    body: Callable[..., object],
    loop_vars: Sequence[object],
    is_test: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Call `body` on the loop variables as long as `cond` of them holds; return the loop variables."""
    if not callable(cond):
        raise TypeError("cond in while_loop should be callable")
    if not callable(body):
        raise TypeError("body in while_loop should be callable")
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError(f"loop_vars in while_loop must be a list or tuple, got {type(loop_vars).__name__}")
    if len(loop_vars) == 0:
        raise ValueError("loop_vars in while_loop should not be empty")
    before = cond(*loop_vars)
    if not isinstance(before, Variable) or before.dtype is not VarType.BOOL:
        raise TypeError(f"cond in while_loop should return a boolean variable, but given {before!r}")
    if _elements(before) != 1:
        raise TypeError(f"the variable returned by cond should be of shape [1], but given {list(before.shape)}")
    loop = While(before, is_test, name)
    with loop.block():
        mutable = copy_mutable_vars(loop_vars)
        outputs = body(*mutable)
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        try:
            assert_same_structure(list(outputs), list(loop_vars), check_types=False)
        except ValueError as error:
            raise ValueError(f"body in while_loop should return the same arity as loop_vars: {error}") from error
        now = cond(*outputs)
        map_structure(_assign_loop_var, list(outputs), list(loop_vars))
        assign_to(now, before)
    return list(loop_vars)


def _assign_loop_var(source: Any, target: Any) -> Any:
    # An array is written in place; there is nothing to hand over.
    if isinstance(target, Variable) and target.type is not VarType.LOD_TENSOR_ARRAY:
        assign_to(source, target)
    return target
