"""A feed of the wrong dtype or shape and a fetch of nothing are refused before anything has changed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import OpError

HERE = __file__.rpartition("/")[2]


@pytest.fixture
def exe() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


def _train(exe: fluid.Executor) -> tuple[Any, int]:
    """Build a regression on x, z and label and initialise it; return the loss and the line that built fc."""
    x = fluid.layers.data("x", shape=[3])
    z = fluid.data("z", [None, 1])
    label = fluid.layers.data("label", shape=[1])
    fluid.layers.data("idle", shape=[1])
    line = _here() + 1
    y = fluid.layers.fc(fluid.layers.scale(x, 1.0), size=1)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(y + z, label))
    fluid.optimizer.Momentum(learning_rate=0.1, momentum=0.9).minimize(loss)
    exe.run(fluid.default_startup_program())
    return loss, line


def _here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def _feed(**other: Any) -> dict[str, Any]:
    ones = np.ones((2, 1), np.float32)
    return {"x": np.ones((2, 3), np.float32), "z": ones, "label": ones, **other}


def _scope() -> dict[str, list[Any]]:
    scope = fluid.global_scope()
    return {name: np.array(scope.var(name).get_tensor()).tolist() for name in scope.local_var_names()}


@pytest.mark.parametrize("dtype", ["float64", "int64", "float16"])
def test_a_dtype_that_meets_another_names_the_op_and_the_feed(exe: fluid.Executor, dtype: str) -> None:
    loss, line = _train(exe)
    before = _scope()
    with pytest.raises(OpError) as caught:
        exe.run(feed=_feed(x=np.ones((2, 3), dtype)), fetch_list=[loss])
    text = str(caught.value)
    assert "op mul failed" in text and f"is {dtype}, Y(fc_0.w_0) is float32" in text
    assert f"'x' was declared float32 and fed as {dtype}: feed it with .astype('float32')" in text
    assert f"{HERE}:{line}" in text
    assert _scope() == before


def test_the_same_plan_runs_again_once_the_dtype_is_right(exe: fluid.Executor) -> None:
    loss, _ = _train(exe)
    with pytest.raises(OpError, match="'x' was declared float32"):
        exe.run(feed=_feed(x=np.ones((2, 3))), fetch_list=[loss])
    assert exe.run(feed=_feed(), fetch_list=[loss])[0].dtype == np.float32
    with pytest.raises(OpError, match="'label' was declared float32 and fed as int64") as caught:
        exe.run(feed=_feed(label=np.ones((2, 1), np.int64)), fetch_list=[loss])
    assert "'x' was declared" not in str(caught.value)


def test_a_dtype_that_meets_no_other_is_taken_as_it_comes(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[3])
    doubled = x + x
    (out,) = exe.run(feed={"x": np.ones((2, 3))}, fetch_list=[doubled])
    assert out.dtype == np.float64 and out.sum() == 12


@pytest.mark.parametrize("x", [np.ones((2, 3), ">f4"), np.ma.masked_array(np.ones((2, 3), np.float32))])
def test_arrays_of_another_make_are_plain_tensors(exe: fluid.Executor, x: Any) -> None:
    y = fluid.layers.data("x", shape=[3])
    weight = fluid.layers.fill_constant([3, 2], "float32", 2.0)
    outputs = exe.run(feed={"x": x}, fetch_list=[fluid.layers.mul(y, weight), y * y])
    assert [out.tolist() for out in outputs] == [[[6.0, 6.0]] * 2, [[1.0] * 3] * 2]
    assert {out.dtype.str for out in outputs} == {np.dtype(np.float32).str}


def test_a_wrong_dtype_is_found_inside_a_loop(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[3])
    weight = fluid.layers.fill_constant([3], "float32", 2.0)
    index = fluid.layers.fill_constant([1], "int64", 0)
    limit = fluid.layers.fill_constant([1], "int64", 2)
    going = fluid.layers.less_than(index, limit)
    loop = fluid.layers.While(going)
    with loop.block():
        fluid.layers.elementwise_mul(x, weight)
        fluid.layers.increment(index, 1, in_place=True)
        fluid.layers.less_than(index, limit, cond=going)
    with pytest.raises(OpError, match="op elementwise_mul failed.*float64"):
        exe.run(feed={"x": np.ones((2, 3))}, fetch_list=[index])


@pytest.mark.parametrize("array", [np.array([["a"]]), np.array([[None]]), np.ones((1, 1), np.complex64)])
def test_arrays_that_are_no_tensors_are_refused(exe: fluid.Executor, array: Any) -> None:
    loss, _ = _train(exe)
    with pytest.raises(TypeError, match=rf"'label'(.|\n)*taken by op elementwise_sub, built at .*{HERE}"):
        exe.run(feed=_feed(label=array), fetch_list=[loss])


@pytest.mark.parametrize("z", [np.ones((2, 4), np.float32), np.ones((2, 1))], ids=["shape", "dtype"])
def test_a_checked_feed_names_the_op_that_takes_it(exe: fluid.Executor, z: Any) -> None:
    loss, line = _train(exe)
    with pytest.raises(
        ValueError, match=rf"'z' was declared(.|\n)*taken by op elementwise_add, built at .*{HERE}:{line + 1}"
    ):
        exe.run(feed=_feed(z=z), fetch_list=[loss])


def test_a_fed_parameter_stays_as_it_was_when_another_feed_is_refused(exe: fluid.Executor) -> None:
    loss, _ = _train(exe)
    before = _scope()
    with pytest.raises(ValueError, match="'z' was declared"):
        exe.run(feed={"fc_0.w_0": np.zeros((3, 1), np.float32), **_feed(z=np.ones((2, 4)))}, fetch_list=[loss])
    assert _scope() == before


def test_a_parameter_is_not_overwritten_by_a_feed_of_another_shape(exe: fluid.Executor) -> None:
    loss, _ = _train(exe)
    before = _scope()
    with pytest.raises(
        ValueError, match=r"'fc_0.w_0' has shape \[3, 1\], but the array has shape \[5, 1\](.|\n)*op mul"
    ):
        exe.run(feed=_feed(**{"fc_0.w_0": np.zeros((5, 1), np.float32)}), fetch_list=[loss])
    assert _scope() == before
    exe.run(feed=_feed(**{"fc_0.w_0": np.zeros((3, 1), np.float32)}), fetch_list=[loss])
    assert _scope() != before


@pytest.mark.parametrize("places", [1, 2])
def test_a_fetch_that_nothing_makes_is_refused_before_the_step(exe: fluid.Executor, places: int) -> None:
    loss, _ = _train(exe)
    before = _scope()
    program: Any = fluid.default_main_program()
    if places > 1:
        program = fluid.CompiledProgram(program).with_data_parallel(loss.name, places=fluid.cpu_places(places))
    with pytest.raises(ValueError, match="'idle' holds no data"):
        exe.run(program, feed=_feed(), fetch_list=[loss, "idle"])
    assert _scope() == before


def test_a_closed_executor_says_where_it_was_closed(exe: fluid.Executor) -> None:
    exe.close()
    line = _here() - 1
    exe.close()
    with pytest.raises(RuntimeError, match=rf"this Executor was closed: .*{HERE}:{line}"):
        exe.run(fluid.default_startup_program())


def test_a_feed_of_another_width_is_told_with_the_shape_that_was_declared(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[4])
    y = fluid.layers.fc(x, size=2)
    exe.run(fluid.default_startup_program())
    with pytest.raises(OpError) as caught:
        exe.run(feed={"x": np.ones((3, 5), np.float32)}, fetch_list=[y])
    said = str(caught.value)
    assert said.startswith("op mul failed: X [3, 5] gives rows of 5 numbers, but Y [4, 2] needs rows of 4\n")
    assert "\n  'x' was declared with shape [-1, 4] and fed with [3, 5]\n" in said


def test_a_feed_that_fits_its_declaration_is_not_blamed(exe: fluid.Executor) -> None:
    ids = fluid.layers.data("ids", shape=[1], dtype="int64")
    row = fluid.layers.embedding(ids, size=[10, 2])
    exe.run(fluid.default_startup_program())
    with pytest.raises(OpError) as caught:
        exe.run(feed={"ids": np.array([[99]])}, fetch_list=[row])
    assert "was declared" not in str(caught.value)
