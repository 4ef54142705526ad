"""Fuse batch normalisation with the following sum and ReLU, forward and backward, into one pass over memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.executor.bind import Step, Variant, rebind
from fluidio.executor.passes.uses import Facts, Uses, has
from fluidio.ops.kernel import Call
from fluidio.ops.norm.fused import batch_norm_relu, batch_norm_sum_relu, relu_batch_norm_grad
from fluidio.tensor.array import Array

__all__ = ["fuse_norm_relu", "fuse_relu_norm_grad"]


def fuse_norm_relu(steps: list[Step], facts: Facts) -> list[Step]:
    """Return the steps, with ReLUs of a normalised X, or of its sum with another value, done by the normalisation."""
    if not has(steps, {"batch_norm"}):
        return steps
    uses = Uses(steps, facts)
    gone: set[int] = set()
    changed: dict[int, Step] = {}
    for index, step in enumerate(steps):
        if not uses.is_plain(index, "relu"):
            continue
        before = uses.only_between(step.call.ins["X"][0], index)
        if before is None:
            continue
        norm, kernel, extra = _norm_before(before, steps, uses)
        if norm < 0 or not all(uses.can_wait(early, index, {norm, before}) for early in {norm, before}):
            continue
        renamed = {steps[norm].call.outs["Y"][0]: step.call.outs["Out"][0]}
        changed[index] = rebind(steps[norm], facts.persists, Variant(kernel, renamed, extra))
        gone |= {norm, before}
    return uses.without(gone, changed)


def _norm_before(index: int, steps: list[Step], uses: Uses) -> tuple[int, Callable[..., Any], dict[str, int]]:
    """Return the normalisation that a step is or adds to (-1: none), the fused kernel and its extra input."""
    if uses.type(index) == "batch_norm":
        return index, batch_norm_relu, {}
    if uses.is_plain(index, "elementwise_add") and _are_alike(steps[index]):
        x, y = steps[index].call.ins["X"][0], steps[index].call.ins["Y"][0]
        for mine, other in ((y, x), (x, y)):
            norm = uses.only_between(mine, index)
            if norm is not None and mine != other and uses.type(norm) == "batch_norm":
                return norm, _noting_shapes(steps[index].call.state, mine == y), {"Other": other}
    return -1, batch_norm_relu, {}


def _noting_shapes(state: dict[Any, Any], is_y: bool) -> Callable[..., Any]:
    """Return the fused kernel, which records the shapes for the gradient of the sum as the sum itself does."""

    def kernel(k: Call, x: Array, *others: Any) -> Any:
        added = others[-1]
        state["shapes"] = (added.shape, x.shape) if is_y else (x.shape, added.shape)
        return batch_norm_sum_relu(k, x, *others)

    return kernel


def _are_alike(step: Step) -> bool:
    """Return whether both sides of a sum are declared with the same shape."""
    sides = [step.op.block._find_var_recursive(step.op.input(name)[0]) for name in ("X", "Y")]
    return all(v is not None for v in sides) and len({tuple(v.shape) for v in sides if v is not None}) == 1


def fuse_relu_norm_grad(steps: list[Step], facts: Facts) -> list[Step]:
    """Return the steps, with ReLU gradients folded into the gradient of the preceding normalisation."""
    if not has(steps, {"batch_norm_grad"}):
        return steps
    uses = Uses(steps, facts)
    gone: set[int] = set()
    changed: dict[int, Step] = {}
    for index, step in enumerate(steps):
        if not uses.is_plain(index, "batch_norm_grad"):
            continue
        dy = step.call.ins["Y@GRAD"][0]
        before = uses.only_between(dy, index)
        if before is None or not uses.is_plain(before, "relu_grad") or not uses.can_wait(before, index):
            continue
        relu = steps[before].call.ins
        variant = Variant(relu_batch_norm_grad, {dy: relu["Out@GRAD"][0]}, {"Relu": relu["Out"][0]})
        changed[index] = rebind(step, facts.persists, variant)
        gone.add(before)
    return uses.without(gone, changed)
