"""deformable_conv mixes images as 1.8.5 does, but computes batches for which 1.8.5 returns zeros."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fluidio as fluid


def _convolved(step: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return the output for two images, with offsets of zero and a mask of ones: a plain convolution."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        x, offset, mask = (fluid.data(name, [None, n, 4, 4]) for name, n in (("x", 3), ("offset", 18), ("mask", 9)))
        weight = fluid.initializer.NumpyArrayInitializer(np.random.RandomState(1).rand(5, 3, 3, 3).astype("float32"))
        out = fluid.layers.deformable_conv(
            x, offset, mask, 5, 3, padding=1, im2col_step=step, param_attr=weight, bias_attr=False
        )
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        feed = {
            "x": np.random.RandomState(0).rand(2, 3, 4, 4).astype("float32"),
            "offset": np.zeros((2, 18, 4, 4), "float32"),
            "mask": np.ones((2, 9, 4, 4), "float32"),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array(exe.run(feed=feed, fetch_list=[out])[0])


@pytest.mark.parametrize("step", [3, 64])
def test_a_batch_smaller_than_the_step_has_the_right_output(step: int) -> None:
    right = _convolved(1)
    assert np.abs(right).min() > 0
    np.testing.assert_allclose(_convolved(step), right, rtol=1e-6)


def test_a_whole_step_is_mixed_as_in_the_original() -> None:
    mixed = _convolved(1).transpose(1, 0, 2, 3).reshape(2, 5, 4, 4)
    np.testing.assert_allclose(_convolved(2), mixed, rtol=1e-6)
