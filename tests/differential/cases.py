"""Draw cases: a seed and a number give the same case on every machine."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import tests.differential.ops_drawn  # noqa: F401  (fills the table)
from tests.differential.bystanders import add_bystanders
from tests.differential.draw import DRAWS, OpDraw
from tests.differential.misuse import misuse
from tests.differential.mutate import mutate
from tests.differential.programs_drawn import CALLS, FAMILIES, draw_call, draw_program
from tests.differential.report import Report
from tests.differential.schedule import Schedule

__all__ = ["draw_case", "draw_cases", "draw_op"]

Change = Callable[[dict[str, Any], random.Random], dict[str, Any]]


def draw_op(op: str, seed: int, number: int) -> dict[str, Any]:
    """Return case `number` of an op."""
    function, differentiable = DRAWS[op]
    draw = OpDraw(op, random.Random(f"{seed} {op} {number}"))
    function(draw)
    add_bystanders(op, draw.attrs, random.Random(f"{seed} {op} {number} bystanders"))
    return {**draw.case(differentiable), "id": f"{op}/{seed}/{number}"}


def draw_case(about: str, seed: int, number: int) -> dict[str, Any]:
    """Return case `number` of an op, of a family of programs or of a layer."""
    if about in DRAWS:
        return draw_op(about, seed, number)
    kind, _, name = about.partition(" ")
    rng = random.Random(f"{seed} {about} {number}")
    case = draw_call(name, rng) if kind == "layer" else draw_program(name, rng)
    return {**case, "about": about, "id": f"{about}/{seed}/{number}"}


def draw_cases(
    seed: int, count: int, only: list[str], change: Change | None = None, report: Report | None = None
) -> Iterator[dict[str, Any]]:
    """Draw `count` cases of ops, layers and programs, first what the report has rarely.

    With a `change`, of what it changes alone: `mutate` ops, `misuse` calls of layers.
    """
    layers = [] if change is mutate else [f"layer {name}" for name in sorted(CALLS)]
    programs = [] if change else [f"program {family}" for family in FAMILIES]
    single = [] if change is misuse else sorted(DRAWS)
    ops = [about for about in (*single, *layers) if not only or about in only]
    chosen = [about for about in programs if not only or about in only]
    for about, number in itertools.islice(Schedule(ops, chosen, report or Report()), count):
        case = draw_case(about, seed, number)
        yield change(case, random.Random(f"{seed} {case['id']}")) if change else case
