"""Optimizers that scripts derive from Fluid's, through the names that Fluid's classes have inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.optimizer import AdamOptimizer, Optimizer
from fluidio.testing import fresh


class PlainMomentum(Optimizer):
    """Momentum, written as scripts wrote optimizers of their own."""

    _velocity_acc_str = "velocity"

    def __init__(self, learning_rate: Any, momentum: float, regularization: Any = None) -> None:
        super().__init__(learning_rate=learning_rate, regularization=regularization)
        self.type = "momentum"
        self._momentum = momentum

    def _create_accumulators(self, block: Any, parameters: Any) -> None:
        for parameter in parameters:
            self._add_accumulator(self._velocity_acc_str, parameter)

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> Any:
        velocity = self._get_accumulator(self._velocity_acc_str, param_and_grad[0])
        return block.append_op(
            type=self.type,
            inputs={
                "Param": param_and_grad[0],
                "Grad": param_and_grad[1],
                "Velocity": velocity,
                "LearningRate": self._create_param_lr(param_and_grad),
            },
            outputs={"ParamOut": param_and_grad[0], "VelocityOut": velocity},
            attrs={"mu": self._momentum, "use_nesterov": False},
            stop_gradient=True,
        )


class DecoupledAdam(AdamOptimizer):
    """Adam with weight decay beside the gradient."""

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> Any:
        assert (
            self._get_accumulator(self._moment1_acc_str, param_and_grad[0]).name
            == f"{param_and_grad[0].name}_moment1_0"
        )
        assert (
            self._get_accumulator(self._beta1_pow_acc_str, param_and_grad[0]).name
            == f"{param_and_grad[0].name}_beta1_pow_acc_0"
        )
        return super()._append_optimize_op(block, param_and_grad)

    def minimize(self, loss: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = self.backward(loss)
        for param, grad in pairs:
            with fluid.default_main_program()._optimized_guard([param, grad]), fluid.name_scope("decay"):
                fluid.layers.assign(input=param * 0.99, output=param)
        return self.apply_optimize(loss, None, pairs), pairs


def _decaying() -> Any:
    rate = fluid.layers.exponential_decay(0.1, 1, 0.9)
    return PlainMomentum(rate, 0.9, fluid.regularizer.L2Decay(0.1))


@pytest.mark.parametrize(
    ("make", "expected"),
    [(lambda: PlainMomentum(0.1, 0.9), 0.08128), (lambda: DecoupledAdam(0.1), 0.05035), (_decaying, 0.04882)],
    ids=["momentum", "adam", "decaying"],
)
def test_a_derived_optimizer_trains_as_in_1_8_5(make: Callable[[], Any], expected: float) -> None:
    with fluid.use_era("1.8"), fresh() as (main, startup):
        main.random_seed = startup.random_seed = 1
        x = fluid.layers.data("x", [3])
        loss = fluid.layers.mean(fluid.layers.square(fluid.layers.fc(x, 2)))
        make().minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {"x": np.ones((2, 3), "float32")}
        values = [float(exe.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(4)]
    assert values[-1] == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: fluid.optimizer.Momentum(0.1, 0.9), ["velocity"]),
        (lambda: fluid.optimizer.LarsMomentum(0.1, 0.9), ["velocity"]),
        (lambda: fluid.optimizer.Adagrad(0.1), ["moment"]),
        (lambda: fluid.optimizer.DecayedAdagrad(0.1), ["moment"]),
        (lambda: fluid.optimizer.Adam(0.1), ["moment1", "moment2", "beta1_pow", "beta2_pow"]),
        (lambda: fluid.optimizer.Adamax(0.1), ["moment", "inf_norm", "beta1_pow"]),
        (lambda: fluid.optimizer.Lamb(0.1), ["moment1", "moment2", "beta1_pow", "beta2_pow"]),
        (lambda: fluid.optimizer.Adadelta(0.1), ["avg_squared_grad", "avg_squared_update"]),
        (lambda: fluid.optimizer.RMSProp(0.1), ["momentum", "mean_square", "mean_grad"]),
        (lambda: fluid.optimizer.Ftrl(0.1), ["squared", "linear"]),
    ],
)
def test_accumulators_are_found_under_the_names_that_fluid_has_for_them(make: Any, names: list[str]) -> None:
    with fresh() as (main, _):
        optimizer = make()
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [3]), 2, bias_attr=False))
        pairs = optimizer.backward(loss)
        assert len(optimizer._accumulators) == 0
        with fluid.program_guard(main):
            optimizer.apply_gradients(pairs)
        assert sorted(optimizer._accumulators) == sorted(getattr(optimizer, f"_{name}_acc_str") for name in names)
        assert all(list(known) == ["fc_0.w_0"] for known in optimizer._accumulators.values())
