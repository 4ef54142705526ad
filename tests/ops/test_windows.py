"""Windows larger than the input, and what a convolution is called: numbers and names of 1.8.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers


def _run(out: Any, **feed: Any) -> Any:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=[out])[0]


def _image(size: int) -> Any:
    return np.arange(size * size, dtype=np.float32).reshape(1, 1, size, size)


HALF = fluid.initializer.Constant(0.5)

# Size, window, stride, padding; the sums of a convolution with 0.5, a max and a mean pooling in 1.8.5.
PARTLY_OUTSIDE = [
    (6, 7, 7, 0, 315.0, 35.0, 630.0 / 49),
    (1, 2, 2, 0, 0.0, 0.0, 0.0),
    (5, 7, 3, 0, 150.0, 24.0, 300.0 / 49),
    (2, 3, 2, [0, 0, 0, 0], 3.0, 3.0, 6.0 / 9),
]


@pytest.mark.parametrize(("size", "window", "stride", "padding", "conv", "largest", "mean"), PARTLY_OUTSIDE)
def test_an_input_a_little_too_small_has_one_window(
    size: int, window: int, stride: int, padding: Any, conv: float, largest: float, mean: float
) -> None:
    x = fluid.data("x", [1, 1, size, size])
    made = [
        L.conv2d(x, 1, window, stride, padding, param_attr=HALF, bias_attr=False),
        L.pool2d(x, window, "max", stride, padding),
        L.pool2d(x, window, "avg", stride, padding, exclusive=False),
    ]
    assert {out.shape for out in made} == {(1, 1, 1, 1)}
    for out, expected in zip(made, (conv, largest, mean)):
        assert float(_run(out, x=_image(size))) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("window", "stride"), [(7, 1), (9, 2)])
def test_a_window_that_fits_nowhere_is_refused_at_build_time(window: int, stride: int) -> None:
    x = fluid.data("x", [1, 1, 6, 6])
    with pytest.raises(fluid.core.EnforceNotMet, match="too small"):
        L.conv2d(x, 1, window, stride)
    with pytest.raises(fluid.core.EnforceNotMet, match="too small"):
        L.pool2d(x, window, "max", stride)


def test_a_max_pooling_window_in_the_padding_has_the_lowest_float() -> None:
    out = L.pool2d(fluid.data("x", [1, 1, 1, 1]), 1, "max", 2, 1)
    assert _run(out, x=_image(1)).ravel().tolist() == [float(np.finfo(np.float32).min)] * 4


# Channels, groups, use_cudnn, filters; op type of 1.8.5, which also names the parameters.
NAMED: list[Any] = [
    (1, None, False, 2, "conv2d"),
    (1, 1, False, 2, "depthwise_conv2d"),
    (1, 1, True, 2, "conv2d"),
    (3, 3, False, 3, "depthwise_conv2d"),
    (4, 4, False, 8, "depthwise_conv2d"),
    (4, 2, False, 4, "conv2d"),
]


@pytest.mark.parametrize(("channels", "groups", "cudnn", "filters", "op_type"), NAMED)
def test_a_convolution_is_depthwise_where_groups_say_so(
    channels: int, groups: int | None, cudnn: bool, filters: int, op_type: str
) -> None:
    x = fluid.data("x", [2, channels, 5, 5])
    out = L.conv2d(x, filters, 3, groups=groups, use_cudnn=cudnn)
    assert (out.name, fluid.default_main_program().global_block().ops[0].type) == (f"{op_type}_0.tmp_1", op_type)
