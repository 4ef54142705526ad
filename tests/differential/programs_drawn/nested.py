"""Moves with blocks inside blocks, and loops that fill arrays."""

from __future__ import annotations

from typing import Any

from tests.differential.programs_drawn.base import ProgramDraw, Value, move
from tests.differential.programs_drawn.control import Build, condition, inside, small_change


def _nested(x: str, width: int, depth: int) -> Build:
    """Return a function that computes something of the shape of `x` with branches and loops inside."""

    def build(d: ProgramDraw) -> str:
        if not depth or d.chance(0.3):
            return small_change(x, width, trains=False)(d)
        out = d.fresh()
        way = d.pick("cond", "while_loop", "case", "two")
        if way == "two":
            first = small_change(x, width, trains=False)(d)
            return _nested(first, width, depth - 1)(d)
        if way == "while_loop":
            state = d.fresh()
            part = inside(d, _nested(state, width, depth - 1))
            d.steps.append({"do": way, "state": x, "inside": state, "times": d.size(1, 3), "out": out, **part})
            return out
        made = [inside(d, _nested(x, width, depth - 1)) for _ in range(2 if way == "cond" else 3)]
        step: dict[str, Any] = {"do": way, "branches": made, "out": out}
        if way == "cond":
            step["condition"] = condition(d, x)
        else:
            step["conditions"] = [condition(d, x), condition(d, x)]
        d.steps.append(step)
        return out

    return build


@move("flat")
def blocks(d: ProgramDraw, x: Value) -> None:
    width, copy = x.shape[0], d.call("assign", x)
    d.steps.append({"do": "stop", "of": copy})  # 1.8.5 passes zeros back through branches that read nothing of it
    d.add(_nested(copy, width, d.size(1, 3))(d), "flat", (width,))


@move("flat")
def gathered(d: ProgramDraw, x: Value) -> None:
    """Write to an array in a loop and join what it holds."""
    width, out, state = x.shape[0], d.fresh(), d.fresh()
    part = inside(d, small_change(state, width, trains=d.chance()))
    times = d.size(1, 3)
    step = {"do": "array_loop", "state": x.handle, "inside": state, "times": times, "out": out, "axis": 1, **part}
    d.steps.append({**step, "shared": d.chance(0.4), "again": d.chance(0.2)})
    size = (times + 1) * width
    d.add(d.call("reshape", {"var": out}, [-1, size]), "flat", (size,))
