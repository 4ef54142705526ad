"""Compare two saved models: their programs op by op, their parameters value by value."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fluidio.models.describe import inputs_of, outputs_of
from fluidio.models.open_model import Model
from fluidio.models.stored import StoredTensor
from fluidio.program import Program
from fluidio.program.block import Block
from fluidio.program.operator import Operator

__all__ = ["ModelDiff", "ParameterDiff", "diff_models"]

_HIDDEN = ("op_callstack", "op_role", "op_role_var", "op_namescope", "op_device")


@dataclass
class ParameterDiff:
    """How one parameter differs."""

    name: str
    what: str
    far: float | None = None


@dataclass
class ModelDiff:
    """The differences; everything is empty if the models are equal."""

    program: list[str] = field(default_factory=list)
    only_first: list[str] = field(default_factory=list)
    only_second: list[str] = field(default_factory=list)
    parameters: list[ParameterDiff] = field(default_factory=list)
    alike: int = 0

    @property
    def same(self) -> bool:
        return not (self.program or self.only_first or self.only_second or self.parameters)

    def as_dict(self) -> dict[str, Any]:
        return {"same": self.same, **asdict(self)}

    def lines(self) -> list[str]:
        """Return the differences as text."""
        found = [f"program    {line}" for line in self.program]
        found += [f"parameter  {name}: only in the first" for name in self.only_first]
        found += [f"parameter  {name}: only in the second" for name in self.only_second]
        found += [f"parameter  {each.name}: {each.what}" for each in self.parameters]
        return found


def diff_models(first: Model, second: Model, tolerance: float = 0.0) -> ModelDiff:
    """Compare two models.

    Args:
        tolerance: how far values may be apart, relative to the largest; 0 requires the same bits.
    """
    found = ModelDiff()
    if first.program is not None and second.program is not None:
        found.program = _programs(first.program, second.program)
    elif (first.program is None) != (second.program is None):
        found.program = [f"only the {'second' if first.program is None else 'first'} has one"]
    found.only_first = sorted(set(first.tensors) - set(second.tensors))
    found.only_second = sorted(set(second.tensors) - set(first.tensors))
    for name in sorted(set(first.tensors) & set(second.tensors)):
        difference = _tensors(first.tensors[name], second.tensors[name], tolerance)
        if difference is None:
            found.alike += 1
        else:
            found.parameters.append(difference)
    return found


def _tensors(a: StoredTensor, b: StoredTensor, tolerance: float) -> ParameterDiff | None:
    if a.shape != b.shape:
        return ParameterDiff(a.name, f"shape {list(a.shape)} and {list(b.shape)}")
    if a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
        return ParameterDiff(a.name, f"{a.dtype.name} and {b.dtype.name}")
    changed, far, largest = 0, 0.0, 0.0
    for one, other in zip(a.pieces(), b.pieces()):
        if one == other:
            continue
        x, y = (np.frombuffer(piece, a.dtype.newbyteorder("<")) for piece in (one, other))
        different = (x != y) & ~((x != x) & (y != y))
        changed += int(np.count_nonzero(different))
        gaps = np.abs(x[different].astype(np.float64) - y[different].astype(np.float64))
        far = max(far, float(np.nanmax(gaps, initial=0.0)) if not np.isnan(gaps).any() else float("inf"))
        largest = max(largest, float(np.nanmax(np.abs(x.astype(np.float64)), initial=0.0)))
    if not changed or far <= tolerance * largest:
        return None
    return ParameterDiff(a.name, f"{changed} of {a.count} values differ, by {far:.3g} at most", far)


def _programs(first: Program, second: Program) -> list[str]:
    lines = []
    for what, find in (("inputs", inputs_of), ("outputs", outputs_of)):
        a, b = find(first), find(second)
        if a != b:
            lines.append(f"{what}: {', '.join(a)} and {', '.join(b)}")
    if len(first.blocks) != len(second.blocks):
        lines.append(f"{len(first.blocks)} and {len(second.blocks)} blocks")
    for a_block, b_block in zip(first.blocks, second.blocks):
        lines += _blocks(a_block, b_block)
    return lines


def _blocks(first: Block, second: Block) -> list[str]:
    """Match the ops of two blocks by type and compare the pairs."""
    a, b = [op.type for op in first.ops], [op.type for op in second.ops]
    lines = []
    for tag, i, i_end, j, j_end in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            for one, other in zip(first.ops[i:i_end], second.ops[j:j_end]):
                lines += [f"block {first.idx}, op {one.idx} {one.type}: {line}" for line in _ops(one, other)]
        else:
            gone, new = ", ".join(a[i:i_end]) or "nothing", ", ".join(b[j:j_end]) or "nothing"
            lines.append(f"block {first.idx}, op {i}: {gone} in the first, {new} in the second")
    return lines


def _ops(first: Operator, second: Operator) -> list[str]:
    lines = []
    for what, a, b in (("inputs", first.slots_in, second.slots_in), ("outputs", first.slots_out, second.slots_out)):
        slots = sorted(slot for slot in {*a, *b} if (a.get(slot) or []) != (b.get(slot) or []))
        lines += [f"{what} {slot}: {a.get(slot) or []} and {b.get(slot) or []}" for slot in slots]
    ours, theirs = first.all_attrs(), second.all_attrs()
    for name in sorted({*ours, *theirs} - set(_HIDDEN)):
        old, new = ours.get(name), theirs.get(name)
        if not isinstance(old, Block) and not isinstance(new, Block) and old != new:
            lines.append(f"{name} = {old!r} and {new!r}")
    return lines
