"""Read traces of runs, and find where the numbers of two runs diverge."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fluidio.errors import ModelError

__all__ = ["Parting", "compare", "load_trace", "relative", "values_of"]

_FORMAT = "fluidio trace 1"
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass
class Parting:
    """How the values of one fetched variable compare.

    Attributes:
        name, other_name: of the variable in the two runs.
        counts: how many values each run has; only those both have are compared.
        step: where they first diverge, in the first run's count; None if they agree.
        values: of both, there.
        largest: relative difference of all, and the step where it is.
    """

    name: str
    other_name: str
    counts: tuple[int, int]
    step: int | None = None
    values: tuple[float, float] | None = None
    largest: float = 0.0
    largest_step: int = 0


def load_trace(path: str) -> dict[str, Any]:
    """Return a trace that `fluidio run --record` wrote, or one made of plain numbers.

    A list of numbers is taken as a loss; {"name": [numbers], ...} for several variables.

    Raises:
        ModelError: the file is neither.
    """
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not JSON: {error}") from error
    if isinstance(found, dict) and found.get("format") == _FORMAT:
        return found
    plain = {"loss": found} if isinstance(found, list) else found
    if not isinstance(plain, dict) or not all(_is_numbers(values) for values in plain.values()):
        raise ModelError(
            f"{path} is not a trace: use what `fluidio run --record` wrote, a list of numbers, or a dict of "
            "names and such lists"
        )
    return {"format": _FORMAT, "curves": {name: {"values": values} for name, values in plain.items()}}


def _is_numbers(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(v, (int, float)) or v in _NUMBERS for v in values)


def values_of(trace: Mapping[str, Any], name: str) -> tuple[list[int], list[float]]:
    """Return the steps and values of a variable."""
    curve = trace["curves"][name]
    values = curve.get("values", curve.get("mean", []))
    steps = curve.get("steps") or curve.get("step") or list(range(len(values)))
    return steps, [_NUMBERS[value] if isinstance(value, str) else float(value) for value in values]


def compare(
    one: Mapping[str, Any], other: Mapping[str, Any], *, rtol: float = 1e-4, atol: float = 1e-7
) -> list[Parting]:
    """Return how the fetched numbers of two runs compare, variable by variable."""
    return [_parting(one, other, *names, rtol, atol) for names in _pairs(list(one["curves"]), list(other["curves"]))]


def _pairs(names: Sequence[str], others: Sequence[str]) -> list[tuple[str, str]]:
    """Pair variables by name, and the rest in order, because another version may name variables differently."""
    both = [(name, name) for name in names if name in others]
    left = [name for name in names if name not in others]
    return both + list(zip(left, [name for name in others if name not in names]))


def _parting(
    one: Mapping[str, object], other: Mapping[str, object], name: str, other_name: str, rtol: float, atol: float
) -> Parting:
    steps, values = values_of(one, name)
    _, others = values_of(other, other_name)
    found = Parting(name, other_name, (len(values), len(others)))
    for step, a, b in zip(steps, values, others):
        difference = relative(a, b, atol)
        if difference > found.largest:
            found.largest, found.largest_step = difference, step
        if difference > rtol and found.step is None:
            found.step, found.values = step, (a, b)
    return found


def relative(a: float, b: float, atol: float = 1e-7) -> float:
    """Return the difference of two numbers relative to the larger; nan equals nan, and differs fully from others."""
    if a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= atol:
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b))
