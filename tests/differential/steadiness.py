"""Tell apart a difference and what 1.8.5 itself does not repeat.

Some cases read memory that nobody wrote: 1.8.5 gives other numbers when it runs them again. In others rounding decides:
the sign of a gradient that is zero but for rounding, divided by its own size (Adagrad, Adam, Ftrl), is +1 or -1. There
1.8.5 or fluidio moves by a part of most of the differences when the last bits of inputs and parameters
change.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.differential.compare import Difference, compare, distances
from tests.differential.tensors import decode, literal

__all__ = ["judge"]

Case = dict[str, Any]
Run = Callable[[Case], Case]
_SHAKES = 4
_ROUNDINGS = 8  # a difference may be so many times what a change of the last bits moves
_NUMBERS = {"value", "rounding"}


def judge(sides: tuple[Run, Run], case: Case, real: Case, ours: Case, found: list[Difference]) -> str:
    """Return "unsteady" (memory), "sensitive" (rounding decides) or "" for a difference of its own."""
    if compare(real, sides[0](case)):
        return "unsteady"
    if not {one.kind for one in found} <= _NUMBERS:
        return ""
    apart = distances(real, ours)
    off = {one.where: apart.get(one.where, np.inf) for one in found}  # what one side lacks is apart without end
    moved = dict.fromkeys(off, 0.0)
    for number in range(_SHAKES):
        shaken = {**_shaken(case, random.Random(f"{case['id']} {number}")), "shake": number + 1}
        for run, still in zip(sides, (real, ours)):
            for key, far in distances(still, run(shaken)).items():
                moved[key] = max(moved.get(key, 0.0), far)
    followed = [moved[key] * _ROUNDINGS >= far for key, far in off.items()]
    return "sensitive" if sum(followed) * 2 >= len(followed) else ""


def _shaken(case: Case, rng: random.Random) -> Case:
    """Return the case with float inputs moved by up to two units of their last place."""
    changed = copy.deepcopy(case)
    for given in changed["inputs"].values():
        if "float" in given["dtype"] and given["how"] != "array":
            given["values"] = [_moved(written, rng) for written in given["values"]]
    return changed


def _moved(written: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    array = decode(written)
    steps = np.array([rng.choice([-2, -1, 1, 2]) for _ in range(array.size)]).reshape(array.shape)
    return {**written, **literal((array * (1 + steps * np.finfo(array.dtype).eps)).astype(array.dtype))}
