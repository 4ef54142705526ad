"""`fluidio model run`, `diff`, `export --to onnx` and `fluidio apis --onnx` from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.models import import_weights, open_model
from fluidio.models.stored import in_memory

MODELS = Path(__file__).parent.parent / "data" / "models"


def test_a_model_runs_on_arrays_by_name_and_by_order(tmp_path: Path) -> None:
    with np.load(MODELS / "mlp.npz") as stored:
        keys = sorted(stored.files)
    assert keys
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6)
    np.save(tmp_path / "x.npy", x)
    found = []
    for number, feed in enumerate((f"x={tmp_path / 'x.npy'}", str(tmp_path / "x.npy"))):
        output = tmp_path / f"{number}.npz"
        assert main(["model", "run", str(MODELS / "mlp"), "--feed", feed, "--output", str(output)]) == 0
        with np.load(output) as results:
            found.append(results["save_infer_model/scale_0.tmp_0"])
    assert found[0].shape == (2, 3)
    np.testing.assert_allclose(found[0].sum(axis=1), 1, rtol=1e-6)
    assert np.array_equal(found[0], found[1])


def test_offsets_make_sequences_of_an_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given: dict[str, Any] = {"words": np.array([[1], [2], [3]]), "words.lod0": np.array([0, 1, 3])}
    np.savez(tmp_path / "in.npz", **given)
    assert main(["model", "run", str(MODELS / "text"), "--feed", str(tmp_path / "in.npz"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"][0]["shape"] == [2, 2]


@pytest.mark.parametrize("name", ["mlp", "conv", "recurrent", "loop", "mlp_save", "misc"])
def test_check_runs_a_model_on_random_input(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "run", str(MODELS / name), "--check"]) == 0
    assert "works" in capsys.readouterr().out


def test_an_input_that_is_not_given_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "run", str(MODELS / "mlp")]) == 1
    assert "x: no value was given" in capsys.readouterr().err


def test_an_input_that_the_model_has_not_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "y.npy", np.zeros(3))
    assert main(["model", "run", str(MODELS / "mlp"), "--feed", f"y={tmp_path / 'y.npy'}"]) == 1
    assert "y: no input of that name" in capsys.readouterr().err


def test_a_model_is_like_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "diff", str(MODELS / "mlp"), str(MODELS / "mlp" / "__model__"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "same": True, "program": [], "only_first": [], "only_second": [], "parameters": [], "alike": 4,
    }  # fmt: skip


def test_a_changed_weight_and_a_changed_op_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    bias = open_model(str(MODELS / "mlp")).tensors["fc_0.b_0"].array().copy()
    bias[2] += 0.5
    import_weights({"fc_0.b_0": in_memory("fc_0.b_0", bias)}, str(tmp_path / "m"), partial=True)
    program = (tmp_path / "m" / "__model__").read_bytes()
    (tmp_path / "m" / "__model__").write_bytes(program.replace(b"\x1a\x04relu", b"\x1a\x04tanh"))
    assert main(["model", "diff", str(MODELS / "mlp"), str(tmp_path / "m")]) == 1
    text = capsys.readouterr().out
    assert "relu in the first, tanh in the second" in text
    assert "fc_0.b_0: 1 of 5 values differ, by 0.5 at most" in text
    assert "3 parameters are alike" in text


def test_the_list_of_ops_without_a_form_in_onnx(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis", "--onnx", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"conv2d", "lstm", "while", "multiclass_nms"} <= set(found["mapped"])
    assert found["unmapped"]["uniform_random"] == "draws random numbers"
    assert "adam" not in found["unmapped"]
    assert not set(found["mapped"]) & set(found["unmapped"])


def test_onnx_is_asked_for_by_name_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    assert main(["model", "export", str(MODELS / "mlp"), "--to", "onnx", str(tmp_path / "m.onnx"), "--quiet"]) == 1
    assert "pip install 'fluidio[onnx]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


class TestWithOnnx:
    """What needs the extra."""

    @pytest.fixture(autouse=True)
    def _extra(self) -> None:
        pytest.importorskip("onnx", reason="extra: onnx is not installed")
        pytest.importorskip("onnxruntime", reason="extra: onnxruntime is not installed")

    def test_an_exported_model_is_checked_compared_and_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        output = str(tmp_path / "m.onnx")
        assert main(["model", "export", str(MODELS / "recurrent"), "--to", "onnx", output, "--json", "--quiet"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["inputs"] == ["w", "w.lod0"]
        assert [each["problem"] for each in found["compared"]] == ["", ""]
        assert max(each["far"] for each in found["compared"]) < 1e-5

    def test_a_training_program_is_cut_to_its_targets(self, tmp_path: Path) -> None:
        onnx: Any = pytest.importorskip("onnx", reason="extra: onnx is not installed")
        output = str(tmp_path / "m.onnx")
        targets = ["--targets", "fc_1.tmp_2"]
        assert main(["model", "export", str(MODELS / "mlp_save"), "--to", "onnx", output, "--quiet", *targets]) == 0
        graph = onnx.load(output).graph
        assert [value.name for value in graph.input] == ["x"]
        assert [value.name for value in graph.output] == ["fc_1.tmp_2"]
        assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"

    @pytest.mark.filterwarnings("ignore:nothing to save")
    def test_everything_that_has_no_form_is_named_at_once_and_nothing_is_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        import fluidio as fluid

        main_program, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main_program, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            x = fluid.layers.data("x", [4])
            noise = fluid.layers.uniform_random_batch_size_like(x, [-1, 4])
            drawn = fluid.layers.sampling_id(fluid.layers.softmax(x))
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            folder = str(tmp_path / "m")
            fluid.io.save_inference_model(folder, ["x"], [x + noise, drawn], exe, main_program)
        output = tmp_path / "m.onnx"
        assert main(["model", "export", folder, "--to", "onnx", str(output), "--quiet"]) == 1
        text = capsys.readouterr().err
        assert "uniform_random_batch_size_like: draws random numbers" in text
        assert "sampling_id: draws random numbers" in text
        assert not output.exists()

    def test_a_model_that_differs_is_not_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from fluidio.models.onnx.table import load_table

        monkeypatch.setitem(load_table(), "relu", lambda k, x: k("Sigmoid", x))
        output = tmp_path / "m.onnx"
        assert main(["model", "export", str(MODELS / "mlp"), "--to", "onnx", str(output), "--quiet"]) == 1
        assert "ONNX Runtime and fluidio differ" in capsys.readouterr().err
        assert not output.exists()

    def test_data_beyond_the_limit_of_protobuf_lie_beside_the_model(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        onnxruntime: Any = pytest.importorskip("onnxruntime", reason="extra: onnxruntime is not installed")
        from fluidio.models.onnx import export_onnx, write

        arrays = {"w": np.random.default_rng(0).normal(size=(6, 400)).astype(np.float32)}
        import fluidio as fluid

        main_program, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
        with fluid.program_guard(main_program, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
            x = fluid.layers.data("x", [6])
            y = fluid.layers.fc(x, 400, param_attr="w", bias_attr=False)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            scope.var("w").get_tensor().set(arrays["w"], fluid.CPUPlace())
            fluid.io.save_inference_model(str(tmp_path / "m"), ["x"], [y], exe, main_program)
        monkeypatch.setattr(write, "_LARGEST", 1000)
        export_onnx(open_model(str(tmp_path / "m")), str(tmp_path / "m.onnx"))
        assert (tmp_path / "m.onnx.data").stat().st_size == 6 * 400 * 4
        session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
        given = np.ones((2, 6), np.float32)
        np.testing.assert_allclose(session.run(None, {"x": given})[0], given @ arrays["w"], rtol=1e-5)
