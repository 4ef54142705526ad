"""Moves that hold blocks: loops, branches, recurrent networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential.programs_drawn.attributes import parameter
from tests.differential.programs_drawn.base import ProgramDraw, Value, move, var

__all__ = ["Build", "condition", "inside", "small_change"]

Build = Callable[[ProgramDraw], str]


def inside(d: ProgramDraw, build: Build) -> dict[str, Any]:
    """Return the steps that `build` makes, and the handle of its result, for a block."""
    outer, d.steps = d.steps, []
    result = build(d)
    steps, d.steps = d.steps, outer
    return {"steps": steps, "result": result}


def small_change(x: str, width: int, trains: bool = True) -> Build:
    """Return a function that computes something of the shape of `x`, with parameters if it `trains`."""

    def build(d: ProgramDraw) -> str:
        way = d.size(1 if trains else 2, 4)
        if way == 1:
            return d.call("fc", {"var": x}, width, act=d.pick(None, "tanh"), param_attr=parameter(d))
        if way == 2:
            return d.operate(d.pick("*", "+", "-"), {"var": x}, d.number(0.2, 0.9))
        if way == 3:
            return d.call(d.pick("tanh", "sigmoid", "relu"), {"var": x})
        return d.call("elementwise_mul", {"var": x}, {"var": x})

    return build


def condition(d: ProgramDraw, x: Value | str) -> str:
    mean = d.call("reduce_mean", var(x))
    limit = d.call("fill_constant", [1], "float32", d.number(-0.5, 0.5))
    return d.call(d.pick("less_than", "greater_than"), {"var": mean}, {"var": limit})


@move("flat")
def branches(d: ProgramDraw, x: Value) -> None:
    width, out = x.shape[0], d.fresh()
    way = d.pick("cond", "case", "switch_case")
    made = [inside(d, small_change(x.handle, width)) for _ in range(2 if way == "cond" else 3)]
    step: dict[str, Any] = {"do": way, "branches": made, "out": out}
    if way == "switch_case":
        step["condition"] = d.call("fill_constant", [1], d.pick("int64", "int32"), d.size(0, 3))
    elif way == "case":
        step["conditions"] = [condition(d, x), condition(d, x)]
    else:
        step["condition"] = condition(d, x)
    d.steps.append(step)
    d.add(out, "flat", (width,))


@move("flat")
def loops(d: ProgramDraw, x: Value) -> None:
    width, out = x.shape[0], d.fresh()
    if d.chance():
        part = inside(d, small_change(out, width, trains=False))
        d.steps.append({"do": "while", "state": x.handle, "times": d.size(1, 3), "out": out, **part})
    else:
        state = d.fresh()
        part = inside(d, small_change(state, width, trains=False))
        d.steps.append(
            {"do": "while_loop", "state": x.handle, "inside": state, "times": d.size(1, 3), "out": out, **part}
        )
    d.add(out, "flat", (width,))


@move("flat")
def switches(d: ProgramDraw, x: Value) -> None:
    out = d.fresh()
    conditions = [condition(d, x) for _ in range(d.size(1, 2))]
    values = [d.number(0.1, 2.0) for _ in range(len(conditions) + 1)]
    d.steps.append({"do": "switch", "conditions": conditions, "values": values, "out": out})
    d.add(d.call("elementwise_mul", x, {"var": out}), "flat", x.shape)


@move("flat")
def rows_by_condition(d: ProgramDraw, x: Value) -> None:
    width, out = x.shape[0], d.fresh()
    mean = d.call("reduce_mean", x, dim=1, keep_dim=True)
    limit = d.call("fill_constant_batch_size_like", x, [-1, 1], "float32", d.number(-0.3, 0.3))
    chosen = d.call("less_than", {"var": mean}, {"var": limit})
    parts = []
    for _ in range(2):
        state = d.fresh()
        parts.append({"inside": state, **inside(d, small_change(state, width))})
    d.steps.append({"do": "if_else", "condition": chosen, "of": x.handle, "branches": parts, "out": out})
    d.add(out, "flat", (width,))


def _cell(width: int) -> Build:
    def build(d: ProgramDraw) -> str:
        return d.call("fc", [{"var": "word"}, {"var": "memory"}], width, act=d.pick("tanh", "relu", None))

    return build


@move("seq")
def dynamic_rnn(d: ProgramDraw, x: Value) -> None:
    size, out = d.size(1, 3), d.fresh()
    init = None
    if d.chance(0.4):
        first = d.call("sequence_first_step", x)
        init = d.call("fc", {"var": first}, size)
    step = {"do": "dynamic_rnn", "of": x.handle, "size": size, "value": d.pick(0.0, 0.5), "init": init, "out": out}
    d.steps.append({**step, "reorder": d.chance(), **inside(d, _cell(size))})
    d.add(out, "seq", (size,))


@move("image")
def static_rnn(d: ProgramDraw, x: Value) -> None:
    """Read an image row by row."""
    channels, height, width = x.shape
    rows = d.call("reshape", x, [-1, channels * height, width])
    by_time = d.call("transpose", {"var": rows}, [1, 0, 2])
    size, out = d.size(1, 3), d.fresh()
    step = {"do": "static_rnn", "of": by_time, "size": size, "value": d.pick(0.0, 0.5), "out": out}
    d.steps.append({**step, **inside(d, _cell(size))})
    d.add(d.call("reduce_sum", {"var": out}, dim=0), "flat", (size,))
