"""Weights leave as safetensors, npz and PyTorch files and come back bit for bit."""

from __future__ import annotations

import io
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.errors import ModelError
from fluidio.models import import_weights, open_model, read_mapping, read_weights, write_weights
from fluidio.models.stored import in_memory
from tests.fuzz.mutators import mutated

MODELS = Path(__file__).parent.parent / "data" / "models"
SUFFIX = {"safetensors": ".safetensors", "npz": ".npz", "torch": ".pt"}


def _arrays(path: Path) -> dict[str, Any]:
    return {name: tensor.array() for name, tensor in open_model(str(path)).tensors.items()}


def _same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes(), name


def _need(form: str) -> None:
    if form == "torch":
        pytest.importorskip("torch", reason="extra: torch is not installed")


@pytest.mark.parametrize("form", SUFFIX)
@pytest.mark.parametrize("name", ["mlp", "mlp_combined", "mlp_save", "mlp_persistables", "conv"])
def test_parameters_survive_the_round_trip_bit_for_bit(form: str, name: str, tmp_path: Path) -> None:
    _need(form)
    shutil.copytree(MODELS / name, tmp_path / "m")
    wanted = _arrays(MODELS / name)
    output = str(tmp_path / f"w{SUFFIX[form]}")
    assert main(["model", "export", str(MODELS / name), "--to", form, output, "--quiet"]) == 0
    _same({key: tensor.array() for key, tensor in read_weights(output).items()}, wanted)
    zeros = {key: in_memory(key, np.zeros_like(array)) for key, array in wanted.items()}
    import_weights(zeros, str(tmp_path / "m"))
    assert not any(array.any() for array in _arrays(tmp_path / "m").values())
    assert main(["model", "import", output, "--into", str(tmp_path / "m"), "--quiet"]) == 0
    _same(_arrays(tmp_path / "m"), wanted)


@pytest.mark.parametrize("form", ["safetensors", "npz"])
def test_the_usual_libraries_read_what_was_written(form: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"w{SUFFIX[form]}")
    write_weights(open_model(str(MODELS / "conv")), form, path)
    if form == "npz":
        with np.load(path) as stored:
            found = dict(stored)
    else:
        package: Any = pytest.importorskip("safetensors.numpy", reason="extra: safetensors is not installed")
        found = package.load_file(path)
    _same(found, _arrays(MODELS / "conv"))


def test_what_the_safetensors_library_wrote_is_read(tmp_path: Path) -> None:
    package: Any = pytest.importorskip("safetensors.numpy", reason="extra: safetensors is not installed")
    arrays = {"a": np.arange(6, dtype=np.float16).reshape(2, 3), "b/c": np.array([1, -1]), "d": np.array([], "<f4")}
    package.save_file(arrays, tmp_path / "w.safetensors")
    found = {name: tensor.array() for name, tensor in read_weights(str(tmp_path / "w.safetensors")).items()}
    _same(found, arrays)


def test_fc_weights_are_turned_for_torch_and_back(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch", reason="extra: torch is not installed")
    path = str(tmp_path / "w.pt")
    write_weights(open_model(str(MODELS / "mlp")), "torch", path, transpose_fc=True)
    state = torch.load(path)
    wanted = _arrays(MODELS / "mlp")
    assert state["fc_0.w_0"].shape == (5, 6)
    assert np.array_equal(state["fc_0.w_0"].numpy().T, wanted["fc_0.w_0"])
    assert np.array_equal(state["fc_0.b_0"].numpy(), wanted["fc_0.b_0"])
    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    import_weights(read_weights(path), str(tmp_path / "m"), transpose_fc=True)
    _same(_arrays(tmp_path / "m"), wanted)


def test_names_are_mapped_both_ways(tmp_path: Path) -> None:
    names = {"fc_0.w_0": "hidden.weight", "fc_0.b_0": "hidden.bias"}
    (tmp_path / "names.json").write_text(json.dumps(names))
    (tmp_path / "back.txt").write_text("# comment\n" + "".join(f"{new} {old}\n" for old, new in names.items()))
    path = str(tmp_path / "w.npz")
    mapping = str(tmp_path / "names.json")
    assert main(["model", "export", str(MODELS / "mlp"), "--to", "npz", path, "--mapping", mapping, "--quiet"]) == 0
    assert sorted(read_weights(path)) == ["fc_1.b_0", "fc_1.w_0", "hidden.bias", "hidden.weight"]
    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    import_weights(read_weights(path), str(tmp_path / "m"), mapping=read_mapping(str(tmp_path / "back.txt")))
    _same(_arrays(tmp_path / "m"), _arrays(MODELS / "mlp"))


def test_weights_that_do_not_fit_change_nothing_and_are_all_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    arrays = {name: array.T for name, array in _arrays(MODELS / "mlp").items()}
    arrays["fc_1.b_0"] = arrays["fc_1.b_0"].astype(np.float64)
    arrays["other"] = arrays.pop("fc_0.b_0")
    np.savez(tmp_path / "w.npz", **arrays)
    assert main(["model", "import", str(tmp_path / "w.npz"), "--into", str(tmp_path / "m"), "--json", "--quiet"]) == 1
    problems = "\n".join(json.loads(capsys.readouterr().out)["problems"])
    assert "other: the model has no such variable" in problems
    assert "fc_0.b_0: no weight for it" in problems
    assert "fc_0.w_0: the weight has shape (5, 6), the model (6, 5) (transposed?" in problems
    assert "fc_1.b_0: the weight is float64, the model float32" in problems
    _same(_arrays(tmp_path / "m"), _arrays(MODELS / "mlp"))


def test_an_imported_model_runs_with_its_new_weights(tmp_path: Path) -> None:
    from fluidio import inference

    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    wanted = _arrays(MODELS / "mlp")
    halves = {name: in_memory(name, array / 2) for name, array in wanted.items()}
    import_weights(halves, str(tmp_path / "m"))
    x = np.ones((2, 6), np.float32)
    predictor = inference.create_paddle_predictor(inference.AnalysisConfig(str(tmp_path / "m")))
    found = predictor.run([inference.PaddleTensor(x)])[0].as_ndarray()
    half = {name: array / 2 for name, array in wanted.items()}
    hidden = np.maximum(x @ half["fc_0.w_0"] + half["fc_0.b_0"], 0)
    scores = np.exp(hidden @ half["fc_1.w_0"] + half["fc_1.b_0"])
    np.testing.assert_allclose(found, scores / scores.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:6],
        lambda data: b"\xff" * 8 + data[8:],
        lambda data: data.replace(b'"F32"', b'"F99"'),
        lambda data: data.replace(b'"shape":[6,5]', b'"shape":[6,6]'),
        lambda data: data.replace(b'{"__', b'["__', 1),
    ],
)
def test_a_damaged_safetensors_file_is_refused(damage: Any, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_weights(open_model(str(MODELS / "mlp")), "safetensors", str(path))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelError, match="safetensors|cut or damaged|F99"):
        read_weights(str(path))


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("zipped", [True, False])
def test_a_damaged_file_of_torch_is_refused_by_name(zipped: bool, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="extra: torch is not installed")
    file = io.BytesIO()
    torch.save({"a": torch.ones(3, 4), "b": torch.arange(5)}, file, _use_new_zipfile_serialization=zipped)
    path, good = tmp_path / "a.pt", file.getvalue()
    refused = 0
    for seed in range(150):
        chance = random.Random(seed)
        path.write_bytes(mutated(good, [good], chance))
        try:
            for tensor in read_weights(str(path)).values():
                tensor.array()
        except ModelError as error:
            assert "a.pt" in str(error)
            refused += 1
    assert refused > 75


def test_a_failed_export_leaves_no_file_and_keeps_the_old_one(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "mlp", tmp_path / "m")
    output = tmp_path / "w.safetensors"
    output.write_bytes(b"old")
    model = open_model(str(tmp_path / "m"))
    (tmp_path / "m" / "fc_1.w_0").write_bytes(b"")
    with pytest.raises(ModelError, match="shortened"):
        write_weights(model, "safetensors", str(output))
    assert output.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "w.safetensors"]


_BIG = """
import sys
from fluidio.cli import main
assert main(["model", "export", sys.argv[1], "--to", "safetensors", sys.argv[2], "--quiet"]) == 0
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="slow: run with --slow on Linux")
@pytest.mark.slow
def test_a_gigabyte_of_parameters_takes_little_memory(tmp_path: Path) -> None:
    tensors = {f"w_{i}": in_memory(f"w_{i}", np.full((16, 1 << 20), i, np.float32)) for i in range(16)}
    import_weights(tensors, str(tmp_path / "m"))
    done = subprocess.run(
        [sys.executable, "-c", _BIG, str(tmp_path / "m"), str(tmp_path / "w.safetensors")],
        capture_output=True,
        text=True,
        check=True,
    )
    peak = int(done.stdout.split()[-1]) * 1024
    assert (tmp_path / "w.safetensors").stat().st_size > 1 << 30
    assert peak <= 1.5 * (64 << 20) + 200e6
