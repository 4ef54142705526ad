"""Optimizers name their accumulators as Fluid's do, for code that looks into them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fluidio as fluid
from fluidio import layers

NAMES: list[tuple[Callable[[], fluid.optimizer.Optimizer], dict[str, str]]] = [
    (lambda: fluid.optimizer.Momentum(0.1, 0.9), {"_velocity_acc_str": "velocity"}),
    (lambda: fluid.optimizer.LarsMomentum(0.1, 0.9), {"_velocity_acc_str": "velocity"}),
    (lambda: fluid.optimizer.Adagrad(0.1), {"_moment_acc_str": "moment"}),
    (lambda: fluid.optimizer.DecayedAdagrad(0.1), {"_moment_acc_str": "moment"}),
    (lambda: fluid.optimizer.Ftrl(0.1), {"_squared_acc_str": "squared", "_linear_acc_str": "linear"}),
    (lambda: fluid.optimizer.Adadelta(0.1), {"_avg_squared_grad_acc_str": "_avg_squared_grad"}),
    (lambda: fluid.optimizer.RMSPropOptimizer(0.1), {"_mean_square_acc_str": "mean_square"}),
    (lambda: fluid.optimizer.Adamax(0.1), {"_inf_norm_acc_str": "inf_norm", "_beta1_pow_acc_str": "beta1_pow_acc"}),
    (lambda: fluid.optimizer.Adam(0.1), {"_moment1_acc_str": "moment1", "_beta2_pow_acc_str": "beta2_pow_acc"}),
    (lambda: fluid.optimizer.Lamb(0.1), {"_moment2_acc_str": "moment2", "_beta1_pow_acc_str": "beta1_pow_acc"}),
]


@pytest.mark.parametrize(("make", "names"), NAMES)
def test_an_accumulator_is_found_by_its_name(
    make: Callable[[], fluid.optimizer.Optimizer], names: dict[str, str]
) -> None:
    optimizer = make()
    loss = layers.mean(layers.fc(fluid.data("x", [2, 3]), 2, param_attr="w", bias_attr=False))
    assert len(optimizer._accumulators) == 0
    optimizer.minimize(loss)
    for attribute, name in names.items():
        assert getattr(optimizer, attribute) == name
        assert list(optimizer._accumulators[name]) == ["w"]
