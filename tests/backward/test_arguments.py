"""What `append_backward` and `gradients` refuse, and what a refusal leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

import fluidio as fluid
from fluidio.backward import append_backward

NOTHING: Any = None


def net() -> tuple[Any, Any]:
    x = fluid.data("x", [None, 2])
    x.stop_gradient = False
    return x, fluid.layers.mean(fluid.layers.fc(x, 3))


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (TypeError, {"parameter_list": "fc_0.w_0"}),
        (TypeError, {"parameter_list": [3]}),
        (TypeError, {"no_grad_set": "fc_0.w_0"}),
        (TypeError, {"no_grad_set": [3]}),
        (TypeError, {"callbacks": 3}),
        (ValueError, {"callbacks": [3]}),
    ],
)
def test_wrong_lists_are_refused_before_anything_is_appended(error: type, options: dict[str, Any]) -> None:
    _, loss = net()
    count = len(loss.block.ops)
    with pytest.raises(error):
        append_backward(loss, **options)
    assert len(loss.block.ops) == count


def test_a_parameter_that_is_not_there_has_no_gradient() -> None:
    _, loss = net()
    assert append_backward(loss, parameter_list=["nowhere"]) == []


def test_a_pass_that_fails_leaves_the_gradients_of_the_one_before() -> None:
    _, loss = net()
    append_backward(loss)

    def fail(block: Any, context: Any) -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        append_backward(loss, callbacks=[fail])
    assert "fc_0.w_0@GRAD" in loss.block.vars
    assert not [name for name in loss.block.vars if "EARLIER" in name]
    assert len(append_backward(loss)) == 2


def test_a_gradient_has_the_shape_of_its_target() -> None:
    x, loss = net()
    wrong = fluid.layers.fill_constant([2, 2], "float32", 1.0)
    with pytest.raises(ValueError, match="same shape"):
        fluid.gradients(loss, x, target_gradients=wrong)
    with pytest.raises(TypeError):
        fluid.gradients(loss, 3)
    with pytest.raises(TypeError):
        fluid.gradients(3, x)


@pytest.mark.parametrize(
    "make",
    [
        lambda: fluid.optimizer.SGD(NOTHING),
        lambda: fluid.optimizer.Momentum(0.1, NOTHING),
        lambda: fluid.optimizer.Adam(0.1, beta1=NOTHING),
        lambda: fluid.optimizer.Adamax(0.1, epsilon=NOTHING),
        lambda: fluid.optimizer.Adagrad(0.1, epsilon=NOTHING),
        lambda: fluid.optimizer.DecayedAdagrad(0.1, decay=NOTHING),
        lambda: fluid.optimizer.Dpsgd(0.1, sigma=NOTHING),
        lambda: fluid.optimizer.LarsMomentum(NOTHING, 0.9),
        lambda: fluid.clip.GradientClipByValue(-1.0),
    ],
)
def test_a_setting_left_out_is_an_assertion(make: Any) -> None:
    with pytest.raises(AssertionError):
        make()
