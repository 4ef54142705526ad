"""Refuse arithmetic on values of different dtypes where a feed has brought another dtype than the program declares.

Fluid: a feed was accepted as is, and the kernel that combined it with another dtype raised. NumPy would promote and
continue, at half the speed and with different numbers. A plan is watched from its first such feed on; other plans pay
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from fluidio.errors import EnforceNotMet
from fluidio.executor.bind import Step
from fluidio.executor.written import Run

if TYPE_CHECKING:
    from fluidio.executor.frame import Frame
    from fluidio.executor.plan import Plan

__all__ = ["OddFeeds"]

_XY = ("X", "Y")
_FILTER = ("Input", "Filter", "Bias")
_NORM = ("X", "Scale", "Bias")
_ALIKE = {
    "mul": _XY,
    "matmul": _XY,
    "elementwise_add": _XY,
    "elementwise_sub": _XY,
    "elementwise_mul": _XY,
    "elementwise_div": _XY,
    "elementwise_max": _XY,
    "elementwise_min": _XY,
    "elementwise_pow": _XY,
    "sum": ("X",),
    "concat": ("X",),
    "conv2d": _FILTER,
    "depthwise_conv2d": _FILTER,
    "conv3d": _FILTER,
    "conv2d_transpose": _FILTER,
    "conv3d_transpose": _FILTER,
    "batch_norm": _NORM,
    "layer_norm": _NORM,
}
"""The inputs of an op that Fluid's kernels read as one dtype."""


class OddFeeds:
    """The feeds of a plan's run whose dtype is not the declared one; the plan's ops are watched once there is one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._found: dict[str, tuple[Any, Any]] = {}
        self._watching = False

    def forget(self) -> None:
        """Clear the feeds for the next run."""
        self._found.clear()

    def note(self, name: str, declared: object, found: object) -> None:
        """Note that `name` was fed as `found`."""
        self._found[name] = (declared, found)
        if not self._watching:
            self._watching = True
            for step in _all(self._plan.steps):
                if step.op.type in _ALIKE:
                    step.run = self._watched(step, step.run)

    def _watched(self, step: Step, run: Run) -> Run:
        inputs = [(slot, i) for slot in _ALIKE[step.op.type] for i in step.call.ins.get(slot, ())]

        def watched(f: Frame) -> None:
            dtypes = {i: f.values[i].dtype for _, i in inputs if hasattr(f.values[i], "dtype")}
            if len(set(dtypes.values())) > 1:
                given = ", ".join(f"{slot}({f.plan.name_of(i)}) is {dtypes[i]}" for slot, i in inputs if i in dtypes)
                raise EnforceNotMet(
                    f"the inputs differ in dtype: {given}; this op needs one dtype for all of them.{self._advice()}"
                )
            run(f)

        return watched

    def _advice(self) -> str:
        return "".join(
            f" {name!r} was declared {declared} and fed as {found}: feed it with .astype({str(declared)!r})."
            for name, (declared, found) in self._found.items()
        )


def _all(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield from step.parts or (step,)
        for sub in step.call.blocks.values():
            yield from _all(cast("Sequence[Step]", sub.steps))
