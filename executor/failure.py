"""Report which op failed, with which inputs, and which line of the user's code built it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fluidio.errors import DistributedError, EOFException, OpError, ReaderError
from fluidio.ops.control.callbacks import RAISED
from fluidio.program.call_site import describe

if TYPE_CHECKING:
    from fluidio.executor.bind import Step
    from fluidio.executor.frame import Frame

__all__ = ["explain"]

_MOST = 8  # variables of one slot that a report names


def explain(error: Exception, step: Step | None, f: Frame) -> Exception:
    """Return the error to raise: the original if it says enough or is the user's, else an OpError about the step."""
    if step is None or isinstance(error, (DistributedError, EOFException, OpError, ReaderError)):
        return error
    op = step.op
    lines = [f"op {op.type} failed: {_problem(error, step, f)}"]
    for kind, slots in (("input", step.call.ins), ("output", step.call.outs)):
        for slot, positions in slots.items():
            shown = [position for position in positions if kind == "input" or position >= 0]
            for position in shown[:_MOST]:
                name = f.plan.name_of(position)
                what = _describe(f.values[position], f.lods[position]) if kind == "input" else ""
                lines.append(f"  {kind} {slot} = {name}{what}")
            if shown[_MOST:]:
                lines.append(f"  {kind} {slot}: {len(shown) - _MOST} more")
    lines += _unlike_declared(step, f)
    site = describe(op.site)
    if site:
        lines.append(f"  built at {site}")
    is_users: bool = step.call.state.pop(RAISED, None) is error
    if is_users:
        error.add_note("\n".join(lines[1:]))
        return error
    return OpError("\n".join(lines), op_type=op.type, site=site)


def _unlike_declared(step: Step, f: Frame) -> list[str]:
    """Name the fed inputs whose shape is not the declared one: the usual reason why an op fails."""
    lines = []
    for position in {p: None for positions in step.call.ins.values() for p in positions if p >= 0}:
        name = f.plan.name_of(position)
        variable, found = step.op.block._find_var_recursive(name), getattr(f.values[position], "shape", None)
        if variable is None or not variable.is_data or found is None:
            continue
        declared = list(variable.shape)
        if len(declared) != len(found) or any(-1 != d != n for d, n in zip(declared, found)):
            lines.append(f"  {name!r} was declared with shape {declared} and fed with {list(found)}")
    return lines


def _problem(error: Exception, step: Step, f: Frame) -> str:
    for slot in step.op.definition.inputs:
        for position in step.call.ins.get(slot.name, []):
            if f.values[position] is None and not slot.optional:
                name = f.plan.name_of(position)
                return f"input {slot.name} ({name}) has no value yet. {_advice(f, position, name)}"
    return f"{error}" if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"


def _advice(f: Frame, position: int, name: str) -> str:
    if f.variables[position] is not None:
        return "Run the startup program first: exe.run(fluid.default_startup_program())."
    return f"Feed it: exe.run(feed={{{name!r}: ...}})."


def _describe(value: Any, lod: Any) -> str:
    if value is None:
        return " (not set)"
    if hasattr(value, "dtype"):
        levels = f" lod of {len(lod)} level(s)" if lod else ""
        return f" {list(value.shape)} {value.dtype}{levels}"
    return f" {type(value).__name__}"
