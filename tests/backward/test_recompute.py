"""Checkpoints: values between them are computed again, with the ops, names and numbers of 1.8.5, and memory falls."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers


def _network(middle: Callable[[Any], Any]) -> list[Any]:
    x, y = fluid.data("x", [None, 3]), fluid.data("y", [None, 1])
    first = L.fc(x, 4, act="tanh")
    wide = middle(L.fc(first, 5, act="relu"))
    second = L.fc(wide, 4, act="sigmoid")
    out = L.fc(L.fc(second, 3, act="relu"), 1)
    return [L.reduce_mean(L.square_error_cost(out, y)), first, second]


def _batch(step: int) -> dict[str, Any]:
    x = np.random.RandomState(step).rand(4, 3).astype("float32")
    return {"x": x, "y": x.sum(1, keepdims=True)}


def _train(middle: Callable[[Any], Any], picked: list[int] | None) -> list[float]:
    """Train four steps with checkpoints at the picked variables, or without any."""
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    main.random_seed = startup.random_seed = 1
    made = _network(middle)
    optimizer: Any = fluid.optimizer.SGD(0.1)
    if picked is not None:
        optimizer = fluid.optimizer.RecomputeOptimizer(optimizer)
        optimizer._set_checkpoints([made[i] for i in picked])
    optimizer.minimize(made[0])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    return [float(exe.run(main, feed=_batch(step), fetch_list=[made[0]])[0]) for step in range(4)]


BATCH_NORM_VARIANCE = [0.459732, 0.452729, 0.433022, 0.433698, 0.430467]
PLAIN = [4.55574, 0.56696, 0.42318, 0.88516]


@pytest.mark.parametrize("picked", [[1, 2], [2], [1, 0], []])
def test_losses_are_those_of_1_8_5(picked: list[int]) -> None:
    assert _train(lambda v: v, picked) == pytest.approx(PLAIN, abs=1e-5)


def test_dropout_draws_the_same_mask_again() -> None:
    losses = _train(lambda v: L.dropout(v, 0.5), [1, 2])
    assert losses == pytest.approx([4.25737, 0.58615, 0.43836, 0.89689], abs=1e-5)
    types = [op.type for op in fluid.default_main_program().global_block().ops]
    assert types.count("dropout") == 2 and types.count("seed") == 1


def test_a_batch_norm_between_checkpoints_moves_its_averages_twice_in_each_step() -> None:
    _train(L.batch_norm, [2])
    variance = fluid.global_scope().find_var("batch_norm_0.w_2")
    assert variance is not None
    assert np.array(variance.get_tensor()) == pytest.approx(BATCH_NORM_VARIANCE, abs=1e-5)


def test_ops_between_checkpoints_are_repeated_under_names_of_their_own() -> None:
    _train(lambda v: v, [1, 2])
    block = fluid.default_main_program().global_block()
    repeated = [(op.type, op.output_arg_names[0]) for op in block.ops if ".subprog_" in "".join(op.output_arg_names)]
    assert repeated == [
        ("mul", "fc_1.tmp_0.subprog_0"),
        ("elementwise_add", "fc_1.tmp_1.subprog_0"),
        ("relu", "fc_1.tmp_2.subprog_0"),
        ("mul", "fc_2.tmp_0.subprog_0"),
        ("elementwise_add", "fc_2.tmp_1.subprog_0"),
        ("mul", "fc_0.tmp_0.subprog_1"),
        ("elementwise_add", "fc_0.tmp_1.subprog_1"),
    ]


def test_a_value_that_two_segments_read_is_kept() -> None:
    x = fluid.data("x", [None, 3])
    shared = L.fc(x, 3, act="tanh")
    first = L.fc(L.square(shared), 3)
    second = L.fc(first + shared, 3)
    loss = L.reduce_mean(second)
    fluid.backward.append_backward(loss, checkpoints=[first, second])
    names = {name for op in fluid.default_main_program().global_block().ops for name in op.output_arg_names}
    assert f"{shared.name}.subprog_1" not in names and "square_0.tmp_0.subprog_1" in names


def test_without_checkpoints_it_says_what_to_call() -> None:
    loss = _network(lambda v: v)[0]
    with pytest.raises(AssertionError, match="_set_checkpoints"):
        fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1)).minimize(loss)


def test_loading_is_refused_in_the_words_that_the_unit_tests_of_1_8_5_compare() -> None:
    with pytest.raises(NotImplementedError, match=r"^load function is not supported by Recompute Optimizer for now$"):
        fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1)).load({})


def _peak(with_checkpoints: bool) -> int:
    """Return the peak of memory in a step of a network of 24 wide layers."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        value, kept = fluid.data("x", [None, 64]), []
        for layer in range(24):
            value = L.fc(value, 64, act="tanh")
            if layer % 6 == 5:
                kept.append(value)
        loss = L.reduce_mean(value)
        optimizer: Any = fluid.optimizer.SGD(0.1)
        if with_checkpoints:
            optimizer = fluid.optimizer.RecomputeOptimizer(optimizer)
            optimizer._set_checkpoints(kept)
        optimizer.minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        feed = {"x": np.ones((2000, 64), np.float32)}
        exe.run(feed=feed, fetch_list=[loss])
        tracemalloc.start()
        try:
            exe.run(feed=feed, fetch_list=[loss])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def test_the_peak_of_memory_falls() -> None:
    assert _peak(True) < 0.6 * _peak(False)


def test_what_a_loop_has_written_is_read_not_its_start() -> None:
    found = []
    for recompute in (False, True):
        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            x = fluid.data("x", [-1, 2], "float32")
            at, limit = (fluid.layers.fill_constant([1], "int64", n) for n in (0, 1))
            state = fluid.layers.assign(x)
            state.stop_gradient = True
            state = fluid.layers.while_loop(
                lambda n, _, end=limit: fluid.layers.less_than(n, end), lambda n, s: [n + 1, s * s], [at, state]
            )[1]
            attr = fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.5))
            hidden = fluid.layers.fc(state, 1, param_attr=attr, act="tanh")
            loss = fluid.layers.mean(hidden)
            sgd: Any = fluid.optimizer.SGD(1.0)
            if recompute:
                sgd = fluid.optimizer.RecomputeOptimizer(sgd)
                sgd._set_checkpoints([hidden])
            sgd.minimize(loss)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            found += exe.run(main, feed={"x": np.array([[0.5, 3.0]], "float32")}, fetch_list=["w@GRAD"])
    np.testing.assert_array_equal(found[0], found[1])
