"""Loops: While and while_loop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.layer_helper import LayerHelper
from fluidio.layers.utils import assert_same_structure, copy_mutable_vars, map_structure
from fluidio.program import Block, Program, Variable
from fluidio.program.op_def import RIGHT_GRADIENT_ATTR
from fluidio.program.sub_blocks import outer_names, sub_block

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
        raise TypeError(f"is_empty: cond must be a Variable, got {type(cond).__name__}")
    helper.append_op(type="is_empty", inputs={"X": [x]}, outputs={"Out": [cond]})
    return cond


class BlockGuard:
    """`with BlockGuard(program):` builds a sub-block of the current block."""

    def __init__(self, main_program: Program) -> None:
        if not isinstance(main_program, Program):
            raise TypeError(f"BlockGuard takes a Program, got {type(main_program).__name__}")
        self.main_program = main_program

    def __enter__(self) -> Any:
        return self.main_program._create_block()

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> bool:
        self.main_program._rollback()
        return exc_type is None


class While:
    """Run a block while a condition is true.

    Fluid: the gradients of tensors that the block reads and overwrites end in the last round; `right_gradient` passes
    them on.

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

    def __init__(
        self, cond: Variable, is_test: bool = False, name: str | None = None, *, right_gradient: bool = False
    ) -> None:
        self.helper = LayerHelper("while", name=name)
        self.right_gradient = right_gradient
        self.status = While.BEFORE_WHILE_BLOCK
        if not isinstance(cond, Variable) or cond.dtype is not VarType.BOOL:
            raise TypeError(f"While: the condition must be a Variable of dtype bool, got {cond!r}")
        if _elements(cond) != 1:
            raise TypeError(f"While: the condition must have shape [1], got {list(cond.shape)}")
        self.cond_var = cond
        self.is_test = is_test

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Build the body of the loop; it must set the condition again."""
        with sub_block() as body:
            self.status = While.IN_WHILE_BLOCK
            yield
            self.status = While.AFTER_WHILE_BLOCK
        complete_while(self.cond_var, body, self.is_test, self.right_gradient)


def _elements(variable: Variable) -> int:
    total = 1
    for dim in variable.shape:
        total *= dim
    return total


def complete_while(cond: Variable, body: Block, is_test: bool = False, right_gradient: bool = False) -> None:
    """Append the `while` op of a finished body to the enclosing block."""
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
        attrs={"sub_block": body, "is_test": is_test, **({RIGHT_GRADIENT_ATTR: True} if right_gradient else {})},
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
    *,
    right_gradient: bool = False,
) -> list[Any]:
    """Call `body` on the loop variables while `cond` of them is true; return the loop variables.

    Fluid: the gradients of loop variables end in the last round; `right_gradient` passes them on.
    """
    if not callable(cond):
        raise TypeError(f"while_loop: cond must be a function, got {type(cond).__name__}")
    if not callable(body):
        raise TypeError(f"while_loop: body must be a function, got {type(body).__name__}")
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError(f"while_loop: loop_vars must be a list or tuple, got {type(loop_vars).__name__}")
    if len(loop_vars) == 0:
        raise ValueError("while_loop: loop_vars is empty, but a loop needs at least one variable")
    before = cond(*loop_vars)
    if not isinstance(before, Variable) or before.dtype is not VarType.BOOL:
        raise TypeError(f"while_loop: cond must return a Variable of dtype bool, got {before!r}")
    if _elements(before) != 1:
        raise TypeError(f"while_loop: cond must return a Variable of shape [1], got {list(before.shape)}")
    loop = While(before, is_test, name, right_gradient=right_gradient)
    with loop.block():
        mutable = copy_mutable_vars(loop_vars)
        outputs = body(*mutable)
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        try:
            assert_same_structure(list(outputs), list(loop_vars), check_types=False)
        except ValueError as error:
            raise ValueError(
                f"while_loop: body must return as many values as loop_vars has, in the same structure: {error}"
            ) from error
        now = cond(*outputs)
        map_structure(_assign_loop_var, list(outputs), list(loop_vars))
        assign_to(now, before)
    return list(loop_vars)


def _assign_loop_var(source: Any, target: Any) -> Any:
    # An array is written in place, so there is nothing to assign.
    if isinstance(target, Variable) and target.type is not VarType.LOD_TENSOR_ARRAY:
        assign_to(source, target)
    return target
