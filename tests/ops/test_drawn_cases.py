"""Layers and ops give what the real 1.8.5 gave on drawn inputs: values, LoDs, gradients, ops, names, shapes.

A group is NAME.npz in tests/data/drawn, recorded from the cases of NAME.py there.
"""

from __future__ import annotations

import functools
import json
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

DRAWN = Path(__file__).parent.parent / "data" / "drawn"
LIBRARY = runpy.run_path(str(DRAWN / "caselib.py"))


@functools.cache
def _group(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with np.load(DRAWN / f"{name}.npz") as stored:
        arrays = dict(stored)
    return arrays, json.loads(arrays.pop("cases").tobytes())


def _cases() -> list[Any]:
    found = []
    for path in sorted(DRAWN.glob("*.npz")):
        for number, case in enumerate(_group(path.stem)[1]):
            found.append(pytest.param(path.stem, number, id=f"{path.stem}-{case['name']}"))
    return found


def _close(found: Any, wanted: Any, what: str) -> None:
    if not wanted.size:  # the arrays of 1.8.5 forget shape and dtype of tensors without elements
        assert not found.size, what
        return
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted, err_msg=what)
        return
    share = 1e-9 if wanted.dtype == np.float64 else 1e-5
    finite = np.abs(wanted[np.isfinite(wanted)])
    np.testing.assert_allclose(found, wanted, rtol=share, atol=share * finite.max(initial=1e-6), err_msg=what)


def _same_ops(found: list[Any], wanted: list[Any], free: list[str]) -> None:
    assert [op[0] for op in found] == [op[0] for op in wanted]
    for (kind, ins, outs, attrs), (_, their_ins, their_outs, their_attrs) in zip(found, wanted):
        assert ins == their_ins, f"{kind}: inputs"
        assert outs == their_outs, f"{kind}: outputs"
        shared = (attrs.keys() & their_attrs.keys()) - set(free)
        assert {k: attrs[k] for k in shared} == {k: their_attrs[k] for k in shared}, f"{kind}: attributes"
        assert attrs.keys() <= their_attrs.keys(), f"{kind}: attributes that Fluid does not have"


@pytest.mark.parametrize(("group", "number"), _cases())
def test_a_drawn_case_gives_what_fluid_1_8_5_gave(group: str, number: int) -> None:
    arrays, cases = _group(group)
    stored = cases[number]
    feeds = {name: (arrays[f"{number}/feed/{name}"], *lengths) for name, lengths in stored["feeds"]}
    scope = {name: arrays[f"{number}/scope/{name}"] for name in stored["scope"]}
    fluid.use_era("1.8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = LIBRARY["run"](fluid, {**stored, "feeds": feeds, "scope": scope})
    _same_ops(found["ops"], stored["ops"], stored.get("free", []))
    assert found["declared"] == stored["declared"]
    assert found["params"] == stored["params"]
    assert [lod for _, lod in found["outs"]] == stored["lods"]
    if stored.get("values", True):
        for index, (array, _) in enumerate(found["outs"]):
            _close(array, arrays[f"{number}/out/{index}"], f"output {index}")
    assert sorted(found["grads"]) == sorted(stored["grads"])
    for name, array in found["grads"].items():
        _close(array, arrays[f"{number}/grad/{name}"], f"gradient of {name}")
