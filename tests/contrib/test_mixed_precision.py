"""Mixed precision: the program is rewritten as 1.8.5 rewrites it (op lists and names are observed), and it trains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.contrib import mixed_precision

FORWARD = """
cast cast conv2d cast elementwise_add relu batch_norm pool2d cast mul cast elementwise_add dropout cast mul cast
elementwise_add cast softmax_with_cross_entropy mean
"""
BACKWARD = """
fill_constant fill_constant elementwise_mul fill_constant elementwise_mul_grad mean_grad softmax_with_cross_entropy_grad
cast elementwise_add_grad mul_grad dropout_grad elementwise_add_grad mul_grad pool2d_grad batch_norm_grad relu_grad
elementwise_add_grad conv2d_grad
"""
SCALING = """
concat reduce_sum isfinite fill_constant logical_not conditional_block conditional_block logical_not conditional_block
conditional_block
"""
CASTS = """
x.cast_fp16 conv2d_0.w_0.cast_fp16 conv2d_0.b_0.cast_fp16 fc_0.w_0.cast_fp16 fc_0.b_0.cast_fp16 fc_1.w_0.cast_fp16
fc_1.b_0.cast_fp16 fc_1.tmp_1.cast_fp32 fc_1.tmp_1@GRAD conv2d_0.w_0@GRAD conv2d_0.b_0@GRAD fc_0.w_0@GRAD fc_0.b_0@GRAD
fc_1.w_0@GRAD fc_1.b_0@GRAD
"""


@pytest.fixture(autouse=True)
def _fresh_programs() -> Iterator[None]:
    fluid.use_era("1.8")
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 4
    with (
        fluid.program_guard(main, startup),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.core.Scope()),
    ):
        yield


def _loss() -> Any:
    x, label = fluid.data("x", [None, 3, 8, 8], "float32"), fluid.data("l", [None, 1], "int64")
    seen = layers.batch_norm(layers.conv2d(x, 4, 3, act="relu"))
    hidden = layers.dropout(layers.fc(layers.pool2d(seen, 2, "max", 2), 5), 0.2)
    return layers.mean(layers.softmax_with_cross_entropy(layers.fc(hidden, 5), label))


def _feed() -> dict[str, Any]:
    rng = np.random.RandomState(0)
    return {"x": rng.rand(16, 3, 8, 8).astype("float32"), "l": rng.randint(0, 5, (16, 1))}


def test_the_program_is_that_of_the_original() -> None:
    loss = _loss()
    optimizer = mixed_precision.decorate(fluid.optimizer.Momentum(0.1, 0.9), init_loss_scaling=128.0)
    _, pairs = optimizer.minimize(loss)
    ops = fluid.default_main_program().global_block().ops
    update = ["cast"] * 6 + ["elementwise_div"] * 8 + ["reduce_sum"] * 8 + SCALING.split() + ["momentum"] * 8
    assert [op.type for op in ops] == (FORWARD + BACKWARD).split() + update
    assert [op.output("Out")[0] for op in ops if op.type == "cast"] == CASTS.split()
    assert [grad.name for _, grad in pairs] == [f"tmp_{n}" for n in range(1, 9)]
    scaled = optimizer.get_scaled_loss()
    assert scaled is not None
    assert (optimizer.get_loss_scaling().name, scaled.name) == ("loss_scaling_0", "tmp_0")
    startup = {name for op in fluid.default_startup_program().global_block().ops for name in op.output_arg_names}
    assert {"loss_scaling_0", "num_good_steps_0", "num_bad_steps_0", "learning_rate_0"} <= startup


def test_black_variables_keep_their_ops_in_float32() -> None:
    loss = _loss()
    lists = mixed_precision.AutoMixedPrecisionLists(custom_black_varnames={"fc_0.w_0"})
    mixed_precision.decorate(fluid.optimizer.SGD(0.1), amp_lists=lists).minimize(loss)
    block = fluid.default_main_program().global_block()
    assert "fc_0.w_0.cast_fp16" not in block.vars
    assert block.var("fc_0.tmp_0").dtype == fluid.core.VarDesc.VarType.FP32
    assert block.var("fc_1.tmp_0").dtype == fluid.core.VarDesc.VarType.FP16


def _losses(optimizer: Any, count: int, *more: Any) -> list[list[float]]:
    loss = _loss()
    made = optimizer()
    made.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    wanted = [loss, made.get_loss_scaling()] if more else [loss]
    runs = [exe.run(feed=_feed(), fetch_list=wanted) for _ in range(count)]
    return [[float(value[0]) for value in run] for run in runs]


def _momentum() -> Any:
    return fluid.optimizer.Momentum(0.01, 0.9)


def test_training_follows_float32_while_the_factor_grows() -> None:
    found = _losses(lambda: mixed_precision.decorate(_momentum(), incr_every_n_steps=5), 8, "scale")
    assert [factor for _, factor in found] == [32768.0] * 5 + [65536.0] * 3
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 4
        single = _losses(_momentum, 8)
    np.testing.assert_allclose([loss for loss, _ in found], [loss for (loss,) in single], rtol=5e-3)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_step_that_overflows_updates_nothing_and_lowers_the_factor() -> None:
    found = _losses(lambda: mixed_precision.decorate(_momentum(), init_loss_scaling=2.0**30), 4, "scale")
    assert len({loss for loss, _ in found}) == 1
    assert [factor for _, factor in found] == [2.0**30, 2.0**30, np.float32(2.0**30) * np.float32(0.8)] + [858993472.0]


def test_lists_move_custom_ops() -> None:
    lists = mixed_precision.AutoMixedPrecisionLists({"tanh", "exp"}, {"conv2d"})
    assert {"tanh", "exp", "mul"} <= lists.white_list
    assert "conv2d" in lists.black_list
    assert "exp" not in lists.black_list
    assert "tanh" not in lists.gray_list
    with pytest.raises(ValueError, match="both contain mul"):
        mixed_precision.AutoMixedPrecisionLists({"mul"}, {"mul"})
