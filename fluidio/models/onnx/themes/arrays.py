"""Arrays of tensors as ONNX sequences, and the rank table with which DynamicRNN splits sequences into steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from fluidio.models.onnx.context import Lod, Op
from fluidio.models.onnx.graph import Graph, Value
from fluidio.models.onnx.sequences import Segments, offsets_from_lengths
from fluidio.models.onnx.table import Refused, maps

__all__: list[str] = []


def _index(k: Op, name: str) -> Value:
    return k.g.scalar(k.g.cast(k.frame.value(name), np.int64))


def _put(k: Op, array: Value, x: Value, index: Value) -> Value:
    """Return the array with X at an index, replacing an entry or appended at the end."""
    g = k.g
    there, end = g.child(), g.child()
    cut = there.node("SequenceErase", array, index, dtypes=[array.dtype], many=[True])
    made = g.node(
        "If",
        g("Less", index, g("SequenceLength", array, rank=0)),
        dtypes=[array.dtype],
        many=[True],
        then_branch=there.body("replace", [], cut),
        else_branch=end.body("append", [], [array]),
    )
    return g.node("SequenceInsert", made[0], x, index, dtypes=[array.dtype], many=[True])[0]


def _empty(k: Op, dtype: DTypeLike) -> Value:
    number = k.g._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return k.g.node("SequenceEmpty", dtypes=[dtype], many=[True], dtype=number)[0]


@maps("write_to_array", raw=True)
def write_to_array(k: Op) -> None:
    source, out = k.op.input("X")[0], k.op.output("Out")[0]
    x, lod = k.frame.value(source), k.frame.lod(source)
    index = _index(k, k.op.input("I")[0])
    held = k.frame.find(out)
    array = held if isinstance(held, Value) else _empty(k, x.dtype)
    levels = k.frame.lod(out) or tuple(_empty(k, np.int64) for _ in lod)
    if len(levels) != len(lod):
        raise Refused(f"entries of {out} have different LoD levels")
    offsets = tuple(_put(k, level, each, index) for level, each in zip(levels, lod, strict=True))
    k.frame.set(out, _put(k, array, k.g.cast(x, array.dtype), index), offsets)


@maps("read_from_array", raw=True)
def read_from_array(k: Op) -> None:
    source, out = k.op.input("X")[0], k.op.output("Out")[0]
    array = k.frame.find(source)
    if not isinstance(array, Value) or not array.many:
        raise Refused(f"{source} is not an array of tensors here")
    index = _index(k, k.op.input("I")[0])
    var = k.op.block._find_var_recursive(out)
    rank = len(var.shape) or None if var is not None else None
    lod = tuple(k("SequenceAt", level, index, rank=1) for level in k.frame.lod(source))
    k.frame.set(out, k("SequenceAt", array, index, rank=rank), lod)


@maps("lod_array_length", raw=True)
def lod_array_length(k: Op) -> None:
    array = k.frame.find(k.op.input("X")[0])
    out = k.op.output("Out")[0]
    if not isinstance(array, Value):
        k.frame.set(out, k.g.constant(np.zeros(1, np.int64)))
        return
    k.frame.set(out, k.g.reshape(k("SequenceLength", array, rank=0), [1]))


@maps("tensor_array_to_tensor", raw=True)
def tensor_array_to_tensor(k: Op) -> None:
    array = k.frame.value(k.op.input("X")[0])
    stacked = int(bool(k.attr("use_stack")))
    out = k("ConcatFromSequence", array, axis=int(k.attr("axis")), new_axis=stacked)
    var = k.op.block._find_var_recursive(k.op.output("Out")[0])
    rank = len(var.shape) or None if var is not None else None
    k.frame.set(k.op.output("Out")[0], Value(out.name, out.dtype, rank))


# -- DynamicRNN ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RankTable:
    """Sequences of a LoD level, longest first."""

    segments: Segments
    outer: Lod
    order: Value
    lengths: Value

    def alive(self, g: Graph, step: Value) -> Value:
        """Return how many sequences are longer than a step, as [1], in the given graph."""
        return g("ReduceSum", g.cast(g("Greater", self.lengths, step), np.int64), keepdims=1)


def _table(k: Op) -> RankTable:
    found = k.frame.find(k.op.input("RankTable")[0])
    if not isinstance(found, RankTable):
        raise Refused("its rank table could not be written")
    return found


@maps("lod_rank_table", raw=True)
def lod_rank_table(k: Op) -> None:
    source = k.op.input("X")[0]
    lod, level = k.frame.lod(source), int(k.attr("level"))
    if level >= len(lod):
        raise Refused(f"{source} has {len(lod)} LoD levels, level {level} is asked for")
    segments = Segments(k.g, lod[level])
    lengths, order = k.g.node(
        "TopK", segments.lengths, segments.count, dtypes=[np.int64, np.int64], ranks=[1, 1], axis=0, largest=1, sorted=1
    )
    k.frame.set(k.op.output("Out")[0], RankTable(segments, tuple(lod[:level]), order, lengths))


@maps("max_sequence_len", raw=True)
def max_sequence_len(k: Op) -> None:
    k.frame.set(k.op.output("Out")[0], _table(k).segments.longest)


def _time_major(k: Op, table: RankTable) -> tuple[Value, Value]:
    """Return the rows of all steps in order, and the number of rows of each step."""
    steps = k.g.arange(table.segments.longest)
    alive = k("Less", k.g.unsqueeze(steps, 1), k.g.unsqueeze(table.lengths, 0))  # [time, sequences]
    cells = k("NonZero", alive)
    step, sequence = (k.g.squeeze(k.g.slice(cells, 0, i, i + 1), 0) for i in (0, 1))
    starts = k("Gather", table.segments.starts, k("Gather", table.order, sequence))
    counts = k("ReduceSum", k.g.cast(alive, np.int64), np.array([1]), keepdims=0)
    return k("Add", starts, step), counts


@maps("lod_tensor_to_array", raw=True)
def lod_tensor_to_array(k: Op) -> None:
    table, source = _table(k), k.op.input("X")[0]
    if len(k.frame.lod(source)) > len(table.outer) + 1:
        raise Refused(f"steps of {source} would be sequences themselves")
    rows, counts = _time_major(k, table)
    x = k.frame.value(source)
    ordered = k("Gather", x, rows, axis=0)
    made = k.g.node("SplitToSequence", ordered, counts, dtypes=[x.dtype], many=[True], axis=0)
    k.frame.set(k.op.output("Out")[0], made[0])


@maps("array_to_lod_tensor", raw=True)
def array_to_lod_tensor(k: Op) -> None:
    table, source = _table(k), k.op.input("X")[0]
    if k.frame.lod(source):
        raise Refused(f"the entries of {source} are sequences themselves")
    array = k.frame.value(source)
    var = k.op.block._find_var_recursive(k.op.output("Out")[0])
    joined = k("ConcatFromSequence", array, axis=0, rank=len(var.shape) or None if var is not None else None)
    rows, _ = _time_major(k, table)
    out = k("ScatterND", joined, k.g.unsqueeze(rows, 1), joined, rank=joined.rank)
    k.frame.set(k.op.output("Out")[0], out, (*table.outer, table.segments.offsets))


@maps("shrink_rnn_memory", raw=True)
def shrink_rnn_memory(k: Op) -> None:
    table, source = _table(k), k.op.input("X")[0]
    if k.frame.lod(source):
        raise Refused(f"{source} has a LoD")
    count = table.alive(k.g, _index(k, k.op.input("I")[0]))
    k.frame.set(k.op.output("Out")[0], k.g.slice(k.frame.value(source), 0, 0, count))


@maps("reorder_lod_tensor_by_rank", raw=True)
def reorder_lod_tensor_by_rank(k: Op) -> None:
    table, source = _table(k), k.op.input("X")[0]
    x, lod = k.frame.value(source), k.frame.lod(source)
    out = k.op.output("Out")[0]
    if not lod:
        k.frame.set(out, k("Gather", x, table.order, axis=0))
        return
    rows, levels = _picked(k, lod, table.order)
    k.frame.set(out, k("Gather", x, rows, axis=0), levels)


def _picked(k: Op, lod: Lod, chosen: Value) -> tuple[Value, Lod]:
    """Return the rows of chosen sequences, and their LoD."""
    levels = []
    for offsets in lod:
        s = Segments(k.g, offsets)
        lengths = k("Gather", s.lengths, chosen)
        chosen, own = s.ranges(k("Gather", s.starts, chosen), lengths)
        levels.append(own.offsets)
    return chosen, tuple(levels)


# -- IfElse -------------------------------------------------------------------------------------------------------


def _refuse_levels(k: Op) -> None:
    level = int(k.attr("level", 0))
    if level:
        k.refuse(f"choosing sequences of level {level} is not mapped")


@maps("split_lod_tensor", raw=True)
def split_lod_tensor(k: Op) -> None:
    _refuse_levels(k)
    source = k.op.input("X")[0]
    x, lod = k.frame.value(source), k.frame.lod(source)
    mask = k.g.flat(k.g.cast(k.frame.value(k.op.input("Mask")[0]), np.bool_))
    for slot, wanted in (("OutTrue", mask), ("OutFalse", k("Not", mask))):
        numbers = k.g.flat(k("NonZero", wanted))
        rows, levels = _picked(k, lod, numbers)
        for name in k.op.output(slot):
            k.frame.set(name, k("Gather", x, rows, axis=0), levels)


@maps("merge_lod_tensor", "merge_lod_tensor_infer", raw=True)
def merge_lod_tensor(k: Op) -> None:
    _refuse_levels(k)
    sides = [k.op.input(slot)[0] for slot in ("InTrue", "InFalse")]
    yes, no = (k.frame.value(name) for name in sides)
    lods = [k.frame.lod(name) for name in sides]
    mask = k.g.cast(k.g.flat(k.frame.value(k.op.input("Mask")[0])), np.int64)
    first = np.asarray(0, np.int64)
    place = k("Sub", k("CumSum", mask, first), 1)
    other = k("Sub", k("CumSum", k("Sub", k.g.constant(np.asarray(1)), mask), first), 1)
    other = k("Add", other, k("ReduceSum", mask, keepdims=1))
    entry = k("Where", k.g.cast(mask, np.bool_), place, other)
    both = k("Concat", yes, k.g.cast(no, yes.dtype), axis=0)
    out = k.op.output("Out")[0]
    if len({len(lod) for lod in lods}) != 1:
        raise Refused("its branches need as many LoD levels each")
    rows, levels = entry, []
    for pair in zip(*lods):
        lengths = k("Concat", *[Segments(k.g, level).lengths for level in pair], axis=0)
        joined = Segments(k.g, offsets_from_lengths(k.g, lengths))
        rows, own = joined.ranges(k("Gather", joined.starts, rows), k("Gather", lengths, rows))
        levels.append(own.offsets)
    k.frame.set(out, k("Gather", both, rows, axis=0), tuple(levels))
