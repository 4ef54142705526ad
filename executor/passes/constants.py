"""Compute constants once, when a plan is made, instead of in every step."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np

from fluidio.executor.bind import Step
from fluidio.executor.frame import Frame
from fluidio.executor.passes.pointwise import BINARY, UNARY
from fluidio.executor.passes.uses import Facts, Uses, has
from fluidio.program import OpRole

__all__ = ["fold_constants"]

_MAKERS = {"assign_value", "fill_constant"}
_READERS = {
    *UNARY,
    *BINARY,
    *("ceil", "cos", "elementwise_pow", "floor", "log", "matmul", "mul", "pow", "reciprocal", "rsqrt", "sin"),
    *("equal", "greater_equal", "greater_than", "less_equal", "less_than", "not_equal"),
    *("logical_and", "logical_not", "logical_or"),
}
"""Ops whose results have memory of their own, and which leave their inputs alone."""
_MOST = 1 << 12
"""Elements of a constant that is kept between steps."""
_UPDATES = OpRole.Backward | OpRole.Optimize


def fold_constants(steps: list[Step], facts: Facts) -> list[Step]:
    """Return the steps, with those that compute the same in every step replaced by their result.

    A constant is folded only if all its readers are known to leave their inputs alone. Those that only other constants
    use are left out.
    """
    if not has(steps, _MAKERS):
        return steps
    uses = Uses(steps, facts)
    known = SimpleNamespace(values={}, lods={})
    folded: dict[int, int] = {}
    for index, step in enumerate(steps):
        if _is_constant(index, step, uses, facts, known.values) and _computes(step, known):
            folded[index] = step.call.outs["Out"][0]
    changed, gone = {}, set()
    for index, slot in folded.items():
        if all(reader in folded for reader in uses.readers[slot]):
            gone.add(index)
        else:
            changed[index] = _giving(steps[index], slot, known.values[slot])
    return uses.without(gone, changed)


def _is_constant(index: int, step: Step, uses: Uses, facts: Facts, known: dict[int, Any]) -> bool:
    ins = [slot for slots in step.call.ins.values() for slot in slots]
    outs = [slot for slots in step.call.outs.values() for slot in slots]
    if not uses.is_plain(index, *(_READERS if ins else _MAKERS)) or not all(slot in known for slot in ins):
        return False
    if len(outs) != 1 or outs[0] < 0 or outs[0] in facts.kept or facts.persists(outs[0]):
        return False
    everyone = [index, *uses.readers[outs[0]]]
    return (
        uses.writers[outs[0]] == [index]
        and everyone == sorted(everyone)
        and all(uses.is_plain(reader, *_READERS) for reader in everyone[1:])
        and not any(uses.role(one) & _UPDATES for one in everyone)  # gradients may share memory, and are scaled
    )


def _computes(step: Step, known: SimpleNamespace) -> bool:
    """Compute a constant; what fails is left to fail in its turn."""
    frame: Any = known
    (out,) = step.call.outs["Out"]
    try:
        step.run(frame)
    except Exception:
        known.values.pop(out, None)
        return False
    value = known.values[out]
    if type(value) is np.ndarray and value.size <= _MOST and not known.lods.get(out):
        known.values[out] = value = value.copy()
        value.flags.writeable = False
        known.lods[out] = ()
        return True
    del known.values[out]
    return False


def _giving(step: Step, slot: int, value: Any) -> Step:
    def run(f: Frame) -> None:
        f.values[slot] = value

    found = copy.copy(step)
    found.run = run
    found.reads = []
    return found
