"""Denormal numbers are kept in the forward pass and flushed where gradients are computed."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio.executor import denormals
from fluidio.executor.denormals import flushed

TINY = np.full(4, 2e-38, np.float32)
TENTH = np.float32(0.1)


@pytest.fixture
def can_flush() -> None:
    if denormals._environments() is None:
        pytest.skip("no way to flush denormal numbers here")


@pytest.mark.usefixtures("can_flush")
def test_denormals_are_flushed_inside_and_kept_outside() -> None:
    with flushed():
        inside = TINY * TENTH
    assert not inside.any()
    assert (TINY * TENTH).all()


@pytest.mark.usefixtures("can_flush")
def test_an_error_ends_the_flushing() -> None:
    with pytest.raises(ValueError, match="stop"), flushed():
        raise ValueError("stop")
    assert (TINY * TENTH).all()


def test_where_it_cannot_be_done_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(denormals, "_environments", lambda: None)
    with flushed():
        assert (TINY * TENTH).all()


@pytest.mark.usefixtures("can_flush")
def test_the_forward_pass_keeps_denormals_and_the_gradient_does_not() -> None:
    x = fluid.layers.data("x", [1])
    x.stop_gradient = False
    small = fluid.layers.scale(x, scale=0.1)
    (dx,) = fluid.gradients([fluid.layers.reduce_sum(fluid.layers.scale(small, scale=1e-38))], [x])
    exe = fluid.Executor(fluid.CPUPlace())
    forward, gradient = exe.run(feed={"x": np.full((1, 1), 2e-38, "float32")}, fetch_list=[small, dx])
    assert 0 < forward[0, 0] < 1e-38
    assert gradient[0, 0] == 0 or exe._dev.is_gpu  # a GPU does not slow down for them
    assert (TINY * TENTH).all()
