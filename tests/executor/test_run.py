"""What `exe.run` does with programs, feeds, fetches and scopes."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import fluidio as fluid


@pytest.fixture
def exe() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


def _square() -> Any:
    x = fluid.layers.data("x", shape=[2])
    return fluid.layers.elementwise_mul(x, x)


def test_feed_and_fetch_go_through_the_program(exe: fluid.Executor) -> None:
    y = _square()
    (result,) = exe.run(feed={"x": np.array([[1, 2], [3, 4]], np.float32)}, fetch_list=[y])
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [[1, 4], [9, 16]]


@pytest.mark.parametrize("how", ["variable", "name", "lists", "bare"])
def test_every_form_of_a_fetch(exe: fluid.Executor, how: str) -> None:
    y = _square()
    forms = {"variable": [y], "name": [y.name], "lists": [[y]], "bare": y}
    results = exe.run(feed={"x": np.full((1, 2), 3, np.float32)}, fetch_list=forms[how])
    assert [result.tolist() for result in results] == [[[9, 9]]]


def test_nothing_fetched_is_an_empty_list(exe: fluid.Executor) -> None:
    _square()
    feed = {"x": np.ones((1, 2), np.float32)}
    assert exe.run(feed=feed) == exe.run(feed=feed, fetch_list=[]) == []


def test_results_come_in_the_order_of_the_list_also_twice(exe: fluid.Executor) -> None:
    y = _square()
    feed = {"x": np.full((1, 2), 2, np.float32)}
    a, b, c = exe.run(feed=feed, fetch_list=[y, "x", y])
    assert (a.tolist(), b.tolist(), c.tolist()) == ([[4, 4]], [[2, 2]], [[4, 4]])


def test_fetched_arrays_are_copies(exe: fluid.Executor) -> None:
    exe_feed = np.ones((1, 2), np.float32)
    y = _square()
    first, fed = exe.run(feed={"x": exe_feed}, fetch_list=[y, "x"])
    kept = first.copy()
    fed[...] = 7
    assert exe_feed.tolist() == [[1, 1]]
    exe.run(feed={"x": np.full((1, 2), 5, np.float32)}, fetch_list=[y])
    np.testing.assert_array_equal(first, kept)


def test_a_fetched_parameter_does_not_follow_the_training(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[2])
    loss = fluid.layers.mean(fluid.layers.fc(x, size=1))
    fluid.optimizer.SGD(0.5).minimize(loss)
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((1, 2), np.float32)}
    (before,) = exe.run(feed=feed, fetch_list=["fc_0.w_0"])
    kept = before.copy()
    exe.run(feed=feed)
    np.testing.assert_array_equal(before, kept)


def test_lod_tensors_keep_their_lod(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[1], lod_level=1)
    y = fluid.layers.abs(x)
    tensor = fluid.create_lod_tensor(np.arange(-3, 0, dtype=np.float32).reshape(3, 1), [[2, 1]], fluid.CPUPlace())
    (result,) = exe.run(feed={"x": tensor}, fetch_list=[y], return_numpy=False)
    assert (result.lod(), np.array(result).ravel().tolist()) == ([[0, 2, 3]], [3, 2, 1])
    with pytest.raises(RuntimeError, match=r"Some of your fetched tensors hold LoD information.*return_numpy"):
        exe.run(feed={"x": tensor}, fetch_list=[y])


def test_temporaries_vanish_and_persistables_go_to_the_outermost_scope(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[2])
    y = fluid.layers.fc(x, size=1)
    root = fluid.Scope()
    inner = root.new_scope()
    exe.run(fluid.default_startup_program(), scope=inner)
    exe.run(feed={"x": np.ones((1, 2), np.float32)}, fetch_list=[y], scope=inner)
    assert root.find_var("fc_0.w_0") is not None
    assert inner.find_var(y.name) is None
    assert inner.local_var_names() == []
    assert fluid.global_scope().find_var("fc_0.w_0") is None


def test_scopes_hold_separate_parameters(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[1])
    y = fluid.layers.fc(x, size=1, bias_attr=False)
    scopes = [fluid.Scope(), fluid.Scope()]
    feed = {"x": np.ones((1, 1), np.float32)}
    for value, scope in enumerate(scopes):
        exe.run(fluid.default_startup_program(), scope=scope)
        scope.var("fc_0.w_0").get_tensor().set(np.full((1, 1), value, np.float32), fluid.CPUPlace())
    results = [float(exe.run(feed=feed, fetch_list=[y], scope=scope)[0]) for scope in [*scopes, *scopes]]
    assert results == [0, 1, 0, 1]


def test_running_startup_again_initialises_again(exe: fluid.Executor) -> None:
    fluid.default_startup_program().random_seed = 3
    x = fluid.layers.data("x", shape=[2])
    loss = fluid.layers.mean(fluid.layers.fc(x, size=1))
    fluid.optimizer.SGD(0.5).minimize(loss)
    weights = []
    for _ in range(2):
        exe.run(fluid.default_startup_program())
        weights.append(np.array(fluid.global_scope().var("fc_0.w_0").get_tensor()))
        exe.run(feed={"x": np.ones((1, 2), np.float32)})
    np.testing.assert_array_equal(weights[0], weights[1])


@pytest.mark.parametrize("use_program_cache", [False, True])
def test_a_program_that_grows_between_runs_is_seen(exe: fluid.Executor, use_program_cache: bool) -> None:
    y = _square()
    feed = {"x": np.full((1, 2), 2, np.float32)}
    exe.run(feed=feed, fetch_list=[y], use_program_cache=use_program_cache)
    z = fluid.layers.elementwise_add(y, y)
    (result,) = exe.run(feed=feed, fetch_list=[z], use_program_cache=use_program_cache)
    assert result.tolist() == [[8, 8]]


def test_the_batch_size_may_change_between_runs(exe: fluid.Executor) -> None:
    y = _square()
    for rows in (3, 1, 5):
        (result,) = exe.run(feed={"x": np.ones((rows, 2), np.float32)}, fetch_list=[y])
        assert result.shape == (rows, 2)


def test_two_programs_with_equal_names_do_not_mix(exe: fluid.Executor) -> None:
    results = []
    for layer in (fluid.layers.abs, fluid.layers.exp):
        main = fluid.Program()
        with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
            y = layer(fluid.layers.data("x", shape=[1]))
            main.global_block().create_var(name="out", persistable=True)
        feed = {"x": np.zeros((1, 1), np.float32)}
        results.append(float(exe.run(main, feed=feed, fetch_list=[y], use_program_cache=True)[0]))
    assert results == [0.0, 1.0]


def test_an_intermediate_gradient_can_be_fetched(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[2], stop_gradient=False)
    loss = fluid.layers.mean(fluid.layers.elementwise_mul(x, x))
    fluid.backward.append_backward(loss)
    (gradient,) = exe.run(feed={"x": np.array([[1, 3]], np.float32)}, fetch_list=["x@GRAD"])
    assert gradient.tolist() == [[1, 3]]


def test_a_variable_used_twice_by_one_op_gets_both_gradients(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[2], stop_gradient=False)
    y = fluid.layers.elementwise_mul(x, x)
    fluid.backward.append_backward(fluid.layers.mean(fluid.layers.elementwise_mul(y, x)))
    (gradient,) = exe.run(feed={"x": np.array([[1, 2]], np.float32)}, fetch_list=["x@GRAD"])
    assert gradient.tolist() == [[1.5, 6.0]]  # of the mean of x ** 3


def test_a_result_of_one_element_converts_to_a_number(exe: fluid.Executor) -> None:
    loss = fluid.layers.mean(fluid.layers.data("x", shape=[2]))
    (result,) = exe.run(feed={"x": np.array([[1, 2]], np.float32)}, fetch_list=[loss])
    assert result.shape == (1,)
    assert (float(result), int(result), round(result, 1), "%.2f" % result, f"{result:.1f}") == (
        1.5,
        1,
        1.5,
        "1.50",
        "1.5",
    )
    assert not math.isnan(result)
    assert repr(result) == "array([1.5], dtype=float32)"
    assert type(pickle.loads(pickle.dumps(result))) is np.ndarray
    (pair,) = exe.run(feed={"x": np.array([[1, 2]], np.float32)}, fetch_list=["x"])
    with pytest.raises(TypeError, match=r"this one has shape \(1, 2\)"):
        float(pair)
    with pytest.raises(TypeError, match="only integer"):
        [1, 2, 3][result]


def test_numbers_are_fed_as_the_variable_wants_them(exe: fluid.Executor) -> None:
    y = fluid.layers.abs(fluid.layers.data("x", shape=[1], append_batch_size=False))
    (result,) = exe.run(feed={"x": -2}, fetch_list=[y])
    assert (result.tolist(), result.dtype.name) == ([2.0], "float32")


def test_a_list_of_one_feed_is_unwrapped_and_none_is_nothing(exe: fluid.Executor) -> None:
    y = _square()
    feed = {"x": np.ones((1, 2), np.float32)}
    assert exe.run(feed=[feed], fetch_list=[y])[0].tolist() == [[1, 1]]
    nothings: list[Any] = [None, {}, []]
    assert [exe.run(fluid.Program(), feed=nothing) for nothing in nothings] == [[], [], []]


def test_executors_show_their_place(exe: fluid.Executor) -> None:
    assert repr(exe) == "Executor(CPUPlace)"
    assert repr(fluid.Executor()) == "Executor(CPUPlace)" or fluid.is_compiled_with_cuda()
