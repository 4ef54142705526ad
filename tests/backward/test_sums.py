"""Gradients are ops of the program, and they are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], np.float32)


def _input(name: str = "x") -> Any:
    return fluid.layers.data(name, shape=[3], stop_gradient=False)


def _run(fetch: list[Any], **feed: Any) -> list[Any]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch)


BRANCHES: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda x: x * x, lambda x: 2 * x),
    (lambda x: x * x * x, lambda x: 3 * x**2),
    (lambda x: x + x + x, lambda x: 3 + 0 * x),
    (lambda x: fluid.layers.exp(x) * x, lambda x: np.exp(x) * (1 + x)),
    (lambda x: fluid.layers.exp(x) - fluid.layers.exp(x * 2.0), lambda x: np.exp(x) - 2 * np.exp(2 * x)),
    (lambda x: (x * x + x) * (x - 1.0), lambda x: (2 * x + 1) * (x - 1) + x**2 + x),
]


@pytest.mark.parametrize(("function", "derivative"), BRANCHES)
def test_parts_of_a_gradient_are_added_up(function: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> None:
    fluid.backward.append_backward(fluid.layers.mean(function(_input())))
    (gradient,) = _run(["x@GRAD"], x=X)
    np.testing.assert_allclose(gradient, derivative(X.astype(np.float64)) / X.size, rtol=1e-5)


def test_the_parts_have_fluids_names() -> None:
    x = _input()
    fluid.backward.append_backward(fluid.layers.mean(x + x))
    names = set(fluid.default_main_program().global_block().vars)
    assert {"x@GRAD", "x@GRAD@RENAME@0", "x@GRAD@RENAME@1"} <= names


def test_parameters_and_gradients_are_returned() -> None:
    loss = fluid.layers.mean(fluid.layers.fc(_input(), size=2, bias_attr=False))
    pairs = fluid.backward.append_backward(loss)
    assert [(parameter.name, gradient.name) for parameter, gradient in pairs] == [("fc_0.w_0", "fc_0.w_0@GRAD")]
    (gradient,) = _run([pairs[0][1]], x=X)
    np.testing.assert_allclose(gradient, np.repeat(X.sum(0)[:, None] / 4, 2, axis=1), rtol=1e-5)


def test_untrainable_parameters_get_none() -> None:
    frozen = fluid.ParamAttr(name="frozen", trainable=False)
    hidden = fluid.layers.fc(_input(), size=2, param_attr=frozen, bias_attr=False)
    pairs = fluid.backward.append_backward(fluid.layers.mean(fluid.layers.fc(hidden, size=1, bias_attr=False)))
    assert [parameter.name for parameter, _ in pairs] == ["fc_1.w_0"]
    # As in Fluid, the gradient itself is there; the executor drops it if nothing reads it.
    assert fluid.default_main_program().global_block().ops[-1].output("Y@GRAD") == ["frozen@GRAD"]


def test_the_parameter_list_chooses() -> None:
    loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.fc(_input(), size=2), size=1))
    pairs = fluid.backward.append_backward(loss, parameter_list=["fc_0.w_0"])
    assert [parameter.name for parameter, _ in pairs] == ["fc_0.w_0"]


def test_integers_have_no_gradient() -> None:
    x = _input()
    label = fluid.layers.data("label", shape=[1], dtype="int64")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(fluid.layers.softmax(x), label))
    fluid.backward.append_backward(loss)
    assert not fluid.default_main_program().global_block().has_var("label@GRAD")
    labels = np.array([[0], [2]])
    (gradient,) = _run(["x@GRAD"], x=X, label=labels)
    softmax = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    np.testing.assert_allclose(gradient, (softmax - np.eye(3)[labels[:, 0]]) / 2, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_that_two_hierarchical_losses_share_get_the_gradient_of_both(sparse: bool) -> None:
    rng = np.random.default_rng(3)
    feed = {
        "x": rng.normal(size=(6, 4)).astype("float32"),
        "z": rng.normal(size=(6, 4)).astype("float32"),
        "y": rng.integers(0, 5, (6, 1)),
    }
    losses = []
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        label = fluid.data("y", [None, 1], "int64")
        tree: dict[str, Any] = {"num_classes": 5}
        if sparse:  # a gradient is sparse in trees of one's own
            feed |= {"table": np.hstack([0 * feed["y"], 1 + feed["y"] % 3]), "code": rng.integers(0, 2, (6, 2))}
            table, code = (fluid.data(name, [None, 2], "int64") for name in ("table", "code"))
            tree = {"num_classes": 4, "path_table": table, "path_code": code, "is_custom": True, "is_sparse": True}
        for name in ("x", "z"):
            weights = fluid.ParamAttr("w", fluid.initializer.Constant(0.5))
            inputs = fluid.data(name, [None, 4])
            costs = fluid.layers.hsigmoid(inputs, label, param_attr=weights, bias_attr=False, **tree)
            losses.append(fluid.layers.mean(costs))
        fluid.optimizer.SGD(1.0).minimize(losses[0] + losses[1])
    exe = fluid.Executor(fluid.CPUPlace())

    def loss_at(values: np.ndarray[Any, Any]) -> float:
        fluid.global_scope().var("w").get_tensor().set(values.astype("float32"), fluid.CPUPlace())
        return float(sum(np.asarray(loss).item() for loss in exe.run(main, feed=feed, fetch_list=losses)))

    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        start = np.full((4, 4), 0.5, "float32")
        loss_at(start)
        slope = start - np.asarray(fluid.global_scope().var("w").get_tensor())
        for where in ((0, 0), (1, 2), (2, 3)):
            moved = np.zeros((4, 4), "float32")
            moved[where] = 0.05
            numeric = (loss_at(start + moved) - loss_at(start - moved)) / 0.1
            assert abs(numeric - slope[where]) < 1e-3


def _sums() -> list[str]:
    ops = fluid.default_main_program().global_block().ops
    return [name for op in ops if op.type == "sum" for name in op.output("Out") if name.endswith("@GRAD")]


def test_sums_come_in_the_order_of_the_slots_names() -> None:
    x = fluid.layers.data("x", [4, 3])
    x.stop_gradient = False
    weight, bias = fluid.ParamAttr(name="w"), fluid.ParamAttr(name="b")
    both = [fluid.layers.layer_norm(x, param_attr=weight, bias_attr=bias) for _ in range(2)]
    fluid.backward.append_backward(fluid.layers.mean(fluid.layers.sums(both)))
    assert _sums() == ["b@GRAD", "w@GRAD", "x@GRAD"]


def test_a_shared_hierarchical_loss_has_the_gradients_of_1_8_5() -> None:
    fluid.default_startup_program().random_seed = 3
    x = fluid.layers.data("x", [6])
    x.stop_gradient = False
    labels = [fluid.layers.data(f"label{i}", [1], dtype="int64") for i in range(2)]
    weight, bias = fluid.ParamAttr(name="w"), fluid.ParamAttr(name="b")
    costs = [fluid.layers.hsigmoid(x, label, 10, param_attr=weight, bias_attr=bias) for label in labels]
    fluid.backward.append_backward(fluid.layers.sums([fluid.layers.reduce_mean(cost) for cost in costs]))
    assert _sums() == ["b@GRAD", "w@GRAD", "x@GRAD"]
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {
        "x": np.random.RandomState(0).rand(3, 6).astype("float32"),
        "label0": np.array([[1], [2], [3]]),
        "label1": np.array([[4], [2], [9]]),
    }
    found = exe.run(feed=feed, fetch_list=["w@GRAD", "b@GRAD", "x@GRAD"])
    seen_on_1_8_5 = [6.044897, 1.6258827, 2.0210905]
    np.testing.assert_allclose([np.abs(value).sum() for value in found], seen_on_1_8_5, rtol=1e-5)
