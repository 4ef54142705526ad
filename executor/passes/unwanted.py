"""Drop gradients that nothing reads."""

from __future__ import annotations

from fluidio.executor.bind import Step, Variant, rebind
from fluidio.executor.passes.uses import Facts, Uses
from fluidio.program import OpRole
from fluidio.program.op_def import SAVED_ATTR

__all__ = ["leave_out_unwanted"]


def leave_out_unwanted(steps: list[Step], facts: Facts) -> list[Step]:
    """Return the steps without gradients that no later step, update or fetch uses; works from last to first."""
    if not any(map(_is_gradient, steps)):
        return steps
    uses = Uses(steps, facts)
    read = {slot: len(readers) for slot, readers in uses.readers.items()}
    kept: list[Step] = []
    for step in reversed(steps):
        taken = {slot for slot in step.writes if read.get(slot) or slot in facts.kept or facts.persists(slot)}
        unwanted = frozenset(step.writes) - taken
        if not unwanted or not _is_gradient(step):
            kept.append(step)
            continue
        if taken:
            kept.append(rebind(step, facts.persists, Variant(unwanted=unwanted)))
            continue
        for slot in set(step.reads):
            read[slot] -= 1
    return kept[::-1]


_WHOLE = {"gru_grad"}  # its result depends on whether the op has a gradient of H0
_PLAIN = {"assign", "cast", "fill_zeros_like", "scale", "sum"}  # other op types that backward uses in gradients


def _is_gradient(step: Step) -> bool:
    """Return whether a step computes a gradient and does nothing else."""
    op, definition = step.op, step.op.definition
    pure = not definition.raw and not definition.side_effect and not op.attrs.get(SAVED_ATTR)
    backward = bool(op.attrs.get("op_role", 0) & OpRole.Backward)
    return pure and op.type not in _WHOLE and (op.type.endswith("_grad") or (backward and op.type in _PLAIN))
