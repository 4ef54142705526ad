"""Add up parts of a gradient in the memory of the first part, where nobody else sees that."""

from __future__ import annotations

import sys

import numpy as np

from fluidio.executor.bind import Step
from fluidio.executor.frame import Frame

__all__ = ["sum_in_place"]

_ONLY_THE_FRAME = 2  # references to a value: one of the frame, one of the call that counts


def sum_in_place(step: Step) -> None:
    """Let a `sum` step add to its first input if that ends here and no view, feed or fetch shares its memory."""
    slots = step.call.ins["X"]
    (out,) = step.call.outs["Out"]
    if len(slots) < 2 or slots[0] not in step.dead or len(set(slots)) < len(slots) or out < 0 or out in slots:
        return
    plain = step.run
    first, others = slots[0], slots[1:]

    def run(f: Frame) -> None:
        values = f.values
        # No name for the value before it is counted: a name is a reference, too.
        if sys.getrefcount(values[first]) != _ONLY_THE_FRAME:
            return plain(f)
        total = values[first]
        if type(total) is not np.ndarray or total.base is not None or not total.flags.writeable:
            return plain(f)
        for slot in others:
            part = values[slot]
            if type(part) is not np.ndarray or part.shape != total.shape or part.dtype != total.dtype:
                return plain(f)
        for slot in others:
            total += values[slot]
        values[out] = total
        f.lods[out] = f.lods[first]
        return None

    step.run = run
