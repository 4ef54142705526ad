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


INDICES: list[Any] = [
    0, -1, -2, np.int64(1), slice(1, None), slice(-2, None), slice(None, None, -1), slice(2, 0, -1), (0, 1), (..., 1),
    (slice(1, None), ..., -1), (0, slice(None, None, 2)), (slice(None, None, 2), 1),
    (0, slice(None), slice(None, None, -2)),
    (slice(None), slice(1, 3), slice(0, 4, 3)), (slice(None),), ...,
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_an_index_means_what_it_means_in_numpy(index: Any) -> None:
    array = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    x = fluid.layers.data("x", shape=[3, 4, 5], append_batch_size=False)
    part = x[index]
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": array}, fetch_list=[part])
    assert found.tolist() == array[index].tolist()
    assert part.shape == array[index].shape


@pytest.mark.parametrize(("index", "kind"), [(None, TypeError), ([0, 1], TypeError), ((0, 0, 0, 0), IndexError)])
def test_what_is_no_index_is_refused(index: Any, kind: type[Exception]) -> None:
    x = fluid.layers.data("x", shape=[3, 4, 5], append_batch_size=False)
    with pytest.raises(kind, match="indexed by|got 4 indices"):
        _ = x[index]
    assert fluid.default_main_program().global_block().ops == []


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_give_truth_by_element(op: Callable[[Any, Any], Any]) -> None:
    np.testing.assert_array_equal(_run(op), op(A, B))
    with fluid.program_guard(fluid.Program()):
        np.testing.assert_array_equal(_run(lambda a, b: op(a, 1.0)), op(A, np.float32(1.0)))


def test_whole_numbers_divide_as_in_cpp_and_fractions_make_floats() -> None:
    i = fluid.layers.data("i", shape=[3], dtype="int64")
    feed = {"i": np.array([[7, -7, 3]])}
    results = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[i // 2, i % 2, 1.5 * i])
    assert [result.tolist() for result in results] == [[[3, -3, 1]], [[1, -1, 1]], [[10.5, -10.5, 4.5]]]


def test_a_left_operand_of_smaller_rank_is_swapped_or_refused() -> None:
    x = fluid.layers.data("x", shape=[3])
    row = fluid.layers.assign(np.array([1.0, 2.0, 3.0], np.float32))
    (out,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": A}, fetch_list=[row * x])
    np.testing.assert_array_equal(out, A * np.array([1, 2, 3], np.float32))
    with pytest.raises(AssertionError, match="elementwise_sub: the left operand .* must have at least the rank"):
        _ = row - x
    with pytest.raises(TypeError, match="use a number or another Variable"):
        _ = x + [1.0]
