"""Split rows by a mask and merge them again, for IfElse."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.frame import Frame
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.sequence.ragged import from_lengths, ranges
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray, LoD

__all__: list[str] = []


def _mask(k: Call, f: Frame) -> Array:
    return np.asarray(k.dev.download(f.values[k.ins["Mask"][0]])).reshape(-1).astype(bool)


def _taken(lod: Iterable[IntArray], entries: IntArray) -> tuple[IntArray, LoD]:
    """Return the rows of some entries of the outermost level (without LoD: of some rows), in order, and their LoD."""
    levels, rows = [], entries
    for offsets in lod:
        sizes = np.diff(offsets)[rows]
        levels.append(from_lengths(sizes))
        rows = ranges(offsets[rows], sizes)
    return rows, tuple(levels)


def _picked(k: Call, f: Frame, source: int, chosen: IntArray) -> tuple[Array, LoD]:
    """Return rows (or with LoD sequences of the given level) by number; outer levels are dropped."""
    x, lod = f.values[source], f.lods[source][k.attrs["level"] :]
    entries = lod[0].size - 1 if lod else x.shape[0]
    if chosen.size and chosen[-1] >= entries:
        raise EnforceNotMet(f"the mask has more entries than {f.plan.name_of(source)}, which has {entries}")
    rows, levels = _taken(lod, chosen)
    return x[k.dev.upload(rows)], levels if chosen.size else ()


def _infer_split(c: InferContext) -> None:
    x = c.input("X")
    for slot in ("OutTrue", "OutFalse"):
        c.set(slot, x.shape, x.dtype, 0)


def _split_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {
        "X": [x],
        "Mask": list(forward.input("Mask")),
        "InTrue": [grad_name(forward.output("OutTrue")[0])],
        "InFalse": [grad_name(forward.output("OutFalse")[0])],
    }
    return [GradOp("merge_lod_tensor", inputs, {"Out": [grad_name(x)]}, {"level": forward.attr("level")})]


@op("split_lod_tensor", "X Mask", "OutTrue OutFalse", {"level": 0}, infer=_infer_split, grad=_split_maker, raw=True)
def split_lod_tensor(k: Call, f: Frame) -> None:
    """OutTrue, OutFalse = the rows (or sequences) of X where Mask is set, and the rest."""
    mask, source = _mask(k, f), k.ins["X"][0]
    for slot, wanted in (("OutTrue", mask), ("OutFalse", ~mask)):
        if k.outs.get(slot) and k.outs[slot][0] >= 0:
            f.set(k.outs[slot][0], *_picked(k, f, source, np.flatnonzero(wanted)))


def _infer_merge(c: InferContext) -> None:
    x = c.input("InTrue")
    c.set("Out", x.shape, x.dtype, 0)


def _merge_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    names = [forward.input("InTrue")[0], forward.input("InFalse")[0]]
    if all(name in no_grad for name in names):
        return []
    inputs = {"X": [grad_name(forward.output("Out")[0])], "Mask": list(forward.input("Mask"))}
    outputs = {"OutTrue": [grad_name(names[0])], "OutFalse": [grad_name(names[1])]}
    return [GradOp("split_lod_tensor", inputs, outputs, {"level": forward.attr("level")})]


def _merge(k: Call, f: Frame) -> None:
    mask = _mask(k, f)
    sides = [(k.ins["InTrue"][0], mask), (k.ins["InFalse"][0], ~mask)]
    given = [(f.values[i], f.lods[i], taken) for i, taken in sides if f.values[i] is not None]
    if not given:
        raise EnforceNotMet("neither branch has computed a value to merge")
    # A branch without rows may have any shape and no LoD: the result is then the other branch.
    parts = [(value, lod) for value, lod, taken in given if value.size or taken.any()] or [given[0][:2]]
    above = f.lods[k.ins["X"][0]][: k.attrs["level"]] if k.ins.get("X") else ()
    if len(parts) == 1 and (mask.all() or not mask.any()):
        f.set(k.outs["Out"][0], parts[0][0].copy(), above + parts[0][1])
        return
    if len(parts) == 1:
        raise EnforceNotMet("the mask selects rows of both branches, but only one branch has computed a value")
    (yes, yes_lod), (no, no_lod) = parts
    # Fluid: the rows of both have the shape of the true branch's rows.
    both = k.xp.concatenate([yes, no.reshape(no.shape[:1] + yes.shape[1:])])
    # Entry i comes from its branch, at its position among the branch's entries.
    of_true = yes_lod[0].size - 1 if yes_lod else yes.shape[0]
    entry = np.where(mask, np.cumsum(mask) - 1, of_true + np.cumsum(~mask) - 1)
    if len(yes_lod) != len(no_lod):
        raise EnforceNotMet(
            f"merge_lod_tensor: both branches must have the same number of LoD levels, got {len(yes_lod)} and "
            f"{len(no_lod)}"
        )
    joined = [from_lengths(np.concatenate([np.diff(one), np.diff(other)])) for one, other in zip(yes_lod, no_lod)]
    rows, lod = _taken(joined, entry)
    f.set(k.outs["Out"][0], both[k.dev.upload(rows)], above + lod)


for _name in ("merge_lod_tensor", "merge_lod_tensor_infer"):

    @op(_name, "X? Mask InTrue InFalse", "Out", {"level": 0}, infer=_infer_merge, grad=_merge_maker, raw=True)
    def merge_lod_tensor(k: Call, f: Frame) -> None:
        """Out = the rows (or sequences) of both branches in the order of Mask."""
        _merge(k, f)
