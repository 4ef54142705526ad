"""Inference models: ours load again, and those of the real 1.8.5 give its numbers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import io
from fluidio.errors import EnforceNotMet
from tests.io.networks import MODELS, batch, trained


@pytest.mark.parametrize("files", [{}, {"model_filename": "m", "params_filename": "p"}])
def test_a_saved_model_gives_the_same_outputs(tmp_path: Path, files: dict[str, Any]) -> None:
    exe, prediction, _ = trained()
    test = fluid.io.get_inference_program(prediction)
    (wanted,) = exe.run(test, feed={"x": batch()["x"]}, fetch_list=[prediction.name])
    names = io.save_inference_model(str(tmp_path), ["x"], [prediction], exe, **files)
    assert names == ["save_infer_model/scale_0.tmp_0"]
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, targets = io.load_inference_model(str(tmp_path), exe, **files)
        (out,) = exe.run(program, feed={"x": batch()["x"]}, fetch_list=targets)
    assert feeds == ["x"]
    np.testing.assert_array_equal(out, wanted)
    types = [op.type for op in program.global_block().ops]
    assert types == ["feed", "mul", "elementwise_add", "relu", "mul", "elementwise_add", "softmax", "scale", "fetch"]


def test_only_what_the_targets_need_is_saved(tmp_path: Path) -> None:
    exe, prediction, _ = trained()
    io.save_inference_model(str(tmp_path), "x", prediction, exe)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["__model__", "fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0"]


def test_the_old_era_fetches_the_targets_under_their_own_names(tmp_path: Path) -> None:
    exe, prediction, _ = trained()
    with fluid.use_era("0.14"):
        assert io.save_inference_model(str(tmp_path), ["x"], [prediction], exe) is None
    _, _, targets = io.load_inference_model(str(tmp_path), exe)
    assert [t.name for t in targets] == [prediction.name]


def test_program_only_writes_no_variables(tmp_path: Path) -> None:
    exe, prediction, _ = trained()
    io.save_inference_model(str(tmp_path), ["x"], [prediction], exe, program_only=True)
    assert [p.name for p in tmp_path.iterdir()] == ["__model__"]


def test_a_model_to_train_further_keeps_its_backward_ops(tmp_path: Path) -> None:
    exe, prediction, _ = trained()
    io.save_inference_model(str(tmp_path), ["x"], [prediction], exe, export_for_deployment=False)
    program = fluid.Program.parse_from_string((tmp_path / "__model__.main_program").read_bytes())
    assert "adam" in [op.type for op in program.global_block().ops]


@pytest.mark.parametrize(
    ("feeds", "targets", "problem"), [([1], None, "feeded_var_names"), (["x"], ["softmax"], "target_vars")]
)
def test_wrong_arguments_are_named(tmp_path: Path, feeds: Any, targets: Any, problem: str) -> None:
    exe, prediction, _ = trained()
    with pytest.raises(ValueError, match=problem):
        io.save_inference_model(str(tmp_path), feeds, targets or [prediction], exe)


def test_a_folder_that_is_not_there_is_a_value_error(tmp_path: Path) -> None:
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.raises(ValueError, match="no folder"):
        io.load_inference_model(str(tmp_path / "nothing"), exe)
    with pytest.raises(FileNotFoundError, match="__model__: there is no such model file"):
        io.load_inference_model(str(tmp_path), exe)


def test_a_damaged_model_says_where(tmp_path: Path) -> None:
    (tmp_path / "__model__").write_bytes(b"\x0a\xff\x01 not a program")
    with pytest.raises(EnforceNotMet, match="__model__.*at byte"):
        io.load_inference_model(str(tmp_path), fluid.Executor(fluid.CPUPlace()))


@pytest.mark.parametrize("case", ["mlp", "mlp_combined", "conv", "text", "recurrent", "loop", "misc"])
def test_models_of_the_real_1_8_5_give_its_outputs(case: str) -> None:
    files: dict[str, Any] = {"model_filename": "model", "params_filename": "params"}
    if case in ("mlp", "loop"):
        files = {}
    elif case in ("recurrent", "misc"):
        files = {"params_filename": "p"}
    exe = fluid.Executor(fluid.CPUPlace())
    program, feeds, targets = io.load_inference_model(str(MODELS / case), exe, **files)
    with np.load(MODELS / f"{case}.npz") as data:
        feed = {name: data[f"in_{name}"] for name in feeds}
        for name in feeds:
            if f"len_{name}" in data.files:
                lengths = [data[f"len_{name}"].tolist()]
                feed[name] = fluid.create_lod_tensor(feed[name], lengths, fluid.CPUPlace())
        outs = exe.run(program, feed=feed, fetch_list=targets)
        wanted = [data["out"]] if "out" in data.files else [data[f"out{i}"] for i in range(len(outs))]
        for out, number in zip(outs, wanted):
            assert out.dtype == number.dtype
            np.testing.assert_allclose(out, number, rtol=1e-5, atol=1e-6)


def test_get_inference_program_takes_variables_and_evaluators() -> None:
    _, prediction, _ = trained()

    class Evaluator:
        states: list[Any] = []
        metrics = [prediction]

    for target in (prediction, [prediction], [Evaluator()]):
        program = io.get_inference_program(target)
        assert [op.type for op in program.global_block().ops][-1] == "softmax"


_REAL = os.environ.get("FLUIDIO_REAL_FLUID")
_READ = """
import sys, numpy as np, paddle.fluid as fluid
exe = fluid.Executor(fluid.CPUPlace())
program, feeds, targets = fluid.io.load_inference_model(sys.argv[1], exe)
x = np.load(sys.argv[1] + "/x.npy")
np.save(sys.argv[1] + "/out.npy", exe.run(program, feed={feeds[0]: x}, fetch_list=targets)[0])
"""


@pytest.mark.skipif(_REAL is None, reason="FLUIDIO_REAL_FLUID names no Python with the real Fluid 1.8")
def test_our_models_run_in_the_real_1_8_5(tmp_path: Path) -> None:
    exe, prediction, _ = trained()
    io.save_inference_model(str(tmp_path), ["x"], [prediction], exe)
    program, _, targets = io.load_inference_model(str(tmp_path), exe)
    (ours,) = exe.run(program, feed={"x": batch()["x"]}, fetch_list=targets)
    np.save(tmp_path / "x.npy", batch()["x"])
    (tmp_path / "read.py").write_text(_READ)
    subprocess.run([str(_REAL), str(tmp_path / "read.py"), str(tmp_path)], check=True, capture_output=True, timeout=50)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), ours, rtol=1e-5)


def test_a_loaded_model_that_is_saved_again_ends_in_one_scale_op(tmp_path: Path) -> None:
    exe, prediction, _ = trained()
    with fluid.unique_name.guard():
        io.save_inference_model(str(tmp_path / "first"), ["x"], [prediction], exe)
    program, feeds, targets = io.load_inference_model(str(tmp_path / "first"), exe)
    endings = []
    with fluid.unique_name.guard():  # as in another process: 1.8.5 ends in one op, and in all three the next time
        for folder in ("second", "third"):
            io.save_inference_model(str(tmp_path / folder), feeds, targets, exe, program)
            again, _, ends = io.load_inference_model(str(tmp_path / folder), exe)
            scales = [op.type for op in again.global_block().ops].count("scale")
            endings.append((scales, ends[0].name))
    assert endings == [(1, "save_infer_model/scale_0.tmp_0"), (3, "save_infer_model/scale_0.tmp_1")]


def test_a_model_without_variables_is_saved_with_a_warning(tmp_path: Path) -> None:
    x = fluid.layers.data("x", [1])
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.warns(UserWarning, match="nothing to save"):
        fluid.io.save_inference_model(str(tmp_path), ["x"], [x + 1], exe, params_filename="all")
    assert [path.name for path in tmp_path.iterdir()] == ["__model__"]


def test_feed_and_fetch_ops_are_added_as_a_model_has_them() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x, y = fluid.layers.data("x", [2]), fluid.layers.data("y", [2])
        out = fluid.layers.elementwise_add(x, y)
        program = fluid.default_main_program()
        fluid.io.prepend_feed_ops(program, ["x", "y"])
        fluid.io.append_fetch_ops(program, [out.name])
        ops = program.global_block().ops
        assert [(op.type, op.attr("col")) for op in ops if op.has_attr("col")] == [
            ("feed", 1),
            ("feed", 0),
            ("fetch", 0),
        ]
        with pytest.raises(ValueError, match="nope"):
            fluid.io.prepend_feed_ops(fluid.Program(), ["nope"])
        assert fluid.io._get_valid_program(None) is program
        assert fluid.io._get_valid_program(fluid.CompiledProgram(program)) is program
        with pytest.raises(TypeError):
            fluid.io._get_valid_program(5)


def _saved_again(folder: Path, order: Callable[[list[Any]], list[Any]]) -> tuple[Any, list[str]]:
    """Save a model of two outputs, load it as a new process would, save it anew and run the result."""
    main, startup = fluid.Program(), fluid.Program()
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        x = fluid.data("x", [None, 2], "float32")
        fluid.io.save_inference_model(str(folder / "a"), ["x"], [x + 1.0, x * 2.0], exe, main)
    with fluid.unique_name.guard():
        program, feeds, targets = fluid.io.load_inference_model(str(folder / "a"), exe)
        fluid.io.save_inference_model(str(folder / "b"), feeds, order(targets), exe, program)
    program, _, targets = fluid.io.load_inference_model(str(folder / "b"), exe)
    found = exe.run(program, feed={"x": np.array([[1, 5]], "float32")}, fetch_list=targets)
    return [each.tolist() for each in found], [target.name for target in targets]


@pytest.mark.filterwarnings("ignore:nothing to save")
def test_a_loaded_model_keeps_the_names_of_its_outputs(tmp_path: Path) -> None:
    fluid.use_era("1.8")
    found, names = _saved_again(tmp_path, list)
    assert found == [[[2, 6]], [[2, 10]]]
    assert names == ["save_infer_model/scale_0.tmp_0", "save_infer_model/scale_1.tmp_0"]
    assert _saved_again(tmp_path, lambda targets: targets[1:])[1] == ["save_infer_model/scale_0.tmp_0"]


@pytest.mark.filterwarnings("ignore:nothing to save")
def test_outputs_of_a_loaded_model_can_be_saved_in_another_order(tmp_path: Path) -> None:
    """1.8.5 takes the same names again, and the outputs stay in the old order."""
    fluid.use_era("1.8")
    assert _saved_again(tmp_path, lambda targets: targets[::-1])[0] == [[[2, 10]], [[2, 6]]]


@pytest.mark.filterwarnings("ignore:nothing to save")
def test_an_output_of_another_dtype_gets_a_name_of_its_own(tmp_path: Path) -> None:
    fluid.use_era("1.8")

    def whole_numbers(targets: list[Any]) -> list[Any]:
        with fluid.program_guard(targets[0].block.program):
            return [fluid.layers.cast(targets[0], "int64"), targets[0]]

    assert _saved_again(tmp_path, whole_numbers)[0] == [[[2, 6]], [[2, 6]]]
