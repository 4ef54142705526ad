"""Averages of parameters, and slow weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import optimizer as O
from fluidio.dtypes import VarType
from tests.optimizer.helpers import batch, build, weight


def steps(count: int, after: Any) -> tuple[Any, list[Any], Any]:
    """Train with SGD and what `after()` adds; return (executor, weights after each step, what `after` returned)."""
    loss = build(bias_attr=False)
    O.SGD(0.05).minimize(loss)
    made = after()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    history = []
    for step in range(count):
        exe.run(feed=batch(step), fetch_list=[])
        history.append(weight())
    return exe, history, made


def test_the_moving_average_is_unbiased_and_swapped_in_and_out() -> None:
    def average() -> Any:
        made = O.ExponentialMovingAverage(0.9, name="mean_", keep_average=True)
        made.update()
        return made

    exe, history, ema = steps(4, average)
    mean = np.zeros_like(history[0])
    for value in history:
        mean = 0.9 * mean + 0.1 * value
    wanted = mean / (1 - 0.9**4)
    for _ in range(2):  # applying twice does not correct the bias twice
        with ema.apply(exe):
            np.testing.assert_allclose(weight(), wanted, rtol=1e-5)
        np.testing.assert_array_equal(weight(), history[-1])
    with ema.apply(exe, need_restore=False):
        pass
    np.testing.assert_allclose(weight(), wanted, rtol=1e-5)
    ema.restore(exe)
    np.testing.assert_array_equal(weight(), history[-1])


def test_thres_steps_begin_with_a_smaller_decay() -> None:
    def average() -> Any:
        counter = fluid.layers.cast(fluid.layers.autoincreased_step_counter(begin=0), "float32")
        made = O.ExponentialMovingAverage(0.999, thres_steps=counter)
        made.update()
        return made

    _, history, _ = steps(2, average)
    first = (1 - 1 / 10) * history[0]
    second = 2 / 11 * first + (1 - 2 / 11) * history[1]
    np.testing.assert_allclose(weight("fc_0.w_0_ema_0"), second, rtol=1e-5)


def test_the_model_average_covers_the_window() -> None:
    exe, history, average = steps(6, lambda: O.ModelAverage(0.5, min_average_window=2, max_average_window=3))
    # A window closes when it holds at least 2 and min(3, updates / 2) values: after steps 2 and 4, not after 6.
    with average.apply(exe):
        got = weight()
    np.testing.assert_allclose(got, np.mean(history[2:], axis=0), rtol=1e-5)
    np.testing.assert_array_equal(weight(), history[-1])


def test_a_parameter_can_stay_out_of_the_average() -> None:
    loss = build(param_attr=fluid.ParamAttr(do_model_average=False))
    O.SGD(0.1).minimize(loss)
    O.ModelAverage(0.15)
    types = [
        op.input("param") for op in fluid.default_main_program().global_block().ops if op.type.startswith("average")
    ]
    assert types == [["fc_0.b_0"]]


def test_slow_weights_follow_every_k_steps() -> None:
    loss = build(bias_attr=False)
    O.LookaheadOptimizer(O.SGD(0.05), alpha=0.5, k=3).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    slow = weight()
    fast = slow.copy()
    for step in range(7):
        feed = batch(step)
        exe.run(feed=feed, fetch_list=[])
        fast = fast - 0.05 * 2 * feed["x"].T @ (feed["x"] @ fast - feed["y"]) / 5
        if (step + 1) % 3 == 0:
            slow = fast = slow + 0.5 * (fast - slow)
        np.testing.assert_allclose(weight(), fast, rtol=1e-4)


@pytest.mark.parametrize("arguments", [{"alpha": 1.5}, {"k": 0}, {"k": 1.5}])
def test_lookahead_checks_its_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        O.LookaheadOptimizer(O.SGD(0.1), **arguments)


def test_the_steps_of_a_moving_average_count_where_it_is_updated() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [2]), 1))
        average = fluid.optimizer.ExponentialMovingAverage(0.9)
        test = fluid.default_main_program().clone(for_test=True)
        fluid.optimizer.SGD(0.1).minimize(loss)
        average.update()
        assert "increment" not in [op.type for op in test.global_block().ops]
        assert fluid.default_main_program().global_block().ops[0].type == "increment"


def test_accumulators_are_listed_in_the_order_of_their_making() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), fluid.use_era("1.8"):
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [2]), 1))
        adam = fluid.optimizer.Adam(0.1)
        adam.minimize(loss)
        names = adam.get_opti_var_name_list()
    assert names[:4] == [f"fc_0.b_0_{n}_0" for n in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")]


def _types(program: fluid.Program, block: int = 0) -> str:
    return " ".join(op.type for op in program.block(block).ops)


def test_the_programs_of_the_moving_average_have_the_ops_of_1_8_5() -> None:
    fluid.use_era("1.8")
    loss = build(bias_attr=False)
    O.SGD(0.05).minimize(loss)
    average = O.ExponentialMovingAverage(0.9, thres_steps=fluid.layers.create_global_var([1], 1.0, "float32"))
    applied = "assign fill_constant greater_than logical_not conditional_block assign"
    assert _types(average.apply_program) == f"cast elementwise_pow {applied}"
    assert _types(average.apply_program, 1) == "scale elementwise_div assign"
    assert _types(average.restore_program) == "assign"
    scheduled = "scale scale elementwise_div fill_constant less_than logical_not conditional_block conditional_block"
    assert _types(fluid.default_main_program()).endswith(scheduled)


def test_a_moving_average_over_whole_steps_has_the_ops_of_1_8_5() -> None:
    fluid.use_era("1.8")
    loss = build(bias_attr=False)
    O.SGD(0.05).minimize(loss)
    with pytest.warns(UserWarning, match="of integers"):
        average = O.ExponentialMovingAverage(0.9, thres_steps=fluid.layers.autoincreased_step_counter())
    average.update()
    assert fluid.default_main_program().global_block().var("scheduled_ema_decay_rate").dtype == VarType.INT64
    kept = "cast elementwise_mul scale cast elementwise_mul elementwise_add assign"
    assert _types(fluid.default_main_program()).endswith(f"conditional_block conditional_block {kept}")


def test_the_programs_of_the_model_average_have_the_ops_of_1_8_5() -> None:
    loss = build(bias_attr=False)
    O.SGD(0.05).minimize(loss)
    average = O.ModelAverage(0.15)
    assert _types(average.apply_program) == "assign sum sum cast cast elementwise_div"
    assert [(p.name, kept.name) for p, kept in average.params_grads] == [("fc_0.w_0", "fc_0.w_0.tmp_0")]


def test_lookahead_has_the_ops_of_1_8_5() -> None:
    loss = build(bias_attr=False)
    O.LookaheadOptimizer(O.SGD(0.05), alpha=0.5, k=3).minimize(loss)
    main = fluid.default_main_program()
    asked = "increment fill_constant fill_constant elementwise_mod cast equal logical_not"
    assert _types(main).endswith(f"sgd {asked} conditional_block conditional_block")
    moved = "elementwise_mul elementwise_sub elementwise_mul elementwise_add assign assign"
    assert [_types(main, 1), _types(main, 2)] == [moved, ""]


def test_accumulators_carry_the_name_of_their_optimizer() -> None:
    loss = build(bias_attr=False)
    adam = O.Adam(0.05, name="mine")
    adam.minimize(loss)
    moment = adam._get_accumulator("moment1", fluid.default_main_program().all_parameters()[0])
    assert moment.name == "fc_0.w_0_mine_moment1_0"
    assert "mine_moment1" in adam._accumulators
