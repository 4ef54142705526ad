"""Operators on variables become ops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops.math import elementwise

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
    0,
    -1,
    -2,
    np.int64(1),
    slice(1, None),
    slice(-2, None),
    slice(None, None, -1),
    slice(2, 0, -1),
    (0, 1),
    (..., 1),
    (slice(1, None), ..., -1),
    (0, slice(None, None, 2)),
    (slice(None, None, 2), 1),
    (0, slice(None), slice(None, None, -2)),
    (slice(None), slice(1, 3), slice(0, 4, 3)),
    (slice(None),),
    ...,
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_an_index_means_what_it_means_in_numpy(index: Any) -> None:
    array = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    x = fluid.layers.data("x", shape=[3, 4, 5], append_batch_size=False)
    part = x[index]
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": array}, fetch_list=[part])
    assert found.tolist() == array[index].tolist()
    assert part.shape == array[index].shape


@pytest.mark.parametrize("number", [-3, -1, 0, 2])
def test_a_variable_as_an_index_counts_from_the_end_too(number: int) -> None:
    array = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    x = fluid.layers.data("x", shape=[3, 4, 5], append_batch_size=False)
    index: Any = fluid.layers.fill_constant([1], "int32", number)
    parts = [x[index], x[index, 0:4:2], x[0:3:2, index, 1:]]
    found = fluid.Executor(fluid.CPUPlace()).run(feed={"x": array}, fetch_list=parts)
    for part, wanted in zip(found, (array[number], array[number, 0:4:2], array[0:3:2, number, 1:])):
        np.testing.assert_array_equal(part, wanted)


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


def test_a_list_is_no_operand() -> None:
    x = fluid.layers.data("x", shape=[3])
    with pytest.raises(TypeError, match="use a number or another Variable"):
        _ = x + [1.0]


# Declared shapes of X and Y, fed shapes, then what 1.8.5 appends (axis), declares and computes.
ALIGNED: list[Any] = [
    ([-1, 1], [-1], (4, 1), (4,), 0, (-1, 1), (4, 1)),
    ([3], [2, 3], (3,), (2, 3), -1, (2, 3), (2, 3)),
    ([-1], [-1, 3], (4,), (4, 3), 0, (-1, 3), (4, 3)),
    ([-1, 3], [-1], (4, 3), (4,), 0, (-1, 3), (4, 3)),
    ([-1], [4, 2], (2,), (4, 2), -1, (4, 2), (4, 2)),
    ([-1, 3], [2, 3], (2, 3), (2, 3), -1, (2, 3), (2, 3)),
    ([-1, 1], [-1, 2, 3], (4, 1), (4, 2, 3), 0, (-1, 2, 3), (4, 2, 3)),
    ([3], [-1, 3], (3,), (3, 3), 0, (3, 3), (3, 3)),
]
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt, operator.ge]


@pytest.mark.parametrize("case", ALIGNED, ids=lambda case: f"{case[0]} op {case[1]}")
@pytest.mark.parametrize("op", OPERATORS)
def test_the_right_operand_stands_where_its_batch_dim_says(
    op: Callable[[Any, Any], Any], case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elementwise, "_warned", True)
    x_shape, y_shape, x_fed, y_fed, axis, declared, result = case
    x, y = fluid.data("x", x_shape), fluid.data("y", y_shape)
    out = op(x, y)
    made = fluid.default_main_program().global_block().ops[-1]
    if op in (operator.lt, operator.ge) and axis == -1:  # Fluid: a comparison leaves unknown dims of X unknown
        dims = [1] * (len(declared) - len(x_shape)) + x_shape
        declared = tuple(-1 if dim == -1 else size for dim, size in zip(dims, declared))
    assert (made.input("X"), made.input("Y"), made.attr("axis"), out.shape) == (["x"], ["y"], axis, declared)
    a = np.arange(1, 1 + np.prod(x_fed), dtype=np.float32).reshape(x_fed)
    b = np.arange(1, 1 + np.prod(y_fed), dtype=np.float32).reshape(y_fed) / 4
    (value,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": a, "y": b}, fetch_list=[out])
    assert value.shape == result
    swapped = op is operator.pow and a.ndim < b.ndim  # Fluid: such a power takes Y for X
    if axis == 0:
        a, b = (v.reshape(v.shape + (1,) * (len(result) - v.ndim)) for v in (a, b))
    np.testing.assert_allclose(value, op(b, a) if swapped else op(a, b), rtol=1e-6)


def test_gradients_reach_a_left_operand_of_lower_rank() -> None:
    x, y = fluid.data("x", [-1]), fluid.data("y", [-1, 3])
    x.stop_gradient = y.stop_gradient = False
    gradients = fluid.gradients(fluid.layers.reduce_sum(x * y), [x, y])
    a, b = np.array([1, 2], np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    dx, dy = fluid.Executor(fluid.CPUPlace()).run(feed={"x": a, "y": b}, fetch_list=gradients)
    assert dx.tolist() == [3.0, 12.0]
    assert dy.tolist() == [[1.0] * 3, [2.0] * 3]


# What `op(x, number)` appends in 1.8.5: op types, the name of the result, scale and bias.
NUMBERS: list[Any] = [
    (lambda x: x + 2, "float32", ["scale"], "tmp_0", 1.0, 2.0),
    (lambda x: 2.0 + x, "float32", ["scale"], "tmp_0", 1.0, 2.0),
    (lambda x: x - 2, "float32", ["scale"], "tmp_0", 1.0, -2.0),
    (lambda x: 2 - x, "float32", ["scale"], "tmp_0", -1.0, 2.0),
    (lambda x: x * 0.5, "float64", ["scale"], "tmp_0", 0.5, 0.0),
    (lambda x: 3 * x, "int64", ["scale"], "tmp_0", 3.0, 0.0),
    (lambda x: x / 4, "float32", ["scale"], "tmp_0", 0.25, 0.0),
    (lambda x: x / 4, "int32", ["fill_constant", "elementwise_div"], "tmp_1", None, None),
    (lambda x: x * np.float32(1.5), "float32", ["fill_constant", "elementwise_mul"], "tmp_1", None, None),
    (lambda x: np.float32(1.5) * x, "float32", ["scale"], "tmp_0", 1.5, 0.0),
    (lambda x: x**2, "float32", ["fill_constant", "elementwise_pow"], "tmp_1", None, None),
    (lambda x: 2 / x, "float32", ["fill_constant_batch_size_like", "elementwise_div"], "tmp_1", None, None),
    (lambda x: x < 2, "float32", ["fill_constant", "less_than"], "tmp_1", None, None),
]


@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_becomes_a_scale_op_in_1_8(case: Any) -> None:
    build, dtype, types, name, scale, bias = case
    with fluid.use_era("1.8"):
        out = build(fluid.data("x", [-1, 3], dtype))
    ops = fluid.default_main_program().global_block().ops
    assert [op.type for op in ops] == types
    assert out.name == name
    if scale is not None:
        assert (ops[0].attr("scale"), ops[0].attr("bias")) == (scale, bias)


def test_a_number_was_a_constant_until_1_5() -> None:
    with fluid.use_era("1.5"):
        out = fluid.data("x", [-1, 3]) + 2
    assert [op.type for op in fluid.default_main_program().global_block().ops] == ["fill_constant", "elementwise_add"]
    assert out.name == "tmp_1"


def test_a_number_over_a_variable_with_several_unknown_dims() -> None:
    x = fluid.data("x", [-1, 3, -1, -1])
    fed = np.arange(1, 49, dtype=np.float32).reshape(2, 3, 2, 4)
    (value,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": fed}, fetch_list=[1.0 / x])
    np.testing.assert_allclose(value, 1 / fed, rtol=1e-6)


def test_integers_take_a_fraction_without_its_decimals_and_say_so() -> None:
    x = fluid.data("x", [2, 3], "int64")
    with pytest.warns(UserWarning, match="and 2.5: like Fluid, fluidio uses 2, .*astype"):
        less = x < 2.5
    with pytest.warns(UserWarning, match="fluidio uses 1"):
        quotient = x / 1.5
    half = x * 0.5  # refused by 1.8.5
    feed = {"x": np.arange(1, 7).reshape(2, 3)}
    values = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[less, quotient, half])
    assert values[0].tolist() == [[True, False, False], [False, False, False]]
    assert values[1].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert values[2].tolist() == [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]


def test_a_division_by_zero_is_infinite() -> None:
    with fluid.use_era("1.8"):
        out = fluid.data("x", [2]) / 0
    with np.errstate(divide="ignore"):
        (value,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.array([1, -1], np.float32)}, fetch_list=[out])
    assert value.tolist() == [np.inf, -np.inf]


def _number(value: int, dtype: str = "int32") -> Any:
    return fluid.layers.fill_constant([1], dtype, value)


# An index, what 1.8.5 declares for x [4, 6], the name of the result, and the same index in NumPy.
BY_VARIABLES: list[Any] = [
    (lambda x: x[0 : _number(2)], (-1, 6), "x_slice_0", lambda a: a[0:2]),
    (lambda x: x[_number(1) : 3], (-1, 6), "x_slice_0", lambda a: a[1:3]),
    (lambda x: x[0 : 4 : _number(2)], (-1, 6), "x_strided_slice_0", lambda a: a[0:4:2]),
    (lambda x: x[_number(1)], (6,), "x_slice_0", lambda a: a[1]),
    (lambda x: x[_number(-1)], (6,), "x_slice_0", lambda a: a[-1]),
    (lambda x: x[_number(1), 1:3], (2,), "x_slice_0", lambda a: a[1, 1:3]),
    (lambda x: x[1, _number(1) : 3], (-1,), "x_slice_0", lambda a: a[1, 1:3]),
    (lambda x: x[:, _number(1) : _number(3)], (4, -1), "x_slice_0", lambda a: a[:, 1:3]),
    (lambda x: x[_number(1), _number(2)], (1,), "x_slice_0", lambda a: a[1, 2:3]),
    (lambda x: x[_number(3) : _number(0) : _number(-1)], (-1, 6), "x_strided_slice_0", lambda a: a[3:0:-1]),
    (lambda x: x[_number(0), 0:6:2], (3,), "x_strided_slice_0", lambda a: a[0, 0:6:2]),
    (lambda x: x[0 : _number(99)], (-1, 6), "x_slice_0", lambda a: a[0:99]),
    (lambda x: x[1:3, ::-1], (2, 6), "x_slice_reverse_0", lambda a: a[1:3, ::-1]),
    (lambda x: x[0, 0:6:2], (3,), "x_strided_slice_0", lambda a: a[0, 0:6:2]),
    (lambda x: x[0, ::-1], (6,), "x_slice_reverse_0", lambda a: a[0, ::-1]),  # 1.8.5 refuses it
    (lambda x: x[_number(1, "int64")], (6,), "x_slice_0", lambda a: a[1]),  # 1.8.5 takes int32 alone
]


@pytest.mark.parametrize("case", BY_VARIABLES)
def test_an_index_of_variables(case: Any) -> None:
    build, declared, name, expected = case
    x = fluid.data("x", [4, 6])
    x.stop_gradient = False
    out = build(x)
    assert (out.shape, out.name) == (declared, name)
    (gradient,) = fluid.gradients(fluid.layers.reduce_sum(out * out), x)
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    value, slope = fluid.Executor(fluid.CPUPlace()).run(feed={"x": array}, fetch_list=[out, gradient])
    np.testing.assert_array_equal(value, expected(array))
    kept = np.isin(array, expected(array))
    np.testing.assert_array_equal(slope, 2 * array * kept)


def test_an_index_of_a_variable_appends_the_ops_of_1_8_5() -> None:
    out = fluid.data("x", [4, 6])[_number(1), 2]
    assert out.name == "x_slice_0"
    ops = fluid.default_main_program().global_block().ops
    made = [(op.type, op.output("Out")[0]) for op in ops[1:]]
    assert made == [
        ("fill_constant", "_generated_var_0"),
        ("elementwise_add", "_generated_var_1"),
        ("fill_constant", "_generated_var_2"),
        ("fill_constant", "_generated_var_3"),
        ("slice", "x_slice_0"),
    ]
    assert ops[-1].input("StartsTensorList") == ["fill_constant_0.tmp_0", "_generated_var_2"]
    assert ops[-1].input("EndsTensorList") == ["_generated_var_1", "_generated_var_3"]
    flags = [ops[-1].attr(name) for name in ("starts", "ends", "decrease_axis", "infer_flags")]
    assert flags == [[-1, 2], [-1, 3], [0, 1], [-1, 1]]


def test_a_variable_as_the_only_number_of_a_slice_warns_that_it_reverses() -> None:
    with fluid.use_era("1.8"), fluid.program_guard(fluid.Program(), fluid.Program()):
        x, step = fluid.data("x", [4]), fluid.data("step", [1], "int32")
        with pytest.warns(UserWarning, match=r"write \[0::step\] for steps"):
            out = x[::step]
        assert out.block.ops[-1].type == "reverse"
        assert x[0::step].block.ops[-1].type == "strided_slice"
