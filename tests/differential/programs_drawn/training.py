"""Draw whole programs: inputs, moves, a loss, an optimizer."""

from __future__ import annotations

import random
from typing import Any

from tests.differential.programs_drawn import (
    control,
    cubes,
    deep,
    flat,
    image,
    nested,
    networks,
    numbers,
    sequence,
    slicing,
    states,
)
from tests.differential.programs_drawn.base import MOVES, ProgramDraw, Value
from tests.differential.programs_drawn.endings import end

__all__ = ["FAMILIES", "draw_program"]

_MODULES = (
    control,
    cubes,
    deep,
    flat,
    image,
    nested,
    networks,
    numbers,
    sequence,
    slicing,
    states,
)  # they fill the moves
FAMILIES = ("flat", "image", "sequence", "cube", "deep", "long", "loop", "again")


def draw_program(family: str, rng: random.Random) -> dict[str, Any]:
    """Return a program that starts with one kind of input (a long one with several) and trains for a few steps."""
    d = ProgramDraw(rng, runs=rng.choice([1, 2, 3]) if family != "long" else 1)
    starts = ["flat", "image", "sequence", "cube", "deep"]
    for kind in rng.sample(starts, d.size(2, 4)) if family == "long" else [family]:
        d.values.append(_start(d, kind))
    if family == "again":
        flat.overwritten(d, d.values[-1])
    if family == "loop":
        (states.carried if d.chance(0.75) else nested.gathered)(d, d.values[-1])
    for _ in range(
        d.size(10, 25) if family == "long" else d.size(0, 2) if family in ("loop", "again") else d.size(1, 6)
    ):
        _step(d)
    for _ in range(60):
        if d.latest("flat") is not None:
            break
        _step(d)
    last = d.latest("flat") or d.feed("flat", (2,))
    facts = end(d, last)
    fetch = [facts.pop("total"), *d.rng.sample([v.handle for v in d.values], min(4, len(d.values)))]
    return {
        **(_reader(d) if not facts else {}),
        **facts,
        "inputs": d.inputs,
        "steps": d.steps,
        "fetch": list(dict.fromkeys(fetch)),
        "runs": d.runs,
        "persistables": True,
        "save": d.chance(0.2),
        "seed": d.size(1, 99),
    }


def _reader(d: ProgramDraw) -> dict[str, Any]:
    """At times let a loader hand in the data."""
    if d.chance(0.75):
        return {}
    options = d.some(use_double_buffer=[True, False])
    return {"reader": {"kind": d.pick("DataLoader", "PyReader"), "iterable": d.chance(), **options}}


def _start(d: ProgramDraw, family: str) -> Value:
    if family in ("loop", "again"):
        return d.feed("flat", (d.size(1, 4),))
    if family == "flat":
        return d.feed("flat", (d.size(1, 5),)) if d.chance(0.8) else d.feed_ids("flat_ids", 9)
    if family == "image":
        return d.feed("image", (d.size(1, 4), d.size(4, 7), d.size(4, 7)))
    if family == "cube":
        return d.feed("cube", (d.size(2, 4), d.size(1, 4)))
    if family == "deep":
        return d.feed_ids("deep_ids", 9) if d.chance(0.6) else d.feed("deep", (d.size(1, 4),))
    return d.feed_ids("seq_ids", 9) if d.chance(0.6) else d.feed("seq", (d.size(1, 4),))


def _step(d: ProgramDraw) -> None:
    value = d.latest(*MOVES)
    assert value is not None
    _, function = d.rng.choice(MOVES[value.kind])
    function(d, value)
