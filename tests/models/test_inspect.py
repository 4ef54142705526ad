"""`fluidio model inspect` knows every form in which the real 1.8.5 saved models, and names what is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.errors import ModelError
from fluidio.models import describe, open_model

MODELS = Path(__file__).parent.parent / "data" / "models"


@pytest.mark.parametrize(
    ("path", "form", "tensors"),
    [
        ("mlp", "program and a file for each variable", 4),
        ("mlp/__model__", "program and a file for each variable", 4),
        ("mlp_combined", "program and a combined file", 4),
        ("mlp_combined/params", "program and a combined file", 4),
        ("recurrent", "program and a combined file", 15),
        ("loop", "program", 0),
        ("mlp_persistables", "variables", 21),
        ("mlp_persistables/fc_0.w_0", "one variable", 1),
        ("mlp_save", ".pdmodel .pdparams .pdopt", 21),
        ("mlp_save/all", ".pdmodel .pdparams .pdopt", 21),
        ("mlp_save/all.pdparams", "a pickle of arrays", 4),
    ],
)
def test_every_form_is_opened(path: str, form: str, tensors: int) -> None:
    model = open_model(str(MODELS / path))
    assert (model.form, len(model.tensors), model.problems) == (form, tensors, [])


def test_the_inputs_outputs_ops_and_the_writer_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "inspect", str(MODELS / "mlp"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["written_by"] == "Fluid 1.8.5"
    assert found["inputs"] == [{"name": "x", "shape": [-1, 6], "dtype": "fp32", "lod_level": 0}]
    assert [var["shape"] for var in found["outputs"]] == [[-1, 3]]
    assert found["ops"] == {"mul": 2, "elementwise_add": 2, "relu": 1, "softmax": 1, "scale": 1}
    assert found["parameter_count"] == 53


def test_the_statistics_are_those_of_the_values(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    values = np.array([np.nan, np.inf, 0.0, 1.0, 3.0], "<f4")
    stored = (tmp_path / "m" / "fc_0.b_0").read_bytes()
    (tmp_path / "m" / "fc_0.b_0").write_bytes(stored[:-20] + values.tobytes())
    about = {each["name"]: each for each in describe(open_model(str(tmp_path / "m")))["parameters"]}["fc_0.b_0"]
    assert about["remarks"] == ["1 NaN", "1 infinite"]
    assert (about["statistics"]["least"], about["statistics"]["most"]) == (0.0, 3.0)
    assert about["statistics"]["mean"] == pytest.approx(4 / 3)
    assert about["statistics"]["deviation"] == pytest.approx(np.std([0, 1, 3]))


def test_all_problems_of_a_model_are_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    (tmp_path / "m" / "fc_0.b_0").unlink()
    cut = (tmp_path / "m" / "fc_0.w_0").read_bytes()[:-3]
    (tmp_path / "m" / "fc_0.w_0").write_bytes(cut)
    (tmp_path / "m" / "fc_1.b_0").write_bytes((tmp_path / "m" / "fc_1.w_0").read_bytes())
    (tmp_path / "m" / "fc_1.w_0").write_bytes(b"\x93NUMPY" + bytes(80))
    assert main(["model", "inspect", str(tmp_path / "m")]) == 1
    text = capsys.readouterr().out
    assert "fc_0.b_0: the program needs it" in text
    assert "needs 120 bytes" in text
    assert "fc_1.b_0 has shape (5, 3), the program says (3,)" in text
    assert "this is a NumPy array" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "the file is empty"), (b"PK\x03\x04" + bytes(40), "ZIP archive"), (b"<html>" + bytes(40), "HTML")],
)
def test_a_foreign_file_is_named(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(content)
    with pytest.raises(ModelError, match=says):
        open_model(str(tmp_path / "weights"))


def test_a_program_with_ops_that_are_not_known_is_still_shown(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    program = (tmp_path / "m" / "__model__").read_bytes()
    (tmp_path / "m" / "__model__").write_bytes(program.replace(b"\x1a\x07softmax", b"\x1a\x07sofTmax"))
    found = describe(open_model(str(tmp_path / "m")))
    assert found["unknown_ops"] == ["sofTmax"]
    assert any("fluidio has no op sofTmax (1 of them)" in problem for problem in found["problems"])
    assert found["ops"]["mul"] == 2


def test_a_path_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["model", "inspect", str(tmp_path / "nothing")]) == 1
    assert "no such file or folder" in capsys.readouterr().err


def test_a_combined_file_alone_has_numbered_tensors(tmp_path: Path) -> None:
    shutil.copy(MODELS / "mlp_combined" / "params", tmp_path / "params")
    model = open_model(str(tmp_path / "params"))
    assert sorted(model.tensors) == ["0", "1", "2", "3"]
    assert "numbered" in model.form
