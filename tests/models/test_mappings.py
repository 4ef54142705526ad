"""Each mapping to ONNX gives in ONNX Runtime what the real 1.8.5 gave for the stored cases of its op."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio
from fluidio.errors import ModelError
from fluidio.models.onnx.export import to_onnx
from tests.differential.protos import op_step
from tests.differential.stored import FOLDER, read_stored
from tests.differential.tensors import decode
from tests.models.onnx_cases import close, export_case, feeds_of, offsets, pruned_case, run_fluidio, run_onnx

pytest.importorskip("onnx", reason="extra: onnx is not installed")
pytest.importorskip("onnxruntime", reason="extra: onnxruntime is not installed")

_REFUSALS = (
    "ONNX has one threshold",
    "when the model is written",
    "is not mapped",
    "needs a known",
    "is not known",
    "that divide by all levels",
)
"""Reasons for which a case may have no form in ONNX."""


_OPEN = {
    "beam_search/4242/0": "ONNX orders equal entries by their place",
    "conv2d_transpose/9101/2": "ONNX Runtime refuses images without pixels",
    "conv2d_transpose/9101/5": "ONNX Runtime refuses images without pixels",
    "top_k/31/6": "ONNX orders equal entries by their place",
    "top_k/31/16": "ONNX orders equal entries by their place",
    "trilinear_interp/9002/3/float32>uint8,in_X lod [[1, 0, 2], [0, 2, 0]]": "a LoD that does not fit its rows",
}
"""Cases that an exported model does not give."""


def _files() -> list[Path]:
    from fluidio.models.onnx import load_table

    table = load_table()
    found = []
    for path in sorted(FOLDER.glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        if name in table and "random" not in getattr(table[name], "__qualname__", ""):
            found.append(path)
    return found


def _without_intermediates(case: dict[str, Any], error: ModelError) -> dict[str, Any]:
    """Return a case that does not fetch what an exported model does not compute: masks, gates, saved statistics."""
    missing = {line.partition(":")[0] for line in error.problems if "a target must be a tensor" in line}
    return {**case, "fetch": [handle for handle in case["fetch"] if handle not in missing]}


def _exported(case: dict[str, Any]) -> tuple[Any, list[str]]:
    try:
        return export_case(case)
    except ModelError as error:
        less = _without_intermediates(case, error)
        if less["fetch"] == case["fetch"] or not any("GRAD" not in handle for handle in less["fetch"]):
            raise
        return export_case(less)


_TRAINED = ("dropout", "batch_norm", "inplace_abn", "data_norm", "fake_quantize", "moving_average_abs_max_scale")


def _fits(case: dict[str, Any]) -> bool:
    """Return whether a case can be a model for inference: fed with tensors alone, and writing over none of them."""
    step = op_step(case)
    assert step is not None
    written = {name for names in step["out"].values() for name in names}
    plain = all(given["how"] == "var" for given in case["inputs"].values()) and len(case["fetch"]) > 0
    trains = case["about"].startswith(_TRAINED) and not step["attrs"].get("is_test")
    return plain and not trains and not written & set(case["inputs"])


def _wrong(case: dict[str, Any], real: dict[str, Any]) -> str:
    if not _fits(case):
        return ""
    try:
        model, handles = _exported(case)
    except ModelError as error:
        return "" if all(any(reason in line for reason in _REFUSALS) for line in error.problems) else str(error)
    outputs = run_onnx(model, feeds_of({name: given["values"][0] for name, given in case["inputs"].items()}))
    names = [value.name for value in model.graph.output]
    found = dict(zip(names, outputs))
    for name, handle in zip(names, handles):
        wanted = real["values"][f"0 {handle}"]
        problem = close(found[name], decode(wanted))
        lod = {f"{name}.lod{level}": offsets(lengths) for level, lengths in enumerate(wanted.get("lod", []))}
        if {key for key in found if key.startswith(f"{name}.lod")} != set(lod):
            problem = problem or "LoD of other levels"
        elif not all(np.array_equal(found[key], value) for key, value in lod.items()):
            problem = problem or "another LoD"
        if problem:
            return f"{handle}: {problem}"
    return ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", _files(), ids=lambda path: path.name.split(".")[0])
def test_a_mapping_gives_what_1_8_5_gave(path: Path) -> None:
    fluidio.use_era("1.8")
    entries = [entry for entry in read_stored(path) if entry["case"]["id"] not in _OPEN]
    found = {entry["case"]["id"]: _wrong(entry["case"], entry["real"]) for entry in entries}
    assert found
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_random_numbers_are_refused_with_a_reason() -> None:
    fluidio.use_era("1.8")
    entry = read_stored(FOLDER / "uniform_random.json.gz")[0]
    with pytest.raises(ModelError, match="draws random numbers"):
        export_case(entry["case"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", ["flat", "image", "sequence"])
def test_drawn_programs_give_what_fluidio_gives_for_inference(family: str) -> None:
    fluidio.use_era("1.8")
    for entry in read_stored(FOLDER / f"program {family}.json.gz")[::3]:
        case = entry["case"]
        pruned = pruned_case(case)
        feeds = {name: given["values"][0] for name, given in case["inputs"].items()}
        wanted = run_fluidio(pruned, feeds)
        model = to_onnx(pruned.program, pruned.feeds, pruned.targets, pruned.parameters.get)
        found = run_onnx(model, feeds_of(feeds))
        for name, array, other in zip(pruned.targets, found, wanted):
            assert close(array, np.array(other), 1e-4) == "" or np.abs(other).max() < 1e-5, (case["id"], name)
