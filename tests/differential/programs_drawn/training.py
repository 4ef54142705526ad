"""Draw whole programs: inputs, moves, a loss, an optimizer."""

from __future__ import annotations

import random
from typing import Any

from tests.differential.programs_drawn import control, flat, image, sequence
from tests.differential.programs_drawn.attributes import clip, optimizer
from tests.differential.programs_drawn.base import MOVES, ProgramDraw, var
from tests.differential.programs_drawn.losses import loss

__all__ = ["FAMILIES", "draw_program"]

_MODULES = (control, flat, image, sequence)  # they fill the table of moves
FAMILIES = ("flat", "image", "sequence")


def draw_program(family: str, rng: random.Random) -> dict[str, Any]:
    """Return a program that starts with rows, images or sequences and trains for a few steps."""
    d = ProgramDraw(rng, runs=rng.choice([1, 2, 3]))
    _start(d, family)
    for _ in range(d.size(1, 5)):
        _step(d)
    while d.latest("flat") is None:
        _step(d)
    last = d.latest("flat")
    assert last is not None
    total = loss(d, last)
    if d.chance(0.15):
        chosen = clip(d)
        if chosen is not None:
            d.call("clip.set_gradient_clip", chosen)
    fetch = [total, *d.rng.sample([v.handle for v in d.values], min(2, len(d.values)))]
    if d.chance(0.9):
        made = {"do": "method", "of": optimizer(d), "name": "minimize", "args": [var(total)], "out": "minimized"}
        d.steps.append(made)
    return {
        **_reader(d),
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


def _start(d: ProgramDraw, family: str) -> None:
    if family == "flat":
        value = d.feed("flat", (d.size(1, 5),))
    elif family == "image":
        value = d.feed("image", (d.size(1, 4), d.size(4, 7), d.size(4, 7)))
    elif d.chance(0.6):
        value = d.feed_ids("seq_ids", 9)
    else:
        value = d.feed("seq", (d.size(1, 4),))
    d.values.append(value)


def _step(d: ProgramDraw) -> None:
    value = d.latest(*MOVES)
    assert value is not None
    _, function = d.rng.choice(MOVES[value.kind])
    function(d, value)
