"""Models that the real 1.8.5 saved give in ONNX Runtime what 1.8.5 gave, for 1 and for 7 examples.

tests/data/onnx/make.py makes them.
"""

from __future__ import annotations

import io
import itertools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.models import open_model
from tests.models.onnx_cases import close, offsets

FOLDER = Path(__file__).parent.parent / "data" / "onnx"
_DETECTIONS = {"ssd": [0], "yolov3": [0]}
"""Outputs whose rows may come in another order."""

pytest.importorskip("onnx", reason="extra: onnx is not installed")


def _session(path: Path) -> Any:
    onnxruntime: Any = pytest.importorskip("onnxruntime", reason="extra: onnxruntime is not installed")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _stored(name: str, folder: Path) -> dict[str, Any]:
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        for part in set(archive.namelist()) - {"data.npz"}:
            archive.extract(part, folder)
        with np.load(io.BytesIO(archive.read("data.npz"))) as data:
            return dict(data)


def _inputs(data: dict[str, Any], rows: int) -> dict[str, Any]:
    found = {}
    for key, array in data.items():
        count, what, name = key.split("/", 2)
        if int(count) == rows and what == "in":
            found[name] = array
        elif int(count) == rows and what.startswith("in_lod"):
            found[f"{name}.lod{what.removeprefix('in_lod')}"] = offsets(array)
    return found


def _rows_in_order(found: Any, lod: Any) -> Any:
    """Return detections of each image in one order: by label, then by score."""
    parts = [found[a:b] for a, b in itertools.pairwise(lod)]
    return np.concatenate([part[np.lexsort((part[:, 1], part[:, 0]))] for part in parts])


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.zip")))
def test_a_model_of_1_8_5_gives_the_same_in_onnx_runtime(name: str, tmp_path: Path) -> None:
    from fluidio.models.onnx import export_onnx

    data = _stored(name, tmp_path)
    export_onnx(open_model(str(tmp_path)), str(tmp_path / "m.onnx"), verify=False)
    session = _session(tmp_path / "m.onnx")
    names = [value.name for value in session.get_outputs()]
    wanted_inputs = {value.name for value in session.get_inputs()}
    for rows in (1, 7):
        feed = {key: array for key, array in _inputs(data, rows).items() if key in wanted_inputs}
        found = dict(zip(names, session.run(None, feed)))
        lod = offsets([])
        count = sum(key.startswith(f"{rows}/out/") for key in data)
        for index in range(count):
            got, wanted = found[names[index]], data[f"{rows}/out/{index}"]
            levels = [key for key in data if key.startswith(f"{rows}/out_lod") and key.endswith(f"/{index}")]
            for level in range(len(levels)):
                lod = offsets(data[f"{rows}/out_lod{level}/{index}"])
                assert np.array_equal(found[f"{names[index]}.lod{level}"], lod), f"LoD of output {index}"
            if index in _DETECTIONS.get(name, []):
                got, wanted = _rows_in_order(got, lod), _rows_in_order(wanted, lod)
            assert close(got, wanted) == "", f"output {index}, {rows} examples"
