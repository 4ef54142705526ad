"""A loaded model in a CompiledProgram."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fluidio as fluid
from fluidio import layers


def test_a_compiled_model_loses_its_feed_ops_and_runs_either_way(tmp_path: Path) -> None:
    x = layers.data("x", [3])
    y = layers.fc(x, 1, param_attr=fluid.ParamAttr(initializer=fluid.initializer.Constant(2.0)), bias_attr=False)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(str(tmp_path), ["x"], [y], exe)
    program, (name,), targets = fluid.io.load_inference_model(str(tmp_path), exe)
    compiled = fluid.CompiledProgram(program)
    assert "feed" not in [op.type for op in program.global_block().ops]
    for runnable in (compiled, program, compiled.with_data_parallel(places=fluid.cpu_places(1))):
        (found,) = exe.run(runnable, feed={name: np.ones((2, 3), "f4")}, fetch_list=targets)
        assert np.asarray(found).tolist() == [[6.0]] * 2
