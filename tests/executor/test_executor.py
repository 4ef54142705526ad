"""Executor.run: feeds, fetches, scopes, persistables, and errors that name variable, op and line."""

from __future__ import annotations

import math
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.fixture
def exe() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


def double() -> tuple[Any, Any]:
    x = fluid.layers.data("x", [3])
    return x, x + x


def test_a_fed_array_comes_back_computed(exe: fluid.Executor) -> None:
    _, y = double()
    np.testing.assert_array_equal(exe.run(feed={"x": X}, fetch_list=[y])[0], 2 * X)


def test_fetches_come_in_the_order_of_the_list(exe: fluid.Executor) -> None:
    x, y = double()
    got = exe.run(feed={"x": X}, fetch_list=[y, "x", x.name])
    assert [float(a[0, 1]) for a in got] == [2.0, 1.0, 1.0]


def test_a_single_variable_stands_for_a_list_of_one(exe: fluid.Executor) -> None:
    _, y = double()
    assert len(exe.run(feed={"x": X}, fetch_list=y)) == 1


def test_no_fetch_list_gives_an_empty_list(exe: fluid.Executor) -> None:
    double()
    assert exe.run(feed={"x": X}) == []


def test_a_list_of_one_feed_dict_is_unwrapped(exe: fluid.Executor) -> None:
    _, y = double()
    assert exe.run(feed=[{"x": X}], fetch_list=[y])[0].shape == (2, 3)


def test_two_feed_dicts_need_data_parallel(exe: fluid.Executor) -> None:
    double()
    with pytest.raises(AssertionError, match="Not compiled with data parallel"):
        exe.run(feed=[{"x": X}, {"x": X}])


def test_fetched_arrays_are_copies(exe: fluid.Executor) -> None:
    x, _ = double()
    got = exe.run(feed={"x": X}, fetch_list=[x])[0]
    got[:] = -1
    assert X[0, 1] == 1


def test_fetched_parameters_do_not_change_later(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", [3])
    loss = fluid.layers.mean(fluid.layers.fc(x, 2, param_attr="w"))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe.run(fluid.default_startup_program())
    first = exe.run(feed={"x": X}, fetch_list=["w"])[0]
    kept = first.copy()
    exe.run(feed={"x": X})
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("convert", [float, int, "%.1f".__mod__, "{:.1f}".format, math.sqrt, round])
def test_a_loss_of_shape_1_converts(exe: fluid.Executor, convert: Any) -> None:
    loss = fluid.layers.mean(double()[1])
    got = exe.run(feed={"x": X}, fetch_list=[loss])[0]
    assert got.shape == (1,)
    assert convert(got) in (5.0, 5, "5.0", math.sqrt(5.0))


def test_a_fetched_array_prints_and_pickles_as_an_ndarray(exe: fluid.Executor) -> None:
    got = exe.run(feed={"x": X}, fetch_list=[double()[0]])[0]
    assert repr(got).startswith("array(")
    assert type(pickle.loads(pickle.dumps(got))) is np.ndarray


def test_larger_arrays_do_not_convert_to_a_number(exe: fluid.Executor) -> None:
    got = exe.run(feed={"x": X}, fetch_list=[double()[0]])[0]
    with pytest.raises(TypeError, match="one element"):
        float(got)


def test_an_integer_result_is_an_index(exe: fluid.Executor) -> None:
    one = fluid.layers.fill_constant([1], "int64", 1)
    assert [10, 20][exe.run(fetch_list=[one])[0]] == 20


def test_lod_results_need_return_numpy_false(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", [3], lod_level=1)
    y = x + x
    feed = {"x": fluid.create_lod_tensor(X, [[1, 1]], fluid.CPUPlace())}
    with pytest.raises(RuntimeError, match="return_numpy"):
        exe.run(feed=feed, fetch_list=[y])
    (got,) = exe.run(feed=feed, fetch_list=[y], return_numpy=False)
    assert got.lod() == [[0, 1, 2]]


def test_persistables_live_in_the_scope_and_temporaries_do_not(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", [3])
    y = fluid.layers.fc(x, 2)
    exe.run(fluid.default_startup_program())
    exe.run(feed={"x": X}, fetch_list=[y])
    assert fluid.global_scope().find_var("fc_0.w_0") is not None
    assert fluid.global_scope().find_var(y.name) is None


def test_scopes_are_separate(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", [3])
    y = fluid.layers.fc(x, 2)
    one, two = fluid.Scope(), fluid.Scope()
    for scope in (one, two):
        exe.run(fluid.default_startup_program(), scope=scope)
    one.find_var("fc_0.w_0").get_tensor().set(np.zeros((3, 2), "float32"), fluid.CPUPlace())  # type: ignore[union-attr]
    assert not exe.run(feed={"x": X}, fetch_list=[y], scope=one)[0].any()
    assert exe.run(feed={"x": X}, fetch_list=[y], scope=two)[0].any()


def test_a_child_scope_uses_the_parameters_of_its_parent(exe: fluid.Executor) -> None:
    y = fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    parent = fluid.Scope()
    exe.run(fluid.default_startup_program(), scope=parent)
    assert exe.run(feed={"x": X}, fetch_list=[y], scope=parent.new_scope())[0].shape == (2, 2)


def test_a_tensor_set_in_the_scope_is_read(exe: fluid.Executor) -> None:
    _, y = double()
    fluid.global_scope().var("x").get_tensor().set(X, fluid.CPUPlace())
    np.testing.assert_array_equal(exe.run(fetch_list=[y])[0], 2 * X)


def test_running_startup_again_initialises_again(exe: fluid.Executor) -> None:
    fluid.default_startup_program().random_seed = 7
    fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    startup = fluid.default_startup_program()
    exe.run(startup)
    tensor = fluid.global_scope().find_var("fc_0.w_0").get_tensor()  # type: ignore[union-attr]
    tensor.set(np.zeros((3, 2), "float32"), fluid.CPUPlace())
    exe.run(startup)
    assert np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor()).any()  # type: ignore[union-attr]


def test_a_changed_program_is_compiled_again(exe: fluid.Executor) -> None:
    x, y = double()
    exe.run(feed={"x": X}, fetch_list=[y], use_program_cache=True)
    z = y + x
    np.testing.assert_array_equal(exe.run(feed={"x": X}, fetch_list=[z], use_program_cache=True)[0], 3 * X)


def test_two_threads_run_one_program_at_once(exe: fluid.Executor) -> None:
    _, y = double()
    wrong: list[Any] = []

    def work(factor: float) -> None:
        for _ in range(200):
            got = exe.run(feed={"x": X * factor}, fetch_list=[y])[0]
            if not np.array_equal(got, 2 * factor * X):
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(float(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_feed_is_not_changed_by_an_update_of_a_persistable(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", [3], append_batch_size=False)
    kept = fluid.layers.create_global_var([3], 0.0, "float32", persistable=True)
    fluid.default_main_program().global_block().append_op("assign", {"X": [x]}, {"Out": [kept]})
    value = np.ones(3, "float32")
    exe.run(fluid.default_startup_program())
    exe.run(feed={"x": value})
    value[:] = 5
    assert exe.run(feed={"x": np.zeros(3, "float32")}, fetch_list=[kept])[0].tolist() == [0, 0, 0]


# -- bad input ------------------------------------------------------------------------------------------------------


def test_an_unknown_feed_names_what_the_program_takes(exe: fluid.Executor) -> None:
    _, y = double()
    with pytest.raises(ValueError, match=r"'z'.*\['x'\]"):
        exe.run(feed={"z": X}, fetch_list=[y])


def test_an_unknown_feed_is_a_warning_in_1_8(exe: fluid.Executor) -> None:
    _, y = double()
    with fluid.use_era("1.8"), pytest.warns(UserWarning, match="ignored"):
        exe.run(feed={"x": X, "z": X}, fetch_list=[y])


def test_an_unknown_fetch_names_a_near_one(exe: fluid.Executor) -> None:
    x = fluid.layers.data("image", [3])
    fluid.layers.relu(x)
    with pytest.raises(ValueError, match="'imagee'.*image"):
        exe.run(feed={"image": X}, fetch_list=["imagee"])


@pytest.mark.parametrize("bad", [[1.0, 2.0], ([1.0],)])
def test_a_fed_list_says_what_to_feed_instead(exe: fluid.Executor, bad: Any) -> None:
    _, y = double()
    with pytest.raises(RuntimeError, match="'x' was fed a"):
        exe.run(feed={"x": bad}, fetch_list=[y])


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.zeros((2, 4), "float32"), r"shape = \[-1, 3\].*\[2, 4\]"), (np.zeros((2, 3), "float64"), "FP32.*FP64")],
)
def test_fluid_data_checks_shape_and_dtype(exe: fluid.Executor, value: Any, message: str) -> None:
    y = fluid.layers.relu(fluid.data("x", [None, 3]))
    with pytest.raises(ValueError, match=message):
        exe.run(feed={"x": value}, fetch_list=[y])


def test_a_missing_feed_names_op_variable_and_line(exe: fluid.Executor) -> None:
    _, y = double()
    with pytest.raises(
        fluid.core.EnforceNotMet, match=r"(?s)elementwise_add.*X\(x\) is not initialized.*test_executor.py:\d+"
    ):
        exe.run(fetch_list=[y])


def test_a_parameter_used_before_startup_says_so(exe: fluid.Executor) -> None:
    y = fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    with pytest.raises(fluid.core.EnforceNotMet, match=r"(?s)Y\(fc_0.w_0\) is not initialized.*startup program first"):
        exe.run(feed={"x": X}, fetch_list=[y])


def test_mismatched_shapes_at_run_time_name_the_inputs(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", [-1, -1], append_batch_size=False)
    y = fluid.layers.data("y", [-1, -1], append_batch_size=False)
    z = fluid.layers.elementwise_add(x, y)
    with pytest.raises(
        fluid.core.EnforceNotMet, match=r"(?s)mismatch.*input X = x \[2, 3\] float32.*built at .*test_executor"
    ):
        exe.run(feed={"x": X, "y": np.zeros((2, 4), "float32")}, fetch_list=[z])


def test_mismatched_shapes_at_build_time_name_the_line() -> None:
    x = fluid.layers.data("x", [3])
    w = fluid.layers.data("w", [4, 2], append_batch_size=False)
    with pytest.raises(fluid.core.EnforceNotMet, match=r"(?s)op mul.*3 columns.*4 rows.*test_executor.py"):
        fluid.layers.mul(x, w)
    assert fluid.default_main_program().global_block().ops == []


def test_a_closed_executor_refuses(exe: fluid.Executor) -> None:
    exe.close()
    exe.close()
    with pytest.raises(RuntimeError, match="closed Executor"):
        exe.run()


@pytest.mark.parametrize("program", ["main", 3, object()])
def test_anything_but_a_program_is_a_type_error(exe: fluid.Executor, program: Any) -> None:
    with pytest.raises(TypeError, match="requires Program"):
        exe.run(program)


def test_a_label_out_of_range_is_named(exe: fluid.Executor) -> None:
    p = fluid.layers.softmax(fluid.layers.data("x", [3]))
    loss = fluid.layers.cross_entropy(p, fluid.layers.data("y", [1], dtype="int64"))
    with pytest.raises(fluid.core.EnforceNotMet, match="label 3 is out of range.*3 classes"):
        exe.run(feed={"x": X, "y": np.array([[1], [3]])}, fetch_list=[loss])
