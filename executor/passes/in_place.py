"""Compute in the memory of an input at its last use, when no other reference to it exists."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.executor.bind import Step
from fluidio.executor.frame import Frame
from fluidio.executor.passes.uses import Facts, Uses, has
from fluidio.ops.compiled import elements
from fluidio.ops.math.elementwise import fit
from fluidio.ops.row_blocks import elementwise
from fluidio.tensor.array import Array

__all__ = ["in_place"]

_LARGE = 1 << 14
"""Elements below which fresh memory costs less than to find out whether the input's is free."""
_ONLY_THE_FRAME = 2  # references to a value: the frame's, and that of the counting call

Fast = Callable[[Step, Any, list[Any]], bool]
"""Turn a step's first input into its output in place; return False if that is impossible."""


def _sum(step: Step, total: Any, parts: list[Any]) -> bool:
    if any(type(p) is not np.ndarray or p.shape != total.shape or p.dtype != total.dtype for p in parts):
        return False
    for part in parts:
        elementwise(np.add, total, part, total)
    return True


def _relu(step: Step, x: Array, none: list[Any]) -> bool:
    if elements.fits(x):
        elements.relu(x, x)
    else:
        np.maximum(x, x.dtype.type(0), out=x)
    return True


def _binary(change: Callable[..., object]) -> Fast:
    def fast(step: Step, x: Array, others: list[Any]) -> bool:
        (y,) = others
        if type(y) is not np.ndarray or y.ndim > x.ndim or y.dtype != x.dtype or x.dtype.kind != "f":
            return False
        step.call.state["shapes"] = x.shape, y.shape  # for gradients that need only shapes
        fitted = fit(step.call, x, y)[1]
        if any(small not in (1, large) for small, large in zip(fitted.shape, x.shape)):
            return False
        elementwise(change, x, fitted, x)
        return True

    return fast


_FAST: dict[str, Fast] = {
    "sum": _sum,
    "relu": _relu,
    "elementwise_add": _binary(np.add),
    "elementwise_sub": _binary(np.subtract),
    "elementwise_mul": _binary(np.multiply),
}


def in_place(steps: list[Step], facts: Facts) -> list[Step]:
    """Return the steps, with sums and ReLUs computed in the memory of their first input if this is its last use."""
    if not has(steps, _FAST):
        return steps
    uses = Uses(steps, facts)
    changed = {
        index: _changed(step)
        for index, step in enumerate(steps)
        if uses.is_plain(index, *_FAST) and _ends(index, step, uses, facts)
    }
    return uses.without((), changed)


def _ends(index: int, step: Step, uses: Uses, facts: Facts) -> bool:
    """Return whether a step is the last to use its first input and an earlier step produced that input."""
    ins = [slot for slots in step.call.ins.values() for slot in slots]
    (out,) = step.call.outs["Out"]
    first, writers, readers = ins[0], uses.writers[ins[0]], uses.readers[ins[0]]
    if first in facts.kept or facts.persists(first) or facts.persists(out) or out < 0 or out in ins:
        return False
    made = bool(writers) and writers[-1] < index and writers[0] < readers[0]
    return made and readers[-1] == index and len(set(ins)) == len(ins) and (len(ins) > 1 or step.op.type == "relu")


def _changed(step: Step) -> Step:
    plain, fast = step.run, _FAST[step.op.type]
    names = ["X", "Y"] if "Y" in step.call.ins else ["X"]
    first, *others = [slot for name in names for slot in step.call.ins[name]]
    (out,) = step.call.outs["Out"]

    def run(f: Frame) -> None:
        values = f.values
        # Do not bind the value to a name before counting: a name is a reference too.
        if (
            type(values[first]) is not np.ndarray
            or values[first].size < _LARGE
            or sys.getrefcount(values[first]) != _ONLY_THE_FRAME
        ):
            return plain(f)
        value = values[first]
        if value.base is not None or not value.flags.writeable:
            return plain(f)
        if not fast(step, value, [values[slot] for slot in others]):
            return plain(f)
        values[out] = value
        f.lods[out] = f.lods[first]
        return None

    found = copy.copy(step)
    found.run = run
    return found
