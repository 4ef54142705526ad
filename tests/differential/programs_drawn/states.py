"""Loops whose states the backward pass goes through: overwritten tensors, arrays, values from outside, parameters."""

from __future__ import annotations

from typing import Any

from tests.differential.programs_drawn.attributes import parameter
from tests.differential.programs_drawn.base import ProgramDraw, Value, move, var
from tests.differential.programs_drawn.control import condition, inside

__all__ = ["carried"]


@move("flat")
def carried(d: ProgramDraw, x: Value) -> None:
    """Carry one to three states through a loop, and go on with some of them and with what it wrote to an array."""
    width = x.shape[0]
    states = [_start(d, x) for _ in range(d.size(1, 3))]
    step: dict[str, Any] = {
        "do": "loop",
        "with": d.pick("While", "while_loop"),
        "states": states,
        "inside": [d.fresh() for _ in states],
        "times": d.size(1, 4),
        "copied": d.chance(0.8),
        "early": d.chance(0.3),  # a state has its new value as soon as it is computed
        "out": [d.fresh() for _ in states],
        "array": d.fresh() if d.chance(0.35) else None,
    }
    reads = [*step["inside"], *([x.handle] if d.chance(0.3) else [])]
    step.update(inside_steps(d, reads, step, width))
    d.steps.append(step)
    for out in d.rng.sample(step["out"], d.size(1, len(states))):
        d.add(out, "flat", (width,))
    if step["array"]:
        size = width * step["times"]
        d.add(d.call("reshape", {"var": step["array"]}, [-1, size]), "flat", (size,))


def _start(d: ProgramDraw, x: Value) -> str:
    """Return what a state begins with."""
    way = d.size(1, 4)
    if way == 1:
        return d.call("fc", x, x.shape[0], param_attr=parameter(d))
    if way == 2:
        return d.operate("*", var(x), d.number(0.3, 1.2))
    if way == 3:
        return d.call("fill_constant_batch_size_like", x, [-1, x.shape[0]], "float32", d.number(-0.5, 0.5))
    return d.call("assign", x)


def inside_steps(d: ProgramDraw, reads: list[str], step: dict[str, Any], width: int) -> dict[str, Any]:
    """Return the steps of the body, the results that become the states, and what is written to the array."""
    results: list[str] = []

    def build(d: ProgramDraw) -> str:
        for state in step["inside"]:
            results.append(_value(d, [*reads, *results], width, 2))
            if step["early"] and step["with"] == "While":
                d.steps.append({"do": "assign", "from": results[-1], "to": state})
        return results[0]

    part = inside(d, build)
    return {"steps": part["steps"], "results": results, "written": d.pick(*results, *reads)}


def _value(d: ProgramDraw, reads: list[str], width: int, depth: int) -> str:
    """Return something computed from some of the values."""
    x = d.pick(*reads)
    way = d.size(1, 9)
    if way == 1:
        return d.call("fc", {"var": x}, width, act=d.pick(None, "tanh"), param_attr=parameter(d))
    if way == 2:
        return d.operate(d.pick("*", "+", "-"), {"var": x}, d.number(0.2, 0.9))
    if way == 3:
        return d.call(d.pick("tanh", "sigmoid", "square"), {"var": x})
    if way == 4:
        return d.call("scale", {"var": x}, d.number(0.3, 1.1), bias=d.number(-0.2, 0.2))
    if way == 5 and depth:
        branches = [inside(d, lambda d: _value(d, [x], width, 0)) for _ in range(2)]
        out = d.fresh()
        d.steps.append({"do": "cond", "condition": condition(d, x), "branches": branches, "out": out})
        return out
    if not depth:
        return d.call("tanh", {"var": x})
    other = _value(d, reads, width, depth - 1)
    return d.call(d.pick("elementwise_add", "elementwise_mul", "elementwise_sub"), {"var": x}, {"var": other})
