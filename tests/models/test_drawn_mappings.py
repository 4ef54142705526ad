"""Layers written as ONNX give in ONNX Runtime what the real 1.8.5 gave for the drawn cases of tests/data/drawn."""

from __future__ import annotations

import functools
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio
from fluidio.errors import ModelError
from tests.models.onnx_cases import close, offsets, run_onnx

pytest.importorskip("onnx", reason="extra: onnx is not installed")
pytest.importorskip("onnxruntime", reason="extra: onnxruntime is not installed")

DRAWN = Path(__file__).parent.parent / "data" / "drawn"
LIBRARY = runpy.run_path(str(DRAWN / "caselib.py"))
_REFUSALS = (
    "no mapping to ONNX",
    "draws random numbers",
    "a target must be a tensor",
    "is not mapped",
    "nms_eta below 1",
    "ONNX has one threshold",
    "spp: needs image sizes",
)
"""What an export may say instead: the ops that `fluidio apis --onnx` lists, and outputs that are not computed."""


@functools.cache
def _group(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with np.load(DRAWN / f"{name}.npz") as stored:
        arrays = dict(stored)
    return arrays, json.loads(arrays.pop("cases").tobytes())


def _exported(case: dict[str, Any], feeds: dict[str, Any], scope: dict[str, Any]) -> tuple[Any, list[str]]:
    from fluidio.models.onnx import to_onnx

    main, startup = fluidio.Program(), fluidio.Program()
    main.random_seed = startup.random_seed = 7
    with fluidio.scope_guard(fluidio.Scope()), fluidio.program_guard(main, startup), fluidio.unique_name.guard():
        space: dict[str, Any] = {"fluid": fluidio, "L": fluidio.layers, "np": np, "main": main, "startup": startup}
        for name, value in feeds.items():
            space[name] = LIBRARY["_declare"](fluidio, name, value, name in case["batch"])
        exec(case["code"], space)
        outs = space["outs"]
        targets = [out.name for out in (outs if isinstance(outs, (list, tuple)) else [outs])]
        fluidio.Executor(fluidio.CPUPlace()).run(startup)
        for name, array in scope.items():
            fluidio.global_scope().var(name).get_tensor().set(array, fluidio.CPUPlace())
        pruned = main._prune_with_input(list(feeds), targets)._inference_optimize()
        held = {var.name: fluidio.global_scope().find_var(var.name) for var in pruned.list_vars() if var.persistable}
        arrays = {name: np.array(var.get_tensor()) for name, var in held.items() if var is not None and var.value}
        used = [name for name in feeds if pruned.global_block().has_var(name)]
        return to_onnx(pruned, used, targets, arrays.get), targets


def _compared(group: str, number: int) -> str:
    arrays, cases = _group(group)
    case = cases[number]
    feeds = {name: (arrays[f"{number}/feed/{name}"], *lengths) for name, lengths in case["feeds"]}
    scope = {name: arrays[f"{number}/scope/{name}"] for name in case["scope"]}
    try:
        model, targets = _exported(case, feeds, scope)
    except ModelError as error:
        allowed = all(any(reason in line for reason in _REFUSALS) for line in error.problems)
        return "refused" if allowed else str(error)
    given = {name: value[0] for name, value in feeds.items()}
    for name, value in feeds.items():
        given.update({f"{name}.lod{level}": offsets(lengths) for level, lengths in enumerate(value[1:])})
    if not case.get("values", True) or case["name"].startswith("inplace_abn"):
        return "refused"  # no values, or those of training
    found = run_onnx(model, given)
    for index in range(len(targets)):
        problem = close(found[index], arrays[f"{number}/out/{index}"])
        if problem:
            return f"output {index}: {problem}"
    return ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", sorted(path.stem for path in DRAWN.glob("*.npz")))
def test_drawn_cases_give_what_1_8_5_gave(group: str) -> None:
    fluidio.use_era("1.8")
    cases = _group(group)[1]
    found = {f"{number} {case['name']}": _compared(group, number) for number, case in enumerate(cases)}
    assert {name: problem for name, problem in found.items() if problem not in ("", "refused")} == {}
