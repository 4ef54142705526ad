"""The gradients that reach an op's outputs: which its gradient op takes, with zeros for missing ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from fluidio.backward.bare import bare
from fluidio.backward.grad_vars import create_grad, differentiable
from fluidio.dtypes import VarType
from fluidio.program import Block, Operator
from fluidio.program.call_site import describe
from fluidio.program.op_def import EMPTY, GRAD_SUFFIX, GradOp, grad_name

__all__ = ["fill_inputs", "has_gradient", "tell_of_lost", "tell_of_shared"]

# Gradients that these ops can do without; missing gradients of other ops are replaced by zeros.
_MAY_LACK = {("lstm_grad", "Cell@GRAD"), ("lstmp_grad", "Cell@GRAD")}


def has_gradient(grad_op: GradOp, done: dict[str, str]) -> bool:
    """Return whether any gradient the op takes arrives: an `lstm` passes on none that comes through its cells."""
    taken = [name for names in grad_op.inputs.values() for name in names if name.endswith(GRAD_SUFFIX)]
    return not taken or any(name.removesuffix(GRAD_SUFFIX) in done for name in taken)


def tell_of_lost(op: Operator, made: Sequence[GradOp], alive: Sequence[str]) -> None:
    """Warn if the op ignores the gradient of one of its outputs."""
    taken = {name for grad_op in made for names in grad_op.inputs.values() for name in names}
    lost = [name for name in alive if grad_name(name) not in taken]
    if made and lost:
        warnings.warn(
            f"op {op.type} passes no gradient back from its output {', '.join(lost)}, as in Fluid 1.8.5"
            + (": dynamic_lstm(..., all_gates=True) does" if op.type in ("lstm", "lstmp") else ""),
            stacklevel=2,
        )


def tell_of_shared(name: str, op: Operator, ops: Sequence[Operator]) -> None:
    """Warn if the gradient of what an op gave a name is added to that of what had the name before."""
    before = ops[: next((at for at, one in enumerate(ops) if one is op), 0)]
    first = next((one for one in before if name in (*one.input_arg_names, *one.output_arg_names)), None)
    if first is not None and first.definition.grad is not None:
        warnings.warn(
            f"op {op.type}, built at {describe(op.site)}, overwrites {name}, which op {first.type}, built at "
            f"{describe(first.site)}, has used: as in Fluid 1.8.5, the gradients of both values are added up; give the "
            "later one a name of its own to keep them apart",
            stacklevel=2,
        )


def fill_inputs(grad_op: GradOp, block: Block, target: Block, done: dict[str, str]) -> None:
    for slot, names in list(grad_op.inputs.items()):
        if (grad_op.type, slot) in _MAY_LACK and names[0].removesuffix(GRAD_SUFFIX) not in done:
            del grad_op.inputs[slot]
        elif slot.endswith(GRAD_SUFFIX) or any(n.endswith(GRAD_SUFFIX) for n in names):
            grad_op.inputs[slot] = [_filled(name, block, target, done) for name in names]


def _filled(name: str, block: Block, target: Block, done: dict[str, str]) -> str:
    """Return the gradient to read; zeros if nothing produced it."""
    base = name.removesuffix(GRAD_SUFFIX)
    if not name.endswith(GRAD_SUFFIX) or base in done or base == EMPTY:
        return name
    variable = block._find_var_recursive(base)
    if variable is None or variable.type is not VarType.LOD_TENSOR or not differentiable(variable):
        return name
    zeros = create_grad(target, variable, name)
    # Fluid: the zeros of a gradient's gradient are shaped like the forward variable.
    like = block._find_var_recursive(base.partition(GRAD_SUFFIX)[0]) or variable
    bare(target.append_op(type="fill_zeros_like", inputs={"X": [like]}, outputs={"Out": [zeros]}))
    done[base] = name
    return name
