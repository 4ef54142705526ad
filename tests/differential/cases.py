"""Draw cases: a seed and a number give the same case on every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import tests.differential.ops_drawn  # noqa: F401  (fills the table)
from tests.differential.draw import DRAWS, OpDraw
from tests.differential.mutate import mutate
from tests.differential.programs_drawn import CALLS, FAMILIES, draw_call, draw_program

__all__ = ["draw_case", "draw_cases", "draw_op"]


def draw_op(op: str, seed: int, number: int) -> dict[str, Any]:
    """Return case `number` of an op."""
    function, differentiable = DRAWS[op]
    draw = OpDraw(op, random.Random(f"{seed} {op} {number}"))
    function(draw)
    return {**draw.case(differentiable), "id": f"{op}/{seed}/{number}"}


def draw_case(about: str, seed: int, number: int) -> dict[str, Any]:
    """Return case `number` of an op, of a family of programs or of a layer."""
    if about in DRAWS:
        return draw_op(about, seed, number)
    kind, _, name = about.partition(" ")
    rng = random.Random(f"{seed} {about} {number}")
    case = draw_call(name, rng) if kind == "layer" else draw_program(name, rng)
    return {**case, "about": about, "id": f"{about}/{seed}/{number}"}


def draw_cases(seed: int, count: int, only: list[str], mutated: bool = False) -> Iterator[dict[str, Any]]:
    """Go round the ops and the families of programs (or the ops alone, changed) until `count` cases are drawn."""
    layers = [] if mutated else [f"layer {name}" for name in sorted(CALLS)]
    known = [*sorted(DRAWS), *(f"program {family}" for family in FAMILIES if not mutated), *layers]
    chosen = [about for about in known if not only or about in only]
    for number in range(count):
        case = draw_case(chosen[number % len(chosen)], seed, number // len(chosen))
        yield mutate(case, random.Random(f"{seed} {case['id']}")) if mutated else case
