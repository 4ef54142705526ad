"""Gradients of variables that an op or a loop replaces; the numbers are those of 1.8.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers as L


def _gradients(loss: Any, names: list[str], **feed: list[float]) -> list[list[float]]:
    fluid.backward.append_backward(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    fed = {name: np.array(value, "float32") for name, value in feed.items()}
    found = exe.run(feed=fed, fetch_list=[f"{name}@GRAD" for name in names])
    return [np.asarray(value).reshape(-1).tolist() for value in found]


def _given(name: str, size: int = 1) -> Any:
    variable = fluid.data(name, [size])
    variable.stop_gradient = False
    return variable


def _weight() -> Any:
    return L.create_parameter([1], "float32", name="w", default_initializer=fluid.initializer.Constant(3.0))


def _zero() -> Any:
    zero = L.fill_constant([1], "float32", 0.0)
    zero.stop_gradient = False
    return zero


def _loop(times: int, body: Callable[[Any], object]) -> None:
    count, end = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", times)
    condition = L.less_than(count, end)
    with L.While(condition).block():
        body(count)
        L.increment(count)
        L.less_than(count, end, cond=condition)


def test_sums_into_a_variable_with_a_value_reach_every_input() -> None:
    x, y = _given("x", 2), _given("y", 2)
    total = L.fill_constant([2], "float32", 0.0)
    total.stop_gradient = False
    L.sums([x * 2.0, y * 3.0, x], out=total)
    assert _gradients(L.mean(total), ["x", "y"], x=[1, 1], y=[1, 1]) == [[1.5, 1.5], [1.5, 1.5]]


def test_sums_into_one_of_their_inputs_reach_the_others() -> None:
    x, y = _given("x", 2), _given("y", 2)
    total = x * 2.0
    for factor in (1.0, 2.0, 3.0):
        L.sums([total, y * factor], out=total)
    assert _gradients(L.mean(total * total), ["x", "y"], x=[1, 2], y=[3, 5]) == [[40, 68], [120, 204]]


@pytest.mark.filterwarnings("ignore:the loop at")
def test_a_state_that_is_never_read_has_its_gradient_in_every_iteration() -> None:
    x, w, last = _given("x"), _weight(), _zero()
    _loop(4, lambda count: L.assign(x * w * L.cast(count, "float32"), last))
    assert _gradients(L.mean(last), ["w", "x"], x=[2]) == [[12], [18]]


@pytest.mark.filterwarnings("ignore:the loop at")
def test_sums_inside_a_loop_reach_every_input() -> None:
    x, w, last = _given("x"), _weight(), _zero()
    _loop(4, lambda _: L.sums([x * w, x], out=last))
    assert _gradients(L.mean(last), ["w", "x"], x=[2]) == [[8], [16]]


@pytest.mark.filterwarnings("ignore:the loop at")
def test_while_loop_counts_a_squared_counter_in_every_iteration() -> None:
    i, x = _given("i"), _given("x")

    def body(i: Any, x: Any) -> list[Any]:
        squared = L.elementwise_mul(i, i)
        return [L.increment(i), squared]

    _, found = L.while_loop(lambda i, x: i < 11.0, body, [i, x])
    assert _gradients(L.mean(found), ["i", "x"], i=[1], x=[1]) == [[110], [1]]


@pytest.mark.filterwarnings("ignore:the loop at")
@pytest.mark.parametrize(("times", "gradient"), [(3, 5), (0, 5)])
def test_what_a_loop_replaces_passes_its_gradient_on(times: int, gradient: float) -> None:
    x, w = _given("x"), _weight()
    last = w * 5.0
    _loop(times, lambda _: L.assign(x * x, last))
    assert _gradients(L.mean(last), ["w"], x=[1]) == [[gradient]]


def test_the_loop_tells_of_it_and_of_the_way_around() -> None:
    x, w, last = _given("x"), _weight(), _zero()
    _loop(3, lambda _: L.assign(x * w, last))
    with pytest.warns(UserWarning, match=r"loop at .*test_replaced.py:\d+.* in every iteration.*right_gradient=True"):
        fluid.backward.append_backward(L.mean(last))


def test_an_array_keeps_the_gradient_in_the_last_iteration() -> None:
    x, w = _given("x"), _weight()
    start = L.fill_constant([1], "int64", 0)
    kept = L.array_write(x, start)
    end = L.fill_constant([1], "int64", 2)
    _loop(3, lambda count: L.array_write(x * w * L.cast(count, "float32"), count, array=kept))
    assert _gradients(L.mean(L.array_read(kept, end)), ["w"], x=[2]) == [[4]]


def test_a_state_that_is_replaced_before_it_is_read_counts_in_the_last_iteration() -> None:
    x, w, state = _given("x"), _weight(), _zero()

    def body(_: Any) -> None:
        L.assign(x * w, state)
        L.assign(state * state, state)

    _loop(3, body)
    assert _gradients(L.mean(state), ["w", "x"], x=[1]) == [[6], [18]]
