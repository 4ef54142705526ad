"""Gradients are clipped by value, by norm and together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import clip as C
from fluidio.optimizer import wrappers
from fluidio.testing import fresh
from tests.optimizer.helpers import batch, build


def updates(clip: Any = None, before: Any = None, **layer: Any) -> dict[str, Any]:
    """Return what one step of SGD with rate 1 takes away from weight and bias."""
    fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 7
    loss = build(**layer)
    if before is not None:
        before(loss)
    fluid.optimizer.SGD(1.0, grad_clip=clip).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    names = ["fc_0.w_0", "fc_0.b_0"]
    start = {n: np.array(fluid.global_scope().find_var(n).get_tensor()) for n in names}  # type: ignore[union-attr]
    exe.run(feed=batch(0), fetch_list=[])
    return {n: start[n] - np.array(fluid.global_scope().find_var(n).get_tensor()) for n in names}  # type: ignore[union-attr]


def test_by_value_keeps_every_element_within_the_bounds() -> None:
    got = updates(C.GradientClipByValue(max=0.5, min=-0.25))
    for value in got.values():
        assert value.max() <= 0.5 + 1e-6 and value.min() >= -0.25 - 1e-6


def test_by_norm_scales_each_gradient_alone() -> None:
    for value in updates(C.GradientClipByNorm(0.3)).values():
        assert np.linalg.norm(value) == pytest.approx(0.3, rel=1e-4)


def test_by_global_norm_scales_all_by_one_factor() -> None:
    got = updates(C.GradientClipByGlobalNorm(0.3))
    assert np.sqrt(sum((v**2).sum() for v in got.values())) == pytest.approx(0.3, rel=1e-4)


def test_by_global_norm_leaves_small_gradients_alone() -> None:
    clipped = updates(C.GradientClipByGlobalNorm(1e6))
    with fresh():
        plain = updates()
    for name in plain:
        np.testing.assert_allclose(clipped[name], plain[name], rtol=1e-5)


def test_need_clip_chooses_parameters() -> None:
    got = updates(C.GradientClipByGlobalNorm(0.3, need_clip=lambda p: p.name.endswith("w_0")))
    assert np.linalg.norm(got["fc_0.w_0"]) == pytest.approx(0.3, rel=1e-4)
    assert abs(got["fc_0.b_0"][0]) > 0.3


def test_set_gradient_clip_holds_for_minimize() -> None:
    got = updates(before=lambda loss: C.set_gradient_clip(C.GradientClipByGlobalNorm(0.3)))
    assert np.sqrt(sum((v**2).sum() for v in got.values())) == pytest.approx(0.3, rel=1e-4)


def test_a_parameter_attribute_can_carry_its_clip() -> None:
    got = updates(param_attr=fluid.ParamAttr(gradient_clip=C.GradientClipByGlobalNorm(0.3)))
    assert np.linalg.norm(got["fc_0.w_0"]) == pytest.approx(0.3, rel=1e-4)


def test_one_group_has_one_norm() -> None:
    loss = build(
        param_attr=fluid.ParamAttr(gradient_clip=C.GradientClipByGlobalNorm(0.3)),
        bias_attr=fluid.ParamAttr(gradient_clip=C.GradientClipByGlobalNorm(0.4)),
    )
    with pytest.raises(ValueError, match="one clip group"):
        fluid.optimizer.SGD(0.1).minimize(loss)


def test_set_gradient_clip_wants_a_clip() -> None:
    with pytest.raises(TypeError, match="clip must be a"):
        C.set_gradient_clip(0.5)


def test_error_clip_bounds_the_error_that_flows_through_a_variable() -> None:
    x = fluid.layers.data("x", [4])
    hidden = fluid.layers.fc(x, 3, bias_attr=False)
    hidden.set_error_clip(C.ErrorClipByValue(max=0.001))
    loss = fluid.layers.mean(fluid.layers.fc(hidden, 1))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    (error,) = exe.run(feed={"x": batch(0)["x"]}, fetch_list=[hidden.name + "@GRAD"])
    assert abs(error).max() <= 0.001 + 1e-9 and abs(error).max() > 0


def _clips(how: Callable[[Any], object]) -> int:
    """Return how many clips a program has whose hidden layer has an error clip."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        hidden = fluid.layers.fc(fluid.layers.data("x", [4]), 3, act="relu")
        hidden.error_clip = C.ErrorClipByValue(max=0.1)
        loss: Any = fluid.layers.mean(fluid.layers.fc(hidden, 1))
        loss.hidden = hidden
        how(loss)
        return sum(op.type == "clip" for op in loss.block.ops)


def test_callbacks_take_the_place_of_error_clips() -> None:
    sgd = fluid.optimizer.SGD(0.1)
    assert _clips(lambda loss: sgd.backward(loss)) == 1
    assert _clips(lambda loss: sgd.backward(loss, callbacks=[lambda block, context: None])) == 0
    assert _clips(lambda loss: sgd.backward(loss, callbacks=[C.error_clip_callback])) == 1
    assert _clips(lambda loss: fluid.backward.append_backward(loss)) == 0


def test_recompute_leaves_out_error_clips_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrappers, "_warned", False)
    made = fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1))

    def minimize(loss: Any, **callbacks: Any) -> None:
        made._set_checkpoints([loss.hidden])
        made.backward(loss, **callbacks)

    with pytest.warns(UserWarning, match="leaves out the error_clip of fc_0"):
        assert _clips(minimize) == 0
    assert _clips(lambda loss: minimize(loss, callbacks=[C.error_clip_callback])) == 1
