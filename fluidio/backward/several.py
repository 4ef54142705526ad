"""Gradients of any variables with respect to any others: `fluid.gradients`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fluidio.backward.append import append_grad_ops, no_grad_names, ops_towards
from fluidio.backward.arguments import check_gradients
from fluidio.backward.pass_names import put_away_earlier, restored_on_error, take_back_earlier
from fluidio.backward.second_pass import COMPLETE_ATTR, grad_maker, tell_of_dropped
from fluidio.backward.seeds import Seeds
from fluidio.program import Operator, OpRole, Variable

__all__ = ["calc_gradient", "gradients"]


def calc_gradient(
    targets: object,
    inputs: object,
    target_gradients: object = None,
    no_grad_set: Iterable[object] | None = None,
    *,
    complete: bool = False,
) -> Variable | list[Variable | None] | None:
    """Return what `gradients` returns; for a single input, its gradient itself, or None without a path."""
    found = _found(targets, inputs, target_gradients, no_grad_set, complete)
    return found[0] if len(found) == 1 else found


def _found(
    targets: object, inputs: object, target_gradients: object, no_grad_set: Iterable[object] | None, complete: bool
) -> list[Variable | None]:
    """Append the gradients of `targets` with respect to `inputs` and return them; None where there is no path."""
    targets, inputs = _as_list(targets), _as_list(inputs)
    given = _as_list(target_gradients) or [None] * len(targets)
    if len(given) != len(targets):
        raise ValueError(f"gradients: got {len(targets)} targets but {len(given)} target_gradients; give one for each")
    check_gradients(targets, inputs, given, no_grad_set)
    block = targets[0].block
    program = block.program
    no_grad = no_grad_names(program, no_grad_set)
    forward_ops = list(block.ops)
    ops = ops_towards(block, {t.name for t in targets}, forward_ops)
    sources = {v.name for v in inputs}
    ops = _ops_from(ops, sources, no_grad)
    if complete:
        for op in ops:
            op.attrs[COMPLETE_ATTR] = True
    tell_of_dropped(block, ops, {t.name for t in targets}, no_grad)
    ops = _ops_from(ops, sources, no_grad, makers_only=True)
    earlier = put_away_earlier(block)
    no_grad = {earlier.get(name, name) for name in no_grad}
    seeds = Seeds()
    with restored_on_error(block, earlier), program.role_guard(OpRole.Backward):
        # A target that is also an input keeps a separate variable.
        assigned = complete or bool(sources.intersection(t.name for t in targets))
        make = seeds.assign if assigned else seeds.add
        known = {target.name: make(block, target, one) for target, one in zip(targets, given)}
        done = append_grad_ops(block, ops, known, no_grad, block, seeds=None if assigned else seeds)
    seeds.tell_of_lost()
    found = [done.get(v.name, "") for v in inputs]
    renamed = take_back_earlier(block, earlier, {t.name for t in targets})
    if complete:
        for op in block.ops[len(forward_ops) :]:
            op.attrs[COMPLETE_ATTR] = True
    return [block.vars.get(renamed.get(name, name)) for name in found]


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def gradients(
    targets: object,
    inputs: object,
    target_gradients: object = None,
    no_grad_set: Iterable[object] | None = None,
    *,
    complete: bool = False,
) -> list[Variable | None]:
    """Append the gradients of `targets` with respect to `inputs` and return them.

    Args:
        complete: let second-order gradients pass through every op that has a second derivative here. Fluid has none for
            tanh, matmul, batch_norm and others, and drops their contribution.

    Example:
        >>> import fluidio as fluid
        >>> x = fluid.layers.data("x", [2])
        >>> x.stop_gradient = False
        >>> (dx,) = fluid.gradients([fluid.layers.square(x)], [x])
        >>> dx.name
        'x@GRAD'
    """
    for what, given in (("targets", targets), ("inputs", inputs)):
        if not isinstance(given, (Variable, list, tuple)):
            raise TypeError(f"gradients: {what} must be a Variable or a list of Variables, got {given!r}")
    found = _found(targets, inputs, target_gradients, no_grad_set, complete)
    return [] if found == [None] else found


def _ops_from(
    ops: Sequence[Operator], sources: set[str], no_grad: set[str], makers_only: bool = False
) -> list[Operator]:
    """Return the ops, in order, that depend on the sources; `makers_only`: through ops that have a gradient."""
    reached, found = set(sources), []
    for op in ops:
        if reached.intersection(op.input_arg_names) and not (makers_only and grad_maker(op) is None):
            found.append(op)
            reached.update(name for name in op.output_arg_names if name not in no_grad)
    return found
