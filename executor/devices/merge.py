"""Merge the small steps at the end of an Adam program, where one op multiplies each beta power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from fluidio.executor.bind import Step
from fluidio.executor.frame import Frame

__all__ = ["merge_scales"]

_MOST = 16  # arrays for each launch


def merge_scales(steps: Sequence[Step], persists: Callable[[int], bool], cupy: object) -> list[Step]:
    """Return the steps with consecutive in-place scalings of persistable [1] tensors merged into one launch."""
    merged: list[Step] = []
    run: list[Step] = []
    for step in steps:
        if _is_scaling(step, persists) and len(run) < _MOST:
            run.append(step)
            continue
        merged += _joined(run, cupy)
        run = [step] if _is_scaling(step, persists) else []
        if not run:
            merged.append(step)
    return merged + _joined(run, cupy)


def _is_scaling(step: Step, persists: Callable[[int], bool]) -> bool:
    if step.op.type != "scale" or step.reads != step.writes or len(step.reads) != 1 or not persists(step.reads[0]):
        return False
    variable = step.op.block._find_var_recursive(step.op.output_arg_names[0])
    return variable is not None and tuple(variable.shape) == (1,) and not step.op.attr("bias")


def _joined(run: list[Step], cupy: Any) -> list[Step]:
    if len(run) < 2:
        return run
    slots = [step.reads[0] for step in run]
    factors = [float(step.op.attr("scale")) for step in run]
    singles = [step.run for step in run]
    kernel = _kernel(cupy, len(run))

    def scale_all(f: Frame) -> None:
        arrays = [f.values[slot] for slot in slots]
        if any(getattr(a, "dtype", None) != "float32" or a.size != 1 for a in arrays) or len(set(slots)) < len(slots):
            for single in singles:
                single(f)
            return
        kernel(*factors, *arrays, size=1)
        for slot in slots:
            f.store(slot)  # another place may have stored its copy in the scope meanwhile

    return [Step(run[0].op, run[0].call, scale_all, slots, slots)]


def _kernel(cupy: ModuleType, count: int) -> Any:
    inputs = ", ".join(f"float32 f{n}" for n in range(count))
    outputs = ", ".join(f"raw float32 a{n}" for n in range(count))
    return cupy.ElementwiseKernel(
        inputs, outputs, "; ".join(f"a{n}[0] *= f{n}" for n in range(count)), f"fluidio_scale_{count}"
    )
