"""The cases of tests/data/seen give what the real 1.8.5 gave, but for what differences.txt lists with its reason."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.layers import arguments

_SEEN: Any = importlib.import_module("tests.data.seen.seen")
_FOLDER = Path(__file__).parent / "data/seen"
_MODULES = sorted(path.stem for path in _FOLDER.glob("*.json"))
_RECORDED = {module: json.loads((_FOLDER / f"{module}.json").read_text("utf-8")) for module in _MODULES}
# a place in a case's result, as `case[0][1].name` -> why it differs
_LINES = (_FOLDER / "differences.txt").read_text("utf-8").splitlines()
_DIFFERENCES = dict(line.split(" ", 1) for line in _LINES if not line.startswith("#"))


def differences(there: Any, here: Any, place: str) -> list[str]:
    """Return the places where two results differ, with both."""
    if place in _DIFFERENCES:
        return []
    if isinstance(there, dict) and isinstance(here, dict) and there.keys() == here.keys():
        if "values" in there and there["shape"] == here["shape"] and there["dtype"] == here["dtype"]:
            return [] if _close(there["values"], here["values"]) else [f"{place}: {there} | {here}"]
        return [d for key in there for d in differences(there[key], here[key], f"{place}.{key}")]
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        return [d for i, (a, b) in enumerate(zip(there, here)) for d in differences(a, b, f"{place}[{i}]")]
    same = _close([there], [here]) if isinstance(there, float) else there == here
    return [] if same else [f"{place}: {there} | {here}"]


def _close(there: list[Any], here: list[Any]) -> bool:
    try:
        a, b = (np.array(values, np.float64) for values in (there, here))
    except ValueError:
        return there == here
    largest = np.max(np.abs(a[np.isfinite(a)]), initial=0.0)
    return bool(np.allclose(a, b, rtol=0, atol=max(2e-5 * largest, 1e-6), equal_nan=True))


@pytest.mark.parametrize(("module", "case"), [(m, case) for m in _MODULES for case in _RECORDED[m]])
def test_a_case_gives_what_185_gave(module: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPU_NUM", "2")
    monkeypatch.setattr(arguments, "_WARNED", set())  # other tests want the first warning
    with fluid.use_era("1.8"):
        found = json.loads(json.dumps(_SEEN.result(_SEEN.cases(module)[case])))
    assert "\n".join(differences(_RECORDED[module][case], found, case)) == ""


def test_each_listed_difference_belongs_to_a_case() -> None:
    recorded = {case for module in _MODULES for case in _RECORDED[module]}
    assert {place for place in _DIFFERENCES if place.split("[")[0].split(".")[0] not in recorded} == set()
