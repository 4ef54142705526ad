"""Operators on variables become ops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

A = np.array([[1.0, -2.0, 3.5]], np.float32)
B = np.array([[2.0, 4.0, 0.5]], np.float32)


def _run(build: Callable[[Any, Any], Any]) -> np.ndarray[Any, Any]:
    a, b = fluid.layers.data("a", shape=[3]), fluid.layers.data("b", shape=[3])
    out = build(a, b)
    (result,) = fluid.Executor(fluid.CPUPlace()).run(feed={"a": A, "b": B}, fetch_list=[out])
    return np.asarray(result)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_arithmetic_of_two_variables(op: Callable[[Any, Any], Any]) -> None:
    np.testing.assert_allclose(_run(op), op(A, B), rtol=1e-6)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_arithmetic_with_numbers_on_either_side(op: Callable[[Any, Any], Any]) -> None:
    np.testing.assert_allclose(_run(lambda a, b: op(a, 2.0)), op(A, 2), rtol=1e-6)
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        np.testing.assert_allclose(_run(lambda a, b: op(2.0, a)), op(np.float32(2), A), rtol=1e-6)


def test_powers() -> None:
    np.testing.assert_allclose(_run(lambda a, b: b**2.0), B**2, rtol=1e-6)


def test_the_result_is_named_as_in_fluid() -> None:
    a = fluid.layers.data("a", shape=[3])
    assert (a + a).name == "tmp_0"


def test_astype_casts() -> None:
    assert _run(lambda a, b: a.astype("int64")).tolist() == [[1, -2, 3]]


def test_gradients_go_through_operators() -> None:
    a = fluid.layers.data("a", shape=[3], stop_gradient=False)
    fluid.backward.append_backward(fluid.layers.mean((a * a + a / 2.0 - 1.0) * 3.0))
    (gradient,) = fluid.Executor(fluid.CPUPlace()).run(feed={"a": A}, fetch_list=["a@GRAD"])
    np.testing.assert_allclose(gradient, 2 * A + 0.5, rtol=1e-6)


def test_rows_of_a_known_number_can_be_unpacked() -> None:
    first, second = fluid.layers.assign(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    results = fluid.Executor(fluid.CPUPlace()).run(fetch_list=[first, second])
    assert [result.tolist() for result in results] == [[1.0, 2.0], [3.0, 4.0]]


def test_a_loop_over_rows_of_an_unknown_number_is_refused() -> None:
    x = fluid.layers.data("x", shape=[3])
    with pytest.raises(TypeError, match="cannot iterate over Variable.'x'.*known only when the program runs"):
        list(x)
    assert fluid.default_main_program().global_block().ops == []
