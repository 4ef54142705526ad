"""Draw cases: a seed and a number give the same case on every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import tests.differential.ops_drawn  # noqa: F401  (fills the table)
from tests.differential.draw import DRAWS, OpDraw

__all__ = ["draw_cases", "draw_op"]


def draw_op(op: str, seed: int, number: int) -> dict[str, Any]:
    """Return case `number` of an op."""
    function, differentiable = DRAWS[op]
    draw = OpDraw(op, random.Random(f"{seed} {op} {number}"))
    function(draw)
    return {**draw.case(differentiable), "id": f"{op}/{seed}/{number}"}


def draw_cases(seed: int, count: int, only: list[str]) -> Iterator[dict[str, Any]]:
    """Go round the table until `count` cases are drawn."""
    ops = [op for op in sorted(DRAWS) if not only or op in only]
    for number in range(count):
        yield draw_op(ops[number % len(ops)], seed, number // len(ops))
