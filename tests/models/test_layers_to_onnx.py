"""Layers that the real 1.8.5 runs on GPUs alone are compared with fluidio."""

from __future__ import annotations

from pathlib import Path

import pytest

import fluidio as fluid
from fluidio.models import open_model

pytest.importorskip("onnx", reason="extra: onnx is not installed")
pytest.importorskip("onnxruntime", reason="extra: onnxruntime is not installed")


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_stack_of_lstms_agrees_with_fluidio(both_ways: bool, tmp_path: Path) -> None:
    from fluidio.models.onnx import export_onnx

    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        x = fluid.layers.data("x", [5, 3, 6], append_batch_size=False)
        shape = [4 if both_ways else 2, 3, 4]
        start = fluid.layers.fill_constant(shape, "float32", 0.1)
        out, h, c = fluid.layers.lstm(x, start, start * 0.5, 5, 4, 2, is_bidirec=both_ways, is_test=True)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        fluid.io.save_inference_model(str(tmp_path / "m"), ["x"], [out, h, c], exe, main)
    model = open_model(str(tmp_path / "m"))
    done = export_onnx(model, str(tmp_path / "m.onnx"), verify=None)
    assert done.outputs[0].startswith("save_infer_model")
    assert [each.problem for each in done.compared] == [""] * len(done.compared)
    assert done.compared, done.not_compared
