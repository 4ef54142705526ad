"""A column beside as many numbers, as in the documentation of IfElse, is compared one by one."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


@pytest.mark.parametrize("name", ["less_than", "less_equal", "greater_than", "greater_equal", "equal", "not_equal"])
def test_a_column_is_compared_with_its_own_numbers(name: str) -> None:
    x = fluid.data("x", [None, 1], "int64")
    y = fluid.data("y", [None], "int64")
    out = getattr(fluid.layers, name)(x, y)
    assert out.shape == (-1, 1)
    a, b = np.array([[1], [2], [3]]), np.array([2, 2, 2])
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": a, "y": b}, fetch_list=[out])
    expected = {"less": a[:, 0] < b, "greater": a[:, 0] > b}.get(name.split("_")[0], np.zeros(3, bool))
    if name.endswith("equal"):
        expected = expected | (a[:, 0] == b)
    if name == "not_equal":
        expected = a[:, 0] != b
    np.testing.assert_array_equal(found, expected[:, None])


def test_branches_of_if_else_take_the_rows_of_such_a_condition() -> None:
    label = fluid.data("label", [None, 1], "int64")
    limit = fluid.layers.fill_constant_batch_size_like(label, shape=[1], dtype="int64", value=5.0)
    branch = fluid.layers.IfElse(fluid.layers.less_than(label, limit))
    with branch.true_block():
        branch.output(branch.input(label) * 10)
    with branch.false_block():
        branch.output(branch.input(label) * -1)
    labels = np.array([[1], [7], [4], [5]])
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed={"label": labels}, fetch_list=branch())
    np.testing.assert_array_equal(found, [[10], [-7], [40], [-5]])
