"""Denormal numbers are kept in the forward pass and flushed where gradients are computed."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.executor import denormals
from fluidio.executor.denormals import flushed, kept

TINY = np.full(4, 2e-38, np.float32)
TENTH = np.float32(0.1)


@pytest.fixture
def can_flush() -> None:
    if denormals._switch() is None:
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
    monkeypatch.setattr(denormals, "_switch", lambda: None)
    with flushed():
        assert (TINY * TENTH).all()


@pytest.mark.usefixtures("can_flush")
def test_every_switch_tells_what_was_set_before() -> None:
    for switch in filter(None, (denormals._compiled_switch(), denormals._library_switch())):
        assert denormals._works(switch)
        before = switch(denormals._FLUSH)
        assert switch(before) == denormals._FLUSH
        assert switch(before) == before


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


UPWARD = 0x800  # FE_UPWARD of x86


@pytest.fixture
def rounding(can_flush: None) -> Iterator[Any]:
    maths = ctypes.CDLL("libm.so.6")
    before = maths.fegetround()
    yield maths
    maths.fesetround(before)


def test_a_rounding_mode_of_the_user_stays(rounding: Any) -> None:
    with flushed():
        pass
    rounding.fesetround(UPWARD)
    with flushed():
        assert rounding.fegetround() == UPWARD
    assert rounding.fegetround() == UPWARD
    with flushed():
        rounding.fesetround(0)
    assert rounding.fegetround() == 0


@pytest.mark.usefixtures("can_flush")
def test_flushing_that_the_user_has_set_stays() -> None:
    with flushed():
        with flushed():
            pass
        assert not (TINY * TENTH).any()
        with kept():
            assert (TINY * TENTH).all()
        assert not (TINY * TENTH).any()


@pytest.mark.usefixtures("can_flush")
def test_the_users_functions_and_their_threads_keep_denormals() -> None:
    seen: list[bool] = []

    def note() -> None:
        seen.append(bool((TINY * TENTH).all()))

    def backward(*_: Any) -> Any:
        note()
        thread = threading.Thread(target=note)
        thread.start()
        thread.join()
        return np.ones((1, 1), "float32")

    x = fluid.layers.data("x", [1])
    x.stop_gradient = False
    out = fluid.default_main_program().current_block().create_var(name="out", shape=[-1, 1], dtype="float32")
    fluid.layers.py_func(lambda value: np.array(value), x, out, backward_func=backward)
    (dx,) = fluid.gradients([fluid.layers.reduce_sum(out)], [x])
    fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.ones((1, 1), "float32")}, fetch_list=[dx])
    assert seen == [True, True]
