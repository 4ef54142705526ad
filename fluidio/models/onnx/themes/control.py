"""Loops and branches: While as Loop, branches as If, StaticRNN as Scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.models.onnx.blocks import Frame, is_unwritten, write_block
from fluidio.models.onnx.context import Lod, Op
from fluidio.models.onnx.graph import Graph, Value
from fluidio.models.onnx.table import Refused, maps
from fluidio.program.block import Block

__all__: list[str] = []


@dataclass
class _Carried:
    """A variable that a body changes and that is used after it."""

    name: str
    value: Value
    lod: Lod

    @property
    def all(self) -> list[Value]:
        return [self.value, *self.lod]


def _written(block: Block) -> list[str]:
    """Return the outer names that a block and its inner blocks write, in order."""
    found: dict[str, None] = {}
    for op in block.ops:
        names = list(op.output_arg_names)
        for attr in op.attrs.values():
            if isinstance(attr, Block):
                names += _written(attr)
        found.update({name: None for name in names if name not in block.vars})
    return list(found)


def _declared(k: Op, name: str) -> Any:
    return k.op.block._find_var_recursive(name)


def _start(k: Op, g: Graph, name: str) -> _Carried | None:
    """Return the value of a variable before a body, empty if it has none yet."""
    held = k.frame.find(name)
    if is_unwritten(held):
        raise Refused(f"{name} could not be written")
    if isinstance(held, Value):
        return _Carried(name, held, k.frame.lod(name))
    var = _declared(k, name)
    if held is not None or var is None or var.type not in (VarType.LOD_TENSOR, VarType.LOD_TENSOR_ARRAY):
        return None
    dtype = to_numpy(var.dtype)
    if var.type is VarType.LOD_TENSOR_ARRAY:
        return _Carried(name, _empty_sequence(g, dtype), ())
    dims = [max(dim, 0) for dim in var.shape]
    return _Carried(name, g.constant(np.zeros(dims, dtype)), ())


def _empty_sequence(g: Graph, dtype: Any) -> Value:
    number = g._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    made = g.node("SequenceEmpty", dtypes=[dtype], many=[True], dtype=number)
    return made[0]


def _inside(body: Graph, outer: _Carried, loose: set[str]) -> _Carried:
    """Return the variable as an input of a body; one in `loose` may change its rank."""
    rank = None if outer.name in loose else outer.value.rank
    value = body.given(outer.name, outer.value.dtype, rank, outer.value.many)
    lod = tuple(body.given(f"{outer.name}.lod", np.int64, each.rank, each.many) for each in outer.lod)
    return _Carried(outer.name, value, lod)


def _ended(frame: Frame, name: str) -> _Carried:
    value = frame.find(name)
    if not isinstance(value, Value):
        raise Refused(f"{name} has no value at the end of the block")
    return _Carried(name, value, frame.lod(name))


def _fits(g: Graph, start: _Carried, end: _Carried, loose: set[str]) -> _Carried:
    """Return the initial value in a form that a loop can carry; record variables that must be loosened."""
    if start.value.many != end.value.many:
        raise Refused(f"{start.name} is an array of tensors on one side of the block only")
    if not start.value.many and start.value.rank != end.value.rank:
        loose.add(start.name)
    lod = start.lod
    if len(lod) != len(end.lod):
        if lod:
            raise Refused(f"{start.name} has {len(lod)} LoD levels before the block and {len(end.lod)} behind it")
        if start.value.many:
            lod = tuple(_empty_sequence(g, np.int64) for _ in end.lod)
        else:
            lod = tuple(g.constant(np.zeros(1, np.int64)) for _ in end.lod)
    value = start.value if start.value.dtype == end.value.dtype else _as(g, start.value, end.value.dtype)
    return _Carried(start.name, value, lod)


def _as(g: Graph, value: Value, dtype: object) -> Value:
    return _empty_sequence(g, dtype) if value.many else g.cast(value, dtype)


@maps("while", raw=True)
def while_(k: Op) -> None:
    block: Block = k.attr("sub_block")
    condition = k.op.input("Condition")[0]
    names = _written(block)
    found = [_start(k, k.g, name) for name in names]
    carried = [each for each in found if each is not None]
    if condition not in names:
        raise Refused(f"nothing in the block sets the condition {condition}")
    loose: set[str] = set()
    tries = 0
    while True:
        body = k.g.child()
        frame = k.frame.child(body)
        inner = [_inside(body, each, loose) for each in carried]
        for each in inner:
            frame.set(each.name, each.value, each.lod)
        write_block(block, frame)
        if frame.refusals:
            raise Refused("an op of its block cannot be written")
        ends = [_ended(frame, each.name) for each in carried]
        before = (set(loose), carried)
        carried = [_fits(k.g, start, end, loose) for start, end in zip(carried, ends, strict=True)]
        if before == (loose, carried):
            break
        tries += 1
        if tries > len(carried) + 1:
            raise Refused("what it carries changes its form from turn to turn")
    _loop(k, body, inner, ends, carried, frame.value(condition), condition, loose)


def _loop(
    k: Op,
    body: Graph,
    inner: list[_Carried],
    ends: list[_Carried],
    carried: list[_Carried],
    going_on: Value,
    condition: str,
    loose: set[str],
) -> None:
    turn, going = body.given("turn", np.int64, 0), body.given("going", np.bool_, 0)
    inputs = [turn, going, *[value for each in inner for value in each.all]]
    outputs = [body.scalar(going_on), *[value for each in ends for value in each.all]]
    proto = body.body("loop", inputs, outputs)
    start = [value for each in carried for value in each.all]
    ranks = [
        None if each.name in loose or value.many else value.rank
        for each, end in zip(carried, ends, strict=True)
        for value in end.all
    ]
    made = k.g.node(
        "Loop",
        None,
        k.g.scalar(k.frame.value(condition)),
        *start,
        dtypes=[value.dtype for value in start],
        ranks=ranks,
        many=[value.many for value in start],
        body=proto,
    )
    _bind(k.frame, carried, made)


def _bind(frame: Frame, carried: list[_Carried], made: list[Value]) -> None:
    position = 0
    for each in carried:
        count = len(each.all)
        value, *lod = made[position : position + count]
        frame.set(each.name, value, tuple(lod))
        position += count


@maps("conditional_block", "conditional_block_infer", raw=True)
def conditional_block(k: Op) -> None:
    block: Block = k.attr("sub_block")
    if k.attr("is_scalar_condition"):
        wanted = k.g.scalar(k.frame.value(k.op.input("Cond")[0]))
    else:
        sizes = [k("Greater", k("Size", k.frame.value(name)), 0) for name in k.op.input("Cond")]
        wanted = sizes[0]
        for more in sizes[1:]:
            wanted = k("And", wanted, more)
    body = k.g.child()
    frame = k.frame.child(body)
    write_block(block, frame)
    if frame.refusals:
        raise Refused("an op of its block cannot be written")
    names = [name for name in _written(block) if isinstance(frame.find(name), Value)]
    ends = [_ended(frame, name) for name in names]
    other = k.g.child()
    starts = []
    for end in ends:
        start = _start(k, k.g, end.name)
        if start is None:
            raise Refused(f"{end.name} has no value where the condition does not hold")
        starts.append(_fits(k.g, _shaped(k, start, end), end, set()))
    made = k.g.node(
        "If",
        wanted,
        dtypes=[value.dtype for each in ends for value in each.all],
        ranks=[value.rank for each in ends for value in each.all],
        many=[value.many for each in ends for value in each.all],
        then_branch=body.body("then", [], [value for each in ends for value in each.all]),
        else_branch=other.body("else", [], [value for each in starts for value in each.all]),
    )
    _bind(k.frame, ends, made)


def _shaped(k: Op, start: _Carried, end: _Carried) -> _Carried:
    """Give an empty placeholder the rank of the value that the branch computes."""
    constant, rank = start.value.constant, end.value.rank
    if constant is None or constant.size or rank is None or constant.ndim == rank:
        return start
    return _Carried(start.name, k.g.constant(np.zeros([0] * rank, constant.dtype)), start.lod)


@maps("select_input", raw=True)
def select_input(k: Op) -> None:
    names, out = k.op.input("X"), k.op.output("Out")[0]
    choices = [_ended(k.frame, name) for name in names]
    mask = k.g.scalar(k.g.cast(k.frame.value(k.op.input("Mask")[0]), np.int64))
    chosen = choices[-1]
    for number in range(len(choices) - 2, -1, -1):
        this, that = k.g.child(), k.g.child()
        pick = choices[number]
        made = k.g.node(
            "If",
            k.g("Equal", mask, number),
            dtypes=[value.dtype for value in pick.all],
            ranks=[value.rank for value in pick.all],
            many=[value.many for value in pick.all],
            then_branch=this.body("this", [], pick.all),
            else_branch=that.body("that", [], chosen.all),
        )
        chosen = _Carried(out, made[0], tuple(made[1:]))
    k.frame.set(out, chosen.value, chosen.lod)


@maps("recurrent", raw=True)
def recurrent(k: Op) -> None:
    block: Block = k.attr("sub_block")
    body = k.g.child()
    frame = k.frame.child(body)
    sources = [k.frame.value(name) for name in k.op.input("inputs")]
    starts = [k.frame.value(name) for name in k.op.input("initial_states")]
    states = []
    for name, value in zip(k.attr("ex_states"), starts, strict=True):
        states.append(body.given(name, value.dtype, value.rank))
        frame.set(name, states[-1])
    steps = []
    for name, value in zip(k.op.input("inputs"), sources, strict=True):
        steps.append(body.given(name, value.dtype, None if value.rank is None else value.rank - 1))
        frame.set(name, steps[-1])
    write_block(block, frame)
    if frame.refusals:
        raise Refused("an op of its block cannot be written")
    new = [frame.value(name) for name in k.attr("states")]
    new = [body.cast(value, state.dtype) for value, state in zip(new, states, strict=True)]
    outs = [frame.value(name) for name in k.op.output("outputs")]
    direction = [int(bool(k.attr("reverse")))]
    made = k.g.node(
        "Scan",
        *starts,
        *sources,
        dtypes=[*[value.dtype for value in starts], *[value.dtype for value in outs]],
        ranks=[*[value.rank for value in starts], *[None if v.rank is None else v.rank + 1 for v in outs]],
        body=body.body("steps", [*states, *steps], [*new, *outs]),
        num_scan_inputs=len(sources),
        scan_input_directions=direction * len(sources),
        scan_output_directions=direction * len(outs),
    )
    for name, value in zip(k.op.output("outputs"), made[len(starts) :], strict=True):
        k.frame.set(name, value)
