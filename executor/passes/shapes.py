"""Free the inputs of sums whose gradients need only their shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.executor.bind import Step, Variant, rebind
from fluidio.executor.frame import Frame
from fluidio.executor.passes.uses import Facts, Uses, has
from fluidio.ops.kernel import Call
from fluidio.ops.math.elementwise import difference_gradients, sum_gradients
from fluidio.tensor.array import Array

__all__ = ["keep_shapes"]

Gradients = Callable[[Call, tuple[int, ...], tuple[int, ...], Array], tuple[Array | None, Array | None]]

_GRADIENTS: dict[str, tuple[str, Gradients]] = {
    "elementwise_add_grad": ("elementwise_add", sum_gradients),
    "elementwise_sub_grad": ("elementwise_sub", difference_gradients),
}
"""The gradients, the op each belongs to, and the function of shapes that computes it."""


def keep_shapes(steps: list[Step], facts: Facts) -> list[Step]:
    """Return the steps, with sums that record the shapes of X and Y and gradients that read only these."""
    if not has(steps, _GRADIENTS):
        return steps
    uses = Uses(steps, facts)
    changed: dict[int, Step] = {}
    for index, step in enumerate(steps):
        if not uses.is_plain(index, *_GRADIENTS):
            continue
        forward = _forward_of(index, step, steps, uses)
        if forward is None:
            continue
        noting = changed.get(forward) or rebind(steps[forward], facts.persists, Variant())
        if forward not in changed:
            changed[forward] = _noting(noting)
        kernel = _by_shapes(noting.call.state, _GRADIENTS[step.op.type][1])
        changed[index] = rebind(step, facts.persists, Variant(kernel=kernel, carried=frozenset({"X", "Y"})))
    return uses.without((), changed)


def _forward_of(index: int, step: Step, steps: list[Step], uses: Uses) -> int | None:
    """Return the only sum of the same X and Y, if neither changes afterwards."""
    x, y = step.call.ins.get("X"), step.call.ins.get("Y")
    if not x or not y:
        return None
    kind, _ = _GRADIENTS[step.op.type]
    for found in uses.readers[x[0]]:
        ins = steps[found].call.ins
        if found < index and uses.is_plain(found, kind) and ins.get("X") == x and ins.get("Y") == y:
            later = [w for slot in (x[0], y[0]) for w in uses.writers[slot] if found <= w < index]
            return None if later else found
    return None


def _noting(step: Step) -> Step:
    """Make a sum record the shapes of its inputs."""
    run, state = step.run, step.call.state
    x, y = step.call.ins["X"][0], step.call.ins["Y"][0]

    def noting(f: Frame) -> None:
        values = f.values
        state["shapes"] = values[x].shape, values[y].shape
        run(f)

    step.run = noting
    return step


def _by_shapes(state: dict[Any, Any], gradients: Gradients) -> Callable[..., Any]:
    def by_shapes(k: Call, x: None, y: None, dout: Array) -> Any:
        first, second = state["shapes"]
        return gradients(k, first, second, dout)

    return by_shapes
