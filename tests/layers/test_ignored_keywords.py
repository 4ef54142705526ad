"""A keyword has its effect, or a warning says that it has none."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fluidio as fluid
from fluidio.layers import arguments

L = fluid.layers
LAYERS = Path(__file__).parent.parent.parent / "layers"
BY_LOCALS = {"act", "bias_attr", "dtype", "input", "name", "param_attr", "size"}
"""What a LayerHelper takes out of `**locals()`."""
UNREAD = {
    "addcmul.name": "nothing is named after it, in Fluid neither",
    "arange.name": "nothing is named after it, in Fluid neither",
    "case.name": "nothing is named after it, in Fluid neither",
    "dice_loss.name": "nothing is named after it, in Fluid neither",
    "get_places.device_count": "there is one place to spread over, as the docstring says",
    "get_places.device_type": "there is one place to spread over, as the docstring says",
    "multi_box_head.name": "nothing is named after it, in Fluid neither",
    "open_files.for_parallel": "every reader may be read by several threads",
    "open_recordio_file.for_parallel": "every reader may be read by several threads",
    "random_data_generator.for_parallel": "every reader may be read by several threads",
    "switch_case.name": "nothing is named after it, in Fluid neither",
}


def _unread(function: ast.FunctionDef) -> set[str]:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    body = [node for statement in function.body for node in ast.walk(statement)]
    read = {node.id for node in body if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return {a.arg for a in arguments} - read - (BY_LOCALS if "locals" in read else set())


def test_every_parameter_of_a_layer_is_read() -> None:
    found = set()
    for path in LAYERS.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found |= {f"{node.name}.{name}" for name in _unread(node)}
    assert found == UNREAD.keys()


def _sequence() -> Any:
    return L.data("s", [2], lod_level=1)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: L.fc(L.data("x", [2]), 1, is_test=True), "fc: is_test"),
        (lambda: L.auc(L.data("x", [2]), L.data("y", [1], dtype="int64"), topk=2), "auc: topk"),
        (lambda: L.sequence_conv(_sequence(), 2, padding=False), "sequence_conv: padding=False"),
        (lambda: L.data_norm(L.data("x", [2]), sync_stats=True), "data_norm: sync_stats"),
        (lambda: L.data_norm(L.data("x", [2]), moving_mean_name="m"), "data_norm: moving_mean_name"),
    ],
)
def test_an_ignored_keyword_is_told_once(
    build: Callable[[], Any], text: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(arguments, "_WARNED", set())
    for _ in range(2):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            build()
    assert [str(warning.message) for warning in recwarn] == [f"{text} has no effect"]


def test_what_would_change_results_elsewhere_is_told(tmp_path: Path) -> None:
    exe = fluid.Executor(fluid.CPUPlace())
    main = fluid.default_main_program()
    out = L.fc(L.data("x", [2]), 1)
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(str(tmp_path), ["x"], [out], exe)
    build, run = fluid.BuildStrategy(), fluid.ExecutionStrategy()
    build.sync_batch_norm, run.num_iteration_per_run = True, 2
    with pytest.warns(UserWarning, match="sync_batch_norm has no effect"):
        fluid.CompiledProgram(main).with_data_parallel(build_strategy=build)
    with pytest.warns(UserWarning, match="num_iteration_per_run has no effect"):
        fluid.CompiledProgram(main).with_data_parallel(exec_strategy=run)
    with pytest.warns(UserWarning, match="pserver_endpoints has no effect"):
        fluid.io.load_inference_model(str(tmp_path), exe, pserver_endpoints=["127.0.0.1:6174"])
    with pytest.warns(UserWarning, match="use_multiprocess has no effect"):
        fluid.io.DataLoader.from_generator(feed_list=[L.data("z", [2])], capacity=2, use_multiprocess=True)
    with pytest.warns(UserWarning, match="debug has no effect"), pytest.raises(RuntimeError, match="dataset"):
        exe.train_from_dataset(main, debug=True)


def test_the_transpiler_knows_its_old_arguments_and_no_others() -> None:
    fluid.DistributeTranspiler().transpile(0, trainers=1, slice_var_up=False)
    with pytest.raises(TypeError, match="no argument flavour"):
        fluid.DistributeTranspiler().transpile(0, trainers=1, flavour=1)
