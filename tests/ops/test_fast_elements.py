"""Elementwise operations, dropout and sums of rows in C have the bits of NumPy, however threads divide them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import threads
from fluidio.ops.compiled import elements
from fluidio.ops.reductions import total
from fluidio.ops.row_blocks import elementwise

pytestmark = pytest.mark.skipif(elements.compiled is None, reason="there was no C compiler when fluidio was installed")

FUNCTIONS = [np.add, np.subtract, np.multiply]
SHAPES = [(1,), (3, 5), (2, 3, 17), (7, 64), (100, 33), (5, 300)]


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield elements.compiled.instructions(request.param)
    elements.compiled.instructions(512)


@pytest.fixture(autouse=True, params=["1", "3"])
def _small_ones_count(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(elements, "LARGE", 0)
    monkeypatch.setattr(elements, "_COLUMNS", 1)
    monkeypatch.setattr(elements, "_WORTH_A_THREAD", 1)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", request.param)
    yield
    threads.close()


def drawn(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_pairs_have_the_bits_of_numpy(function: Any, shape: tuple[int, ...], bits: int) -> None:
    x, y = drawn(2, *shape)
    np.testing.assert_array_equal(elementwise(function, x, y), function(x, y))
    for row in (y[-1:], y[..., -1:, :] if y.ndim > 1 else y):
        np.testing.assert_array_equal(elementwise(function, x, row), function(x, row))
    held = x.copy()
    assert elementwise(function, held, y, held) is held
    np.testing.assert_array_equal(held, function(x, y))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("shape", "other"),
    [
        ((2, 3, 5, 7), (1, 3, 1, 1)),
        ((2, 3, 5, 7), (3, 5, 1)),
        ((4, 6, 5), (4, 1, 1)),
        ((6, 5), (6, 1)),
        ((3, 70), (1,)),
    ],
)
def test_numbers_meet_planes(function: Any, shape: tuple[int, ...], other: tuple[int, ...], bits: int) -> None:
    x, y = drawn(*shape), drawn(*other)
    np.testing.assert_array_equal(elementwise(function, x, y), function(x, y))


@pytest.mark.parametrize("other", [(2, 1, 5), (1, 3, 1, 5), (2, 1, 1, 5), (4, 2, 3, 5), (0, 3, 5)])
def test_other_ways_to_broadcast_are_left_to_numpy(other: tuple[int, ...]) -> None:
    x, y = drawn(2, 3, 5), drawn(*other)
    try:
        expected = np.add(x, y)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            elementwise(np.add, x, y)
    else:
        np.testing.assert_array_equal(elementwise(np.add, x, y), expected)


@pytest.mark.parametrize("shape", [(7,), (5, 3), (2, 3, 5), (3, 4, 7, 9), (1, 2, 33, 40)])
def test_channels_are_summed(shape: tuple[int, ...]) -> None:
    x = drawn(*shape)
    dims = (0, *range(2, x.ndim))
    np.testing.assert_allclose(total(x, dims), x.astype("float64").sum(dims), rtol=1e-5, atol=1e-5)
    assert total(x, dims, True).shape == x.sum(dims, keepdims=True).shape


@pytest.mark.parametrize("shape", SHAPES)
def test_relu_and_dropout_have_the_bits_of_numpy(shape: tuple[int, ...], bits: int) -> None:
    x = drawn(*shape)
    x.flat[0] = np.nan
    mask = (drawn(2, *shape)[1] > 0).view(np.uint8)
    share = np.float32(0.7)
    np.testing.assert_array_equal(elements.relu(x, np.empty_like(x)), np.maximum(x, 0))
    np.testing.assert_array_equal(elements.keep(x, mask), x * mask)
    np.testing.assert_array_equal(elements.keep(x, mask, share, first=True), x / share * mask)
    np.testing.assert_array_equal(elements.keep(x, mask, share), x * mask / share)


@pytest.mark.parametrize("shape", [(1, 16), (9, 16), (500, 33), (4, 5, 100), (3, 1000)])
def test_rows_are_added_in_order(shape: tuple[int, ...], bits: int) -> None:
    x = drawn(*shape)
    leading = tuple(range(x.ndim - 1))
    expected = np.add.reduce(x.reshape(-1, shape[-1]), 0)
    np.testing.assert_array_equal(total(x, leading), expected)
    np.testing.assert_array_equal(total(x, leading, True), expected.reshape(*(1 for _ in leading), -1))


def test_other_dtypes_and_strides_are_left_to_numpy() -> None:
    x = drawn(6, 8)
    for one, other in [(x.astype("float64"), x.astype("float64")), (x[:, ::2], x[:, 1::2]), (x, x[:, :1])]:
        np.testing.assert_array_equal(elementwise(np.add, one, other), one + other)


def test_arrays_of_other_sizes_are_refused() -> None:
    x, less, mask = np.ones(6, np.float32), np.ones(4, np.float32), np.ones(4, np.uint8)
    calls: list[tuple[Any, ...]] = [
        (elements.compiled.combine, 0, x, less, x.copy(), 4, 1, 1),
        (elements.compiled.combine, 0, x, x, less.copy(), 6, 1, 1),
        (elements.compiled.combine, 0, x, None, x.copy(), 6, 1, 1),
        (elements.compiled.combine, 0, x, less, x.copy(), 0, 1, 1),
        (elements.compiled.combine_planes, 0, x, less, x.copy(), 1, 1, 1),
        (elements.compiled.combine_planes, 0, x, less[:2], x.copy(), 4, 1, 1),
        (elements.compiled.combine_planes, 0, x, less[:2], less.copy(), 3, 1, 1),
        (elements.compiled.combine_planes, 0, x, less[:0], x.copy(), 3, 1, 1),
        (elements.compiled.keep, 0, x, mask, x.copy(), 1.0, 1, 1),
        (elements.compiled.add_rows, x, less.copy(), 2, 1, 1),
        (elements.compiled.add_rows, x, np.ones(3, np.float32), 3, 1, 1),
    ]
    for function, *arguments in calls:
        with pytest.raises(ValueError, match="do not fit"):
            function(*arguments)


@pytest.mark.parametrize("way", ["upscale_in_train", "downgrade_in_infer"])
def test_dropout_is_the_same_without_the_c_code(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = fluid.data("x", [None, 50])
    x.stop_gradient = False
    y = fluid.layers.dropout(x, 0.3, seed=5, dropout_implementation=way)
    (dx,) = fluid.gradients([y * y], [x])
    exe, feed = fluid.Executor(fluid.CPUPlace()), {"x": drawn(40, 50)}
    with_it = exe.run(feed=feed, fetch_list=[y, dx])
    monkeypatch.setattr(elements, "compiled", None)
    for one, other in zip(with_it, exe.run(feed=feed, fetch_list=[y, dx])):
        np.testing.assert_array_equal(one, other)
