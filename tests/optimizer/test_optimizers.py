"""Optimizers train, name their state and understand the signatures of all versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import optimizer as O
from fluidio.regularizer import L2Decay
from tests.optimizer.helpers import batch, build, op_types, train, weight


def _recompute(inner: Any) -> Any:
    made = O.RecomputeOptimizer(inner)
    made._set_checkpoints([])
    return made


MAKERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: O.SGD(0.05),
    "momentum": lambda: O.Momentum(0.02, 0.9),
    "nesterov": lambda: O.Momentum(0.02, 0.9, use_nesterov=True),
    "lars": lambda: O.LarsMomentum(30.0, 0.9),
    "adagrad": lambda: O.Adagrad(0.5),
    "decayed_adagrad": lambda: O.DecayedAdagrad(0.1),
    "adam": lambda: O.Adam(0.1),
    "adamax": lambda: O.Adamax(0.2),
    "adadelta": lambda: O.Adadelta(1.0, epsilon=1e-2),
    "rmsprop": lambda: O.RMSProp(0.05),
    "rmsprop_centered": lambda: O.RMSProp(0.05, centered=True, momentum=0.5),
    "ftrl": lambda: O.Ftrl(0.5),
    "lamb": lambda: O.Lamb(0.05),
    "dpsgd": lambda: O.Dpsgd(0.02, clip=10.0, batch_size=16.0, sigma=1e-4),
    "recompute": lambda: _recompute(O.SGD(0.05)),
    "lookahead": lambda: O.LookaheadOptimizer(O.SGD(0.05), alpha=0.5, k=2),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_the_loss_goes_down(kind: str) -> None:
    losses, _ = train(lambda loss: MAKERS[kind]().minimize(loss), steps=60)
    assert losses[-1] < 0.7 * losses[0]


def test_accumulators_are_named_after_their_parameter() -> None:
    O.Adam(0.1).minimize(build())
    names = {v.name for v in fluid.default_main_program().list_vars() if v.belong_to_optimizer}
    assert "fc_0.w_0_moment1_0" in names and "fc_0.b_0_beta2_pow_acc_0" in names


def test_an_optimizer_name_stands_between_parameter_and_accumulator() -> None:
    O.Momentum(0.1, 0.9, name="mine").minimize(build())
    assert fluid.default_main_program().global_block().has_var("fc_0.w_0_mine_velocity_0")


def test_the_old_era_names_accumulators_by_kind_alone() -> None:
    fluid.use_era("0.14")
    O.Momentum(0.1, 0.9).minimize(build())
    assert fluid.default_main_program().global_block().has_var("velocity_0")


@pytest.mark.parametrize(("era", "scales"), [("1.5", 4), ("1.8", 0)])
def test_the_era_says_who_carries_adams_beta_powers_on(era: str, scales: int) -> None:
    fluid.use_era(era)
    O.Adam(0.1).minimize(build())
    assert op_types(fluid.default_main_program()).count("scale") == scales


def test_adam_gives_the_same_weights_in_both_eras() -> None:
    with fluid.use_era("1.5"):
        _, old = train(lambda loss: O.Adam(0.1).minimize(loss))
    with fluid.use_era("1.8"):
        _, new = train(lambda loss: O.Adam(0.1).minimize(loss))
    np.testing.assert_allclose(old, new, rtol=1e-6)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda r: O.SGD(0.1, r),
        lambda r: O.Momentum(0.1, 0.9, True, r),
        lambda r: O.Adagrad(0.1, 1e-6, r, "name", 0.25),
        lambda r: O.Adam(0.1, 0.9, 0.999, 1e-8, r, "name", True),
        lambda r: O.RMSProp(0.1, 0.9, 1e-6, 0.0, False, r),
    ],
)
def test_regularization_is_found_where_versions_before_1_7_had_it(optimizer: Callable[[Any], Any]) -> None:
    decay = L2Decay(0.1)
    made = optimizer(decay)
    assert made.regularization is decay
    assert made._parameter_list is None


def test_the_old_positions_behind_regularization_are_understood() -> None:
    assert O.Momentum(0.1, 0.9, True)._use_nesterov
    assert O.Adagrad(0.1, 1e-6, L2Decay(0.1), "name", 0.25).initial_accumulator_value == 0.25
    assert O.Adam(0.1, 0.9, 0.999, 1e-8, None, "name", True)._lazy_mode
    assert O.Adam(0.1, 0.9, 0.999, 1e-8, None, "name")._name == "name"


def test_lars_weight_decay_of_2018_gives_each_parameter_a_rate_of_its_own() -> None:
    losses, _ = train(lambda loss: O.SGD(0.02, LARS_weight_decay=0.1).minimize(loss), bias_attr=False)
    assert losses[-1] < losses[0]


def test_an_unknown_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="global_stepp"):
        O.SGD(0.1, global_stepp=1)


def test_a_learning_rate_that_is_no_number_is_refused() -> None:
    rate: Any = "0.1"
    with pytest.raises(TypeError, match="learning_rate must be a float or a Variable"):
        O.SGD(rate)


def test_a_parameters_own_rate_multiplies_the_optimizers() -> None:
    _, frozen = train(lambda loss: O.SGD(0.1).minimize(loss), steps=3, param_attr=fluid.ParamAttr(learning_rate=0.0))
    _, start = train(lambda loss: None, steps=1)
    np.testing.assert_array_equal(frozen, start)


def test_a_parameter_that_is_not_trainable_stays() -> None:
    _, fixed = train(lambda loss: O.SGD(0.1).minimize(loss), steps=3, param_attr=fluid.ParamAttr(trainable=False))
    _, start = train(lambda loss: None, steps=1)
    np.testing.assert_array_equal(fixed, start)


def test_parameter_list_limits_what_is_updated() -> None:
    _, weights = train(lambda loss: O.SGD(0.1).minimize(loss, parameter_list=["fc_0.b_0"]), steps=3)
    _, start = train(lambda loss: None, steps=1)
    np.testing.assert_array_equal(weights, start)


def test_backward_and_apply_gradients_make_one_minimize() -> None:
    def in_two(loss: Any) -> None:
        optimizer = O.Adam(0.1)
        optimizer.apply_gradients(optimizer.backward(loss))

    _, two = train(in_two)
    _, one = train(lambda loss: O.Adam(0.1).minimize(loss))
    np.testing.assert_array_equal(one, two)


def test_regularization_is_part_of_the_fetched_gradient() -> None:
    loss = build(bias_attr=False)
    O.SGD(0.0, regularization=L2Decay(0.5)).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = batch(0)
    (grad,) = exe.run(feed=feed, fetch_list=["fc_0.w_0@GRAD"])
    w = weight()
    plain = 2 * feed["x"].T @ (feed["x"] @ w - feed["y"]) / 5
    np.testing.assert_allclose(grad, plain + 0.5 * w, rtol=1e-4)


def test_dgc_momentum_says_that_it_is_momentum_here() -> None:
    with pytest.warns(UserWarning, match="on one machine it is plain Momentum"):
        _, weights = train(lambda loss: O.DGCMomentumOptimizer(0.02, 0.9, 0).minimize(loss))
    _, plain = train(lambda loss: O.Momentum(0.02, 0.9).minimize(loss))
    np.testing.assert_array_equal(weights, plain)


def test_pipeline_says_that_it_runs_in_one_piece() -> None:
    with pytest.warns(UserWarning, match="runs on one"):
        _, weights = train(lambda loss: O.PipelineOptimizer(O.SGD(0.1), cut_list=[[]]).minimize(loss))
    _, plain = train(lambda loss: O.SGD(0.1).minimize(loss))
    np.testing.assert_array_equal(weights, plain)


def test_a_float64_program_keeps_a_float64_rate() -> None:
    x = fluid.layers.data("x", [2], dtype="float64")
    O.SGD(0.1).minimize(fluid.layers.mean(fluid.layers.fc(x, 1)))
    assert fluid.default_main_program().global_block().var("learning_rate_0").dtype == fluid.core.VarType.FP64


def test_an_optimizer_computes_no_gradients_of_what_it_does_not_train() -> None:
    hidden = fluid.layers.fc(
        fluid.layers.data("x", [4]), 4, param_attr=fluid.ParamAttr(trainable=False), bias_attr=False
    )
    loss = fluid.layers.mean(fluid.layers.fc(hidden, 2, bias_attr=False))
    O.SGD(0.1).minimize(loss)
    types = [op.type for op in fluid.default_main_program().global_block().ops]
    assert types == ["mul", "mul", "mean", "fill_constant", "mean_grad", "mul_grad", "sgd"]
