"""Gradients of gradients: which gradient ops a pass goes through, with a warning about the others."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from fluidio.backward.grad_vars import differentiable
from fluidio.errors import not_supported
from fluidio.program import Block, Operator
from fluidio.program.call_site import describe
from fluidio.program.op_def import GradMaker

__all__ = ["COMPLETE_ATTR", "grad_maker", "tell_of_dropped"]

COMPLETE_ATTR = "fluidio_complete"  # on a gradient op: later passes go through it even if Fluid has no derivative


def grad_maker(op: Operator) -> GradMaker | None:
    """Return the maker of the gradient ops of an op, None if a pass ends there."""
    definition = op.definition
    if definition.grad is None and op.attrs.get(COMPLETE_ATTR):
        return definition.complete_grad
    return definition.grad


def tell_of_dropped(block: Block, ops: Sequence[Operator], targets: set[str], no_grad: set[str]) -> None:
    """Warn once about gradient ops at which part of the gradient is lost.

    Fluid: it drops that part silently.
    """
    dropped: dict[str, Operator] = {}
    wanted = set(targets)
    for op in reversed(ops):
        outputs = [name for name in op.output_arg_names if name in wanted and name not in no_grad]
        if not outputs:
            continue
        if grad_maker(op) is not None:
            wanted.update(op.input_arg_names)
        elif op.type.endswith("_grad") and _reaches(block, op, no_grad):
            dropped.setdefault(op.type, op)
    if not dropped:
        return
    first = next(iter(dropped.values()))
    if first.attrs.get(COMPLETE_ATTR):
        not_supported(
            f"a gradient of {first.output_arg_names[0]} (op {first.type}, built at {describe(first.site)})",
            "the op has no second derivative; set stop_gradient = True on the variable to take it for a constant",
        )
    warnings.warn(
        f"the gradient of a gradient does not go through {', '.join(dropped)}, as in Fluid 1.8.5, so a share of it is "
        "missing; make the first one with fluidio.gradients(..., complete=True) to have it whole",
        stacklevel=4,
    )


def _reaches(block: Block, op: Operator, no_grad: set[str]) -> bool:
    names = [name for name in op.input_arg_names if name not in no_grad]
    return any(differentiable(block._find_var_recursive(name)) for name in names)
