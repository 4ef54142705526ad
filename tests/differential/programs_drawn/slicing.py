"""Moves with Python's brackets and methods of Variables: steps below zero, Variables, Ellipsis, None."""

from __future__ import annotations

from typing import Any

from tests.differential.programs_drawn.base import BATCH, ProgramDraw, Value, move, var

_ALL: dict[str, Any] = {"slice": [None, None, None]}


def _cut(d: ProgramDraw, size: int) -> tuple[Any, int]:
    """Return an index along a dim, and the size that is left."""
    low = d.size(0, size - 1)
    high = d.size(low + 1, size)
    way = d.size(1, 7)
    if way == 1:
        return {"slice": [None, None, -1]}, size
    if way == 2:
        return {"slice": [0, size, 2]}, (size + 1) // 2
    if way == 3:
        return {"slice": [low, None, None]}, size - low
    if way == 4:
        return {"slice": [None, high - size if high < size else None, None]}, high
    if way == 5:
        return {"slice": [low, high + 5, None]}, size - low
    if way == 6:
        return {"slice": [{"var": d.call("fill_constant", [1], "int32", low)}, high, None]}, 0  # unknown when built
    return {"slice": [low, high, None]}, high - low


@move("flat", "image", "cube")
def brackets(d: ProgramDraw, x: Value) -> None:
    out = d.fresh()
    axis = d.size(1, len(x.shape))
    piece, left = _cut(d, x.shape[axis - 1])
    index: list[Any] = [_ALL] * axis + [piece]
    shape = [*x.shape]
    shape[axis - 1] = left
    d.steps.append({"do": "index", "of": var(x), "index": index, "out": out})
    if left:
        d.add(out, x.kind, shape)


@move("flat", "cube", "image")
def one_of(d: ProgramDraw, x: Value) -> None:
    """Take one place of a dim: a number or a Variable of one."""
    out = d.fresh()
    axis = d.size(0, len(x.shape))
    sizes = (BATCH, *x.shape)
    place: Any = d.size(-sizes[axis], sizes[axis] - 1)
    if d.chance(0.2):
        place = {"var": d.call("fill_constant", [1], d.pick("int32", "int64"), abs(place) % sizes[axis])}
    index = [_ALL] * axis + [place]
    d.steps.append({"do": "index", "of": var(x), "index": index, "out": out})
    rest = [*sizes[:axis], *sizes[axis + 1 :]]
    if axis and len(rest) > 1:
        kinds = {2: "flat", 3: "cube", 4: "image"}
        d.add(out, kinds[len(rest)], rest[1:])


@move("flat", "image", "seq", "cube")
def methods(d: ProgramDraw, x: Value) -> None:
    """Call methods of Variables, and operators with numbers on either side."""
    way = d.size(1, 5)
    out = d.fresh()
    if way == 1:
        d.steps.append(
            {"do": "method", "of": var(x), "name": "astype", "args": [d.pick("float32", "float64")], "out": out}
        )
        d.add(d.call("cast", {"var": out}, "float32"), x.kind, x.shape)
    elif way == 2:
        d.steps.append({"do": "method", "of": var(x), "name": "__neg__", "out": out})
        d.add(out, x.kind, x.shape)
    elif way == 3:
        name = d.pick("__radd__", "__rsub__", "__rmul__")
        d.steps.append({"do": "method", "of": var(x), "name": name, "args": [d.pick(2, 0.5, -3)], "out": out})
        d.add(out, x.kind, x.shape)
    elif way == 4:
        positive = d.operate("+", var(d.call("square", x)), 1.0)
        d.add(d.operate(d.pick("/", "**"), {"var": positive}, d.pick(2, 0.5, 3)), x.kind, x.shape)
    else:
        positive = d.operate("+", var(d.call("square", x)), 1.0)
        d.add(d.operate("/", d.pick(2, 1.5), {"var": positive}), x.kind, x.shape)
