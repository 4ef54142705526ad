"""Gradients of branches, and of what depends on constants alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers as L
from fluidio.layers.control_flow import ConditionalBlock


@pytest.fixture(autouse=True)
def _programs() -> Iterator[None]:
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        yield


def test_a_branch_gives_a_gradient_to_its_condition() -> None:
    x = L.data("x", [1])
    x.stop_gradient = False
    out = L.create_tensor("float32")
    with ConditionalBlock([x]).block():
        L.assign(L.scale(x, 3.0), out)
    fluid.backward.append_backward(L.mean(out))
    (grad,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.ones((2, 1), "float32")}, fetch_list=["x@GRAD"])
    np.testing.assert_allclose(grad, [[1.5], [1.5]])


def test_a_constant_that_is_to_have_a_gradient_has_one() -> None:
    a, b = L.fill_constant([1], "float32", 1.0), L.fill_constant([1], "float32", 2.0)
    a.stop_gradient = b.stop_gradient = False
    out = L.cond(L.less_than(b, a), lambda: a, lambda: b)
    fluid.backward.append_backward(out)
    found = fluid.Executor(fluid.CPUPlace()).run(fetch_list=[a.grad_name, b.grad_name])
    assert [float(value[0]) for value in found] == [0.0, 1.0]


def test_what_comes_from_data_has_a_gradient_to_fetch() -> None:
    hidden = L.relu(L.scale(fluid.data("x", [2, 3]), 2.0))
    loss = L.mean(L.fc(hidden, 1, param_attr=fluid.ParamAttr(initializer=fluid.initializer.Constant(2.0))))
    fluid.backward.append_backward(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    (grad,) = exe.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=[hidden.grad_name])
    np.testing.assert_allclose(grad, np.ones((2, 3)))
