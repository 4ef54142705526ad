"""The gradient of padding: 1.8.5's mixes rows, the right one does not. The numbers came from 1.8.5."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers

COUNTED: dict[str, tuple[list[int], list[int], str, Any]] = {
    "a row that is longer than a piece": (
        [1, 2, 9],
        [0, 3, 2, 0, 0, 4],
        "float64",
        [[[26, 27, 28, 29, 30, 31, 32, 33, 34], [35, 36, 37, 42, 43, 44, 45, 46, 47]]],
    ),
    "the last piece is short": (
        [15, 1],
        [0, 0, 3, 4],
        "float64",
        [[3], [4], [5], [6], [35], [36], [37], [38], [67], [68], [69], [70], [99], [107], [115]],
    ),
    "four dims": (
        [1, 2, 4, 5],
        [0, 0, 0, 1, 1, 0, 4, 4],
        "float32",
        [
            [
                [[17, 18, 19, 20, 21], [22, 23, 24, 33, 34], [43, 44, 45, 46, 47], [56, 57, 58, 59, 60]],
                [[82, 83, 84, 85, 86], [95, 96, 97, 98, 99], [108, 109, 110, 111, 112], [121, 122, 123, 124, 125]],
            ]
        ],
    ),
    "no padding behind": ([2, 6], [1, 0, 2, 0], "float64", [[10, 11, 12, 13, 14, 15], [18, 19, 20, 21, 22, 23]]),
}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluidio.ops.shape.cropped._warned", True)


def _gradient(shape: list[int], pads: list[int], dtype: str, **options: Any) -> np.ndarray:
    """Return the gradient of a padded tensor whose elements, with the padding, have the gradients 0, 1, 2, ..."""
    full = [size + before + after for size, before, after in zip(shape, pads[::2], pads[1::2])]
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x, weight = fluid.data("x", shape, dtype), fluid.data("weight", full, dtype)
        x.stop_gradient = False
        loss = layers.reduce_sum(layers.pad(x, pads, **options) * weight)
        (gradient,) = fluid.gradients(loss, [x])
    feed = {"x": np.zeros(shape, dtype), "weight": np.arange(math.prod(full)).reshape(full).astype(dtype)}
    (found,) = fluid.Executor(fluid.CPUPlace()).run(main, feed=feed, fetch_list=[gradient])
    return np.asarray(found)


def _right(shape: list[int], pads: list[int]) -> Any:
    full = [size + before + after for size, before, after in zip(shape, pads[::2], pads[1::2])]
    counted = np.arange(math.prod(full)).reshape(full)
    return counted[tuple(slice(before, before + size) for size, before in zip(shape, pads[::2]))].tolist()


@pytest.mark.parametrize("case", COUNTED)
def test_rows_are_mixed_as_in_the_original(case: str) -> None:
    shape, pads, dtype, expected = COUNTED[case]
    with fluid.use_era("1.8"):
        assert _gradient(shape, pads, dtype).tolist() == expected


@pytest.mark.parametrize("case", COUNTED)
def test_the_switch_and_new_code_get_the_right_gradient(case: str) -> None:
    shape, pads, dtype, _ = COUNTED[case]
    assert _gradient(shape, pads, dtype).tolist() == _right(shape, pads)
    with fluid.use_era("1.8"):
        assert _gradient(shape, pads, dtype, right_gradient=True).tolist() == _right(shape, pads)


def test_padding_to_the_shape_of_another_tensor_mixes_rows_too() -> None:
    main = fluid.Program()
    with fluid.use_era("1.8"), fluid.program_guard(main, fluid.Program()):
        x, y = fluid.data("x", [2, 9], "float64"), fluid.data("y", [2, 6], "float64")
        y.stop_gradient = False
        (gradient,) = fluid.gradients(layers.reduce_sum(layers.pad_constant_like(x, y) * x), [y])
    feed = {"x": np.arange(18.0).reshape(2, 9), "y": np.zeros((2, 6))}
    (found,) = fluid.Executor(fluid.CPUPlace()).run(main, feed=feed, fetch_list=[gradient])
    assert np.asarray(found).tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 11, 12, 13, 14]]


def test_mixed_rows_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluidio.ops.shape.cropped._warned", False)
    with fluid.use_era("1.8"), pytest.warns(UserWarning, match="right_gradient=True"):
        _gradient([2, 6], [0, 0, 0, 3], "float64")
    with fluid.use_era("1.8"), warnings.catch_warnings():
        warnings.simplefilter("error")
        _gradient([2, 6], [0, 0, 0, 3], "float64")
