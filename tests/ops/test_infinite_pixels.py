"""Infinite and NaN pixels reach the results that they are part of, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid


def _run(layer: Any, image: Any) -> Any:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        out = layer(fluid.data("x", list(image.shape), "float32"))
    return fluid.Executor().run(main, feed={"x": image}, fetch_list=[out])[0]


def _image(value: float) -> Any:
    image = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    image[0, 0, 1, 2] = value
    return image


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_nearest_neighbours_copy_single_pixels(value: float) -> None:
    image = _image(value)
    found = _run(lambda x: fluid.layers.resize_nearest(x, [8, 8], align_corners=False), image)
    assert np.array_equal(found, image.repeat(2, 2).repeat(2, 3), equal_nan=True)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("method", ["BILINEAR", "BICUBIC"])
def test_interpolation_changes_the_neighbourhood_alone(method: str, value: float) -> None:
    def layer(x: Any) -> Any:
        return fluid.layers.interpolate(x, [7, 7], resample=method)

    plain, found = _run(layer, _image(0.0)), _run(layer, _image(value))
    assert not np.isfinite(found[0, 0, 2, 4])
    assert np.allclose(found[0, 0, 6], plain[0, 0, 6])  # made of the last rows of pixels
    assert np.allclose(found[0, 1], plain[0, 1])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("sizes", [[2, 2], [3, 3]])
def test_adaptive_means_are_of_their_windows_alone(sizes: list[int], value: float) -> None:
    def layer(x: Any) -> Any:
        return fluid.layers.adaptive_pool2d(x, sizes, "avg")

    plain, found = _run(layer, _image(0.0)), _run(layer, _image(value))
    windows = [range(i * 4 // n, -(-(i + 1) * 4 // n)) for n in sizes[:1] for i in range(n)]
    reached = np.array([[1 in rows and 2 in columns for columns in windows] for rows in windows])
    assert np.array_equal(found[0, 0][reached], np.full(reached.sum(), value, np.float32), equal_nan=True)
    assert np.allclose(found[0, 0][~reached], plain[0, 0][~reached])
    assert np.allclose(found[0, 1], plain[0, 1])
