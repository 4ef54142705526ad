"""Sequences sorted by length and split into time steps: the ops of DynamicRNN."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.control.tensor_array import accumulate, array_at, as_index
from fluidio.ops.frame import Frame
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.sequence.ragged import from_lengths, ranges, rows_lod
from fluidio.ops.sequence.time_major import TimeMajor
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor import LoDTensor
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray, LoD

__all__ = ["RankTable"]


class RankTable:
    """Sequence numbers and lengths, longest first; the order in which DynamicRNN keeps its memories."""

    def __init__(self, offsets: IntArray, outer: LoD) -> None:
        self.offsets = offsets
        self.outer = outer
        self.batches = TimeMajor(offsets)
        self.order = self.batches.order
        self.lengths = np.diff(offsets)[self.order]

    def alive(self, step: int) -> int:
        """Return how many sequences are longer than `step`."""
        steps = self.batches.steps
        return steps[step][1] - steps[step][0] if 0 <= step < len(steps) else 0

    def items(self) -> list[tuple[int, int]]:
        return list(zip(self.order.tolist(), self.lengths.tolist()))


def _table(k: Call, f: Frame) -> RankTable:
    table = f.values[k.ins["RankTable"][0]]
    if not isinstance(table, RankTable):
        raise EnforceNotMet(f"input RankTable ({k.op.input('RankTable')[0]}) has no value yet")
    return table


def _infer_table(c: InferContext) -> None:
    c.set("Out", type=VarType.LOD_RANK_TABLE)


@op("lod_rank_table", "X", "Out", {"level": 0}, infer=_infer_table, grad=False, raw=True)
def lod_rank_table(k: Call, f: Frame) -> None:
    """Out = the sequences of X at a LoD level, longest first."""
    lod, level = f.lods[k.ins["X"][0]], k.attrs["level"]
    if level >= len(lod):
        raise EnforceNotMet(
            f"input X ({k.op.input('X')[0]}) has {len(lod)} LoD levels and no level {level}: feed a LoDTensor "
            "(fluid.create_lod_tensor)"
        )
    f.set(k.outs["Out"][0], RankTable(lod[level], tuple(lod[:level])))


def _infer_longest(c: InferContext) -> None:
    c.set("Out", (1,), VarType.INT64, 0)


@op("max_sequence_len", "RankTable", "Out", infer=_infer_longest, grad=False, raw=True)
def max_sequence_len(k: Call, f: Frame) -> None:
    """Out = the length of the longest sequence."""
    f.set(k.outs["Out"][0], k.dev.upload(np.array([_table(k, f).batches.time], np.int64)))


# -- to and from arrays --------------------------------------------------------------------------------------------


def _swap_maker(grad_type: str) -> Any:
    def maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
        x = forward.input("X")[0]
        if x in no_grad:
            return []
        inputs = {"X": [grad_name(forward.output("Out")[0])], "RankTable": list(forward.input("RankTable"))}
        return [GradOp(grad_type, inputs, {"Out": [grad_name(x)]})]

    return maker


def _steps(k: Call, table: RankTable, x: Array, lod: LoD) -> list[LoDTensor]:
    """Return one tensor for each time step: entry t of every sequence longer than t, in the table's order."""
    entries = table.batches.rows
    level = len(table.outer)
    deeper = lod[level + 1 :] if len(lod) > level else ()
    if not deeper:
        if x.shape[0] != entries.size:
            raise EnforceNotMet(f"X has {x.shape[0]} rows, but the rank table was made from {entries.size}")
        sorted_rows = x[k.dev.upload(entries)]
        return [LoDTensor.wrap(sorted_rows[start:stop]) for start, stop in table.batches.steps]
    edges = rows_lod(deeper, 0)
    items = []
    for start, stop in table.batches.steps:
        picked = entries[start:stop]
        lengths = np.diff(edges)[picked]
        below, chosen = [], picked
        for offsets in deeper:
            sizes = np.diff(offsets)[chosen]
            below.append(from_lengths(sizes))
            chosen = ranges(offsets[chosen], sizes)
        items.append(LoDTensor.wrap(x[k.dev.upload(ranges(edges[picked], lengths))], tuple(below)))
    return items


def _infer_to_array(c: InferContext) -> None:
    c.set("Out", c.shape("X"), c.dtype("X"), None, type=VarType.LOD_TENSOR_ARRAY)


@op(
    "lod_tensor_to_array",
    "X RankTable",
    "Out",
    infer=_infer_to_array,
    grad=_swap_maker("lod_tensor_to_array_grad"),
    raw=True,
)
def lod_tensor_to_array(k: Call, f: Frame) -> None:
    """Out[t] = step t of every sequence that is longer than t."""
    source = k.ins["X"][0]
    array = array_at(f, k.outs["Out"][0])
    array.items[:] = _steps(k, _table(k, f), f.values[source], f.lods[source])


def _joined(k: Call, table: RankTable, items: list[LoDTensor], name: str) -> tuple[Array, LoD]:
    """Join time steps back into sequences."""
    if len(items) < table.batches.time or any(item.array is None for item in items[: table.batches.time]):
        raise EnforceNotMet(
            f"the array {name} has {len(items)} entries, but the rank table has {table.batches.time} steps"
        )
    items = items[: table.batches.time]
    if not items:
        raise EnforceNotMet(f"the array {name} is empty, because all sequences are empty")
    rows = k.xp.concatenate([item.array for item in items])
    entries = table.batches.rows
    lod = (*table.outer, table.offsets)
    if not items[0].levels:
        out = k.xp.empty_like(rows)
        out[k.dev.upload(entries)] = rows
        return out, lod
    lengths = np.concatenate([np.diff(rows_lod(item.levels, 0)) for item in items])
    at = from_lengths(lengths)[:-1]
    back = np.empty_like(entries)
    back[entries] = np.arange(entries.size)
    inner = np.concatenate([np.diff(item.levels[-1]) for item in items])
    if len(items[0].levels) != 1:
        raise EnforceNotMet("array_to_lod_tensor: the entries must have at most one LoD level")
    return rows[k.dev.upload(ranges(at[back], lengths[back]))], (*lod, from_lengths(inner[back]))


def _infer_from_array(c: InferContext) -> None:
    c.set("Out", c.shape("X"), c.dtype("X"), max(c.input("X").lod_level, 1), type=VarType.LOD_TENSOR)


@op(
    "array_to_lod_tensor",
    "X RankTable",
    "Out",
    infer=_infer_from_array,
    grad=_swap_maker("array_to_lod_tensor_grad"),
    raw=True,
)
def array_to_lod_tensor(k: Call, f: Frame) -> None:
    """Out = the steps in X joined into sequences again, in their original order."""
    array = f.values[k.ins["X"][0]]
    items = [] if array is None else array.items
    f.set(k.outs["Out"][0], *_joined(k, _table(k, f), items, k.op.input("X")[0]))


@op("array_to_lod_tensor_grad", "X RankTable", "Out", infer=None, grad=False, raw=True)
def array_to_lod_tensor_grad(k: Call, f: Frame) -> None:
    """Add the steps of a gradient to the gradient of the array."""
    source = k.ins["X"][0]
    table = _table(k, f)
    lod = f.lods[source] or (*table.outer, table.offsets)
    accumulate(f, k.outs["Out"][0], _steps(k, table, f.values[source], lod))


def _infer_back(c: InferContext) -> None:
    c.set("Out", c.shape("X"), c.dtype("X"), 1, type=VarType.LOD_TENSOR)


@op("lod_tensor_to_array_grad", "X RankTable", "Out", infer=_infer_back, grad=False, raw=True)
def lod_tensor_to_array_grad(k: Call, f: Frame) -> None:
    """Join the gradients of the steps back into sequences; unused steps have none."""
    array = f.values[k.ins["X"][0]]
    table = _table(k, f)
    items = list(array.items)
    known = next((item for item in items if item.array is not None), None)
    if known is None:
        raise EnforceNotMet(f"no step of {k.op.input('X')[0]} has a gradient")
    for step in range(table.batches.time):
        if step >= len(items):
            items.append(LoDTensor())
        if items[step].array is None:
            shape = (table.alive(step), *known.array.shape[1:])
            items[step] = LoDTensor.wrap(k.xp.zeros(shape, known.array.dtype), items[step].levels)
    f.set(k.outs["Out"][0], *_joined(k, table, items, k.op.input("X")[0]))


# -- memories ------------------------------------------------------------------------------------------------------


def _infer_same(c: InferContext) -> None:
    c.same("Out", "X")


def _memory_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {slot: list(forward.input(slot)) for slot in forward.slots_in}
    inputs["Out@GRAD"] = [grad_name(forward.output("Out")[0])]
    return [GradOp(f"{forward.type}_grad", inputs, {"X@GRAD": [grad_name(x)]})]


def _infer_memory_grad(c: InferContext) -> None:
    c.same("X@GRAD", "X")


@op("shrink_rnn_memory", "X RankTable I", "Out", infer=_infer_same, grad=_memory_maker, raw=True)
def shrink_rnn_memory(k: Call, f: Frame) -> None:
    """Out = the rows (or sequences) of X that have not ended before step I."""
    source = k.ins["X"][0]
    count = _table(k, f).alive(as_index(k, f))
    lod = f.lods[source]
    if lod:
        rows = int(rows_lod(lod, 0)[count])
        levels, stop = [], count
        for offsets in lod:
            levels.append(offsets[: stop + 1])
            stop = int(offsets[stop])
        f.set(k.outs["Out"][0], f.values[source][:rows], tuple(levels))
    else:
        f.set(k.outs["Out"][0], f.values[source][:count])


@op("shrink_rnn_memory_grad", "X RankTable I Out@GRAD", "X@GRAD", infer=_infer_memory_grad, grad=False, raw=True)
def shrink_rnn_memory_grad(k: Call, f: Frame) -> None:
    """X@GRAD = Out@GRAD, zeros for the rows that had ended."""
    source = k.ins["X"][0]
    x, dout = f.values[source], f.values[k.ins["Out@GRAD"][0]]
    if dout.shape[0] == x.shape[0]:
        dx = dout
    else:
        dx = k.xp.zeros_like(x)
        dx[: dout.shape[0]] = dout
    f.set(k.outs["X@GRAD"][0], dx, f.lods[source])


def _reordered(f: Frame, source: int, order: IntArray) -> tuple[IntArray, LoD]:
    """Return row numbers and LoD of X with its rows or sequences in another order."""
    lod = f.lods[source]
    entries = lod[0].size - 1 if lod else f.values[source].shape[0]
    if entries != order.size:
        what = "sequences" if lod else "rows"
        raise EnforceNotMet(f"X has {entries} {what}, but the rank table has {order.size}")
    chosen, levels = order, []
    for offsets in lod:
        sizes = np.diff(offsets)[chosen]
        levels.append(from_lengths(sizes))
        chosen = ranges(offsets[chosen], sizes)
    return chosen, tuple(levels)


def _reorder_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Fluid: the gradient op has the slots of the forward op. fluidio adds Like, because gradients may lack LoD."""
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {"X": [grad_name(forward.output("Out")[0])], "RankTable": list(forward.input("RankTable")), "Like": [x]}
    return [GradOp("reorder_lod_tensor_by_rank_grad", inputs, {"Out": [grad_name(x)]})]


@op("reorder_lod_tensor_by_rank", "X RankTable", "Out", infer=_infer_same, grad=_reorder_maker, raw=True)
def reorder_lod_tensor_by_rank(k: Call, f: Frame) -> None:
    """Out = the rows (or sequences) of X in the order of the rank table."""
    source = k.ins["X"][0]
    rows, lod = _reordered(f, source, _table(k, f).order)
    f.set(k.outs["Out"][0], f.values[source][k.dev.upload(rows)], lod)


@op("reorder_lod_tensor_by_rank_grad", "X RankTable Like?", "Out", infer=_infer_same, grad=False, raw=True)
def reorder_lod_tensor_by_rank_grad(k: Call, f: Frame) -> None:
    """Out = the rows (or sequences) of X in their order before the rank table; Like has the sequences of Out."""
    source, order = k.ins["X"][0], _table(k, f).order
    if not k.ins.get("Like"):
        rows, lod = _reordered(f, source, np.argsort(order, kind="stable"))
        f.set(k.outs["Out"][0], f.values[source][k.dev.upload(rows)], lod)
        return
    like = k.ins["Like"][0]
    rows, _ = _reordered(f, like, order)
    out = k.xp.empty_like(f.values[like])
    out[k.dev.upload(rows)] = f.values[source]
    f.set(k.outs["Out"][0], out, f.lods[like])
