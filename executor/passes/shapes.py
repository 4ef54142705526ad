"""Free the inputs of sums whose gradients need only their shapes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from fluidio.executor.bind import Step, Variant, rebind
from fluidio.executor.frame import Frame
from fluidio.executor.passes.uses import Facts, Uses
from fluidio.ops.kernel import Call
from fluidio.tensor.array import Array

__all__ = ["keep_shapes"]

_GRADIENTS = {"elementwise_add_grad": "elementwise_add", "elementwise_sub_grad": "elementwise_sub"}
_ZERO = np.zeros((), np.float32)


def keep_shapes(steps: list[Step], facts: Facts) -> list[Step]:
    """Return the steps, with sums that record the shapes of X and Y and gradients that read only these."""
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
        kernel = _by_shapes(noting.call.state, step.op.definition.kernel)
        changed[index] = rebind(step, facts.persists, Variant(kernel=kernel, carried=frozenset({"X", "Y"})))
    return uses.without((), changed)


def _forward_of(index: int, step: Step, steps: list[Step], uses: Uses) -> int | None:
    """Return the only sum of the same X and Y, if neither changes afterwards."""
    x, y = step.call.ins.get("X"), step.call.ins.get("Y")
    if not x or not y:
        return None
    kind = _GRADIENTS[step.op.type]
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
        state["shapes"] = f.values[x].shape, f.values[y].shape
        run(f)

    step.run = noting
    return step


@functools.lru_cache(1024)
def _of_shape(shape: tuple[int, ...]) -> Array:
    """Return an array of a shape that takes no memory."""
    return np.broadcast_to(_ZERO, shape)


def _by_shapes(state: dict[Any, Any], kernel: Any) -> Any:
    def by_shapes(k: Call, x: Array, y: Array, dout: Array) -> Any:
        first, second = state["shapes"]
        return kernel(k, _of_shape(first), _of_shape(second), dout)

    return by_shapes
