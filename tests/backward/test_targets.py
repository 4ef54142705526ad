"""`fluid.gradients` of several targets, with given gradients, and for a second time; op lists and numbers of 1.8.5."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers


@pytest.fixture(autouse=True)
def _era() -> Any:
    with fluid.use_era("1.8"), fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        yield


def network() -> tuple[Any, Any, Any]:
    x = layers.data("x", [4])
    x.stop_gradient = False
    constant = fluid.initializer.Constant
    h = layers.fc(x, 3, act="tanh", param_attr=constant(0.3), bias_attr=constant(0.1))
    return x, h, layers.fc(h, 2, param_attr=constant(0.4))


def run(*fetched: Any) -> list[Any]:
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        exe.run(fluid.default_startup_program())
        feed = {"x": np.arange(8, dtype="float32").reshape(2, 4) / 8, "t": np.array([[1, 3], [4, 1]], "float32")}
        known = fluid.default_main_program().global_block().vars
        feed = {name: value for name, value in feed.items() if name in known}
        found: list[Any] = exe.run(feed=feed, fetch_list=list(fetched))
        return found


def ops() -> list[Any]:
    return list(fluid.default_main_program().global_block().ops)


def test_a_given_gradient_is_read_under_its_own_name() -> None:
    x, _, y = network()
    given = layers.data("t", [2])
    (found,) = fluid.gradients(y, x, given)
    assert [op.type for op in ops()[5:]] == [
        "elementwise_add_grad",
        "mul_grad",
        "tanh_grad",
        "elementwise_add_grad",
        "mul_grad",
    ]
    assert ops()[5].input("Out@GRAD") == ["t"]
    assert np.allclose(run(found)[0][0], 0.4 * 0.3 * 3 * 4 * (1 - np.tanh(0.1 + 0.3 * 0.75) ** 2))


def test_a_target_behind_another_takes_its_place_as_in_fluid() -> None:
    x, _, y = network()
    with pytest.warns(UserWarning, match=r"complete=True"):
        (found,) = fluid.gradients([layers.softmax(y), y], [x])
    assert np.allclose(run(found)[0], 0.0)  # the gradient of the sum of a softmax


def test_complete_gradients_add_the_parts_of_both_targets() -> None:
    x, _, y = network()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = fluid.gradients([layers.softmax(y), y], [x], complete=True)
    assert np.allclose(run(found)[0][0], 2 * 0.4 * 0.3 * 3 * (1 - np.tanh(0.1 + 0.3 * 0.75) ** 2))


def test_a_given_gradient_stays_as_it_is_where_another_target_adds_to_it() -> None:
    x, _, y = network()
    given = layers.data("t", [2])
    with pytest.warns(UserWarning, match="only one of the two parts"):
        (found,) = fluid.gradients([y, y + 1.0], [x], [given, given])
    assert np.allclose(run(found)[0][0], 0.4 * 0.3 * 3 * 4 * (1 - np.tanh(0.1 + 0.3 * 0.75) ** 2))


def test_the_gradients_of_targets_are_numbered_in_later_passes() -> None:
    x, h, y = network()
    for target in (y, h, y):
        fluid.gradients(target, x)
    filled = [op.output("Out")[0] for op in ops() if op.type == "fill_constant"]
    assert filled == ["fc_1.tmp_1@GRAD", "fc_0.tmp_2@GRAD_0", "fc_1.tmp_1@GRAD_0"]


def test_a_second_loss_has_a_numbered_gradient() -> None:
    _, _, y = network()
    loss = layers.mean(y)
    fluid.append_backward(loss)
    pairs = fluid.append_backward(loss)
    assert sorted(g.name for _, g in pairs)[0] == "grad/grad/fc_0.b_0@GRAD"
    filled = [op.output("Out")[0] for op in ops() if op.type == "fill_constant"]
    assert filled == ["mean_0.tmp_0@GRAD", "mean_0.tmp_0@GRAD_0"]


def test_calc_gradient_returns_one_gradient_alone() -> None:
    x, h, y = network()
    assert isinstance(fluid.backward.calc_gradient(y, x), fluid.Variable)
    assert fluid.backward.calc_gradient(y, layers.data("q", [3])) is None
    assert isinstance(fluid.backward.calc_gradient(y, [x, h]), list)
