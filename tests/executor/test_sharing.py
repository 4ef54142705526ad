"""What runs share and what they must not: threads, scopes, arrays handed out."""

from __future__ import annotations

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


def test_two_feed_dicts_need_data_parallel(exe: fluid.Executor) -> None:
    double()
    with pytest.raises(AssertionError, match="with_data_parallel"):
        exe.run(feed=[{"x": X}, {"x": X}])


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


def test_a_child_scope_uses_the_parameters_of_its_parent(exe: fluid.Executor) -> None:
    y = fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    parent = fluid.Scope()
    exe.run(fluid.default_startup_program(), scope=parent)
    assert exe.run(feed={"x": X}, fetch_list=[y], scope=parent.new_scope())[0].shape == (2, 2)


def test_a_tensor_set_in_the_scope_is_read(exe: fluid.Executor) -> None:
    _, y = double()
    fluid.global_scope().var("x").get_tensor().set(X, fluid.CPUPlace())
    np.testing.assert_array_equal(exe.run(fetch_list=[y])[0], 2 * X)


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


def test_a_label_out_of_range_is_named(exe: fluid.Executor) -> None:
    p = fluid.layers.softmax(fluid.layers.data("x", [3]))
    loss = fluid.layers.cross_entropy(p, fluid.layers.data("y", [1], dtype="int64"))
    with pytest.raises(fluid.core.EnforceNotMet, match="label 3 is out of range.*3 classes"):
        exe.run(feed={"x": X, "y": np.array([[1], [3]])}, fetch_list=[loss])
