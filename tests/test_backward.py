"""Gradients as ops of the program."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


def value(fetch: list[object], **feed: object) -> list[np.ndarray]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch)


def test_a_variable_used_twice_sums_its_gradients() -> None:
    x = fluid.layers.data("x", [2])
    x.stop_gradient = False
    y = fluid.layers.mean(x * x + x)
    fluid.backward.append_backward(y)
    assert "sum" in [op.type for op in fluid.default_main_program().global_block().ops]
    data = np.array([[1.0, 3.0]], "float32")
    (dx,) = value(["x@GRAD"], x=data)
    np.testing.assert_allclose(dx, (2 * data + 1) / 2)


def test_stop_gradient_cuts_the_path() -> None:
    x = fluid.layers.data("x", [2])
    a = fluid.layers.fc(x, 2, param_attr="a", bias_attr=False)
    a.stop_gradient = True
    loss = fluid.layers.mean(fluid.layers.fc(a, 1, param_attr="b", bias_attr=False))
    pairs = fluid.backward.append_backward(loss)
    assert [p.name for p, _ in pairs] == ["b"]


def test_no_grad_set_takes_names_and_variables() -> None:
    x = fluid.layers.data("x", [2])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    pairs = fluid.backward.append_backward(loss, no_grad_set={"fc_0.b_0"})
    assert [p.name for p, _ in pairs] == ["fc_0.w_0"]


def test_a_parameter_shared_by_two_layers_gets_the_sum() -> None:
    x = fluid.layers.data("x", [2])
    h = fluid.layers.fc(x, 2, param_attr="w", bias_attr=False)
    loss = fluid.layers.mean(fluid.layers.fc(h, 2, param_attr="w", bias_attr=False))
    fluid.backward.append_backward(loss)
    data = np.array([[1.0, 2.0]], "float32")
    w, dw = value(["w", "w@GRAD"], x=data)
    out = np.full((1, 2), 0.5, "float32")
    expected = (data @ w).T @ out + data.T @ (out @ w.T)
    np.testing.assert_allclose(dw, expected, rtol=1e-5)


def test_gradients_with_a_seed_and_a_second_pass() -> None:
    x = fluid.layers.data("x", [2])
    x.stop_gradient = False
    y = fluid.layers.square(x)
    seed = fluid.layers.fill_constant([1, 2], "float32", 10.0)
    (first,) = fluid.gradients([y], [x], target_gradients=[seed])
    data = np.array([[1.0, 3.0]], "float32")
    np.testing.assert_allclose(value([first], x=data)[0], 20 * data)


def test_no_path_gives_none_or_an_empty_list() -> None:
    x, z = fluid.layers.data("x", [2]), fluid.layers.data("z", [2])
    x.stop_gradient = z.stop_gradient = False
    seed = fluid.layers.fill_constant([1, 2], "float32", 1.0)
    assert fluid.gradients([fluid.layers.square(x)], [z], target_gradients=[seed]) == []
    found = fluid.gradients([fluid.layers.square(x)], [x, z], target_gradients=[seed])
    assert found[0] is not None
    assert found[1] is None


def test_a_loss_that_nothing_produces_is_said() -> None:
    with pytest.raises(ValueError, match="no op .* produces the loss 'x'"):
        fluid.backward.append_backward(fluid.layers.data("x", [1], append_batch_size=False))


def test_minimize_without_parameters_is_said() -> None:
    loss = fluid.layers.mean(fluid.layers.data("x", [1]))
    with pytest.raises(ValueError, match="no trainable parameter has a gradient"):
        fluid.optimizer.SGD(0.1).minimize(loss)


def test_a_loss_of_many_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="call fluid.layers.mean"):
        fluid.optimizer.SGD(0.1).minimize(fluid.layers.fc(fluid.layers.data("x", [1]), 2))
