"""The page that compares runs: overlaid losses, where they diverge, speeds, waits, environments."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from fluidio.pages import page as pages
from fluidio.pages.runs import advice_of
from fluidio.pages.series import Curve
from fluidio.pages.traces import Parting, compare, load_trace, relative, values_of

__all__ = ["compare_page"]


def compare_page(paths: Sequence[str], *, rtol: float = 1e-4) -> str:
    """Return the HTML page that compares the first trace with the others."""
    traces = [load_trace(path) for path in paths]
    names = _names(paths)
    first = traces[0]
    compared = []
    for name, trace in zip(names[1:], traces[1:]):
        partings = compare(first, trace, rtol=rtol)
        compared.append({"name": name, "partings": [_told(first, trace, each) for each in partings]})
    runs = [_run(name, trace) for name, trace in zip(names, traces)]
    title = " and ".join(names)
    return pages.page("compare", title, {"runs": runs, "compared": compared, "rtol": rtol})


def _names(paths: Sequence[str]) -> list[str]:
    """Return file names, or whole paths if names are the same."""
    names = [os.path.basename(path).removesuffix(".json") for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


def _run(name: str, trace: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("seconds", "steps", "records", "epochs", "measured", "environment", "profile", "memory", "status", "error")
    described = {key: trace[key] for key in kept if key in trace}
    described["curves"] = {each: _curve(*values_of(trace, each)) for each in trace["curves"]}
    if "measured" in trace:
        described["advice"] = advice_of(trace).text
    return described | {"name": name}


def _curve(steps: Sequence[int], values: Sequence[float]) -> dict[str, Any]:
    curve = Curve()
    for step, value in zip(steps, values):
        curve.add(step, value)
    return curve.as_json()


def _told(one: Mapping[str, object], other: Mapping[str, object], parting: Parting) -> dict[str, Any]:
    """Return a comparison with the curve of the differences."""
    steps, values = values_of(one, parting.name)
    _, others = values_of(other, parting.other_name)
    differences = [relative(a, b, 0.0) for a, b in zip(values, others)]
    return dataclasses.asdict(parting) | {"difference": _curve(steps, differences)}
