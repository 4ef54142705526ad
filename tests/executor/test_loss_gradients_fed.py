"""`GradientScaleStrategy.Customized`: each place begins its backward pass with the gradient that is fed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import EnforceNotMet

X = np.linspace(-1, 1, 16).reshape(4, 4).astype("float32")


def _gradients(strategy: int, fed: dict[str, Any]) -> Any:
    x = fluid.data("x", [None, 4])
    weight = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5))
    loss = fluid.layers.mean(fluid.layers.fc(x, 2, param_attr=weight, bias_attr=False))
    fluid.optimizer.SGD(0.0).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    build = fluid.BuildStrategy()
    build.gradient_scale_strategy = strategy
    program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
        loss_name=loss.name, build_strategy=build, places=fluid.cpu_places(2)
    )
    (found,) = exe.run(program, feed={"x": X, **{f"{loss.name}@GRAD": v for v in fed.values()}}, fetch_list=["w@GRAD"])
    return np.array(found)[:4, 0]


def test_the_fed_gradient_is_taken() -> None:
    halves = X[:2].mean(0) / 2, X[2:].mean(0) / 2
    scales = fluid.BuildStrategy.GradientScaleStrategy
    with fluid.use_era("1.8"):
        got = _gradients(scales.Customized, {"loss": np.array([0.25, 0.75], "float32")})
    np.testing.assert_allclose(got, 0.25 * halves[0] + 0.75 * halves[1], rtol=1e-5)


def test_a_gradient_that_is_not_fed_is_missed() -> None:
    with fluid.use_era("1.8"), pytest.raises(EnforceNotMet, match="feed the gradient of the loss"):
        _gradients(fluid.BuildStrategy.GradientScaleStrategy.Customized, {})
