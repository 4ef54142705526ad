"""Batch normalisation, ReLU and max pooling in C give what NumPy gives, with every set of instructions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidio.ops.compiled import channels
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.norm.batch_norm import BATCH_NORM_ATTRS, batch_norm, batch_norm_grad
from fluidio.ops.vision import pool

pytestmark = pytest.mark.skipif(channels.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield channels.compiled.instructions(request.param)
    channels.compiled.instructions(512)


def call(type_: str, attrs: dict[str, Any], *wanted: str) -> Call:
    return Call(SimpleNamespace(type=type_), attrs, NumpyBackend(), frozenset(wanted))


def both_ways(function: Callable[[], Any]) -> list[tuple[Any, Any]]:
    """Return pairs of what C and NumPy make of a function that returns arrays."""
    fast = function()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(channels, "compiled", None)
        return list(zip(fast, function()))


def close(fast: Any, plain: Any) -> None:
    np.testing.assert_allclose(fast, plain, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(plain).max())))


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 1, 1, 2), (5, 4, 130), (3, 2, 8, 8, 3)])
@pytest.mark.parametrize("moving", [False, True])
def test_batch_norm_and_its_gradient_are_those_of_numpy(shape: tuple[int, ...], moving: bool, bits: int) -> None:
    rng = np.random.default_rng(len(shape))
    x, dy = (rng.standard_normal(shape, np.float32) * 3 + 100 for _ in range(2))
    scale, bias, mean = (rng.standard_normal(shape[1], np.float32) for _ in range(3))
    variance = rng.random(shape[1], np.float32) + 1
    attrs = {**BATCH_NORM_ATTRS, "use_global_stats": moving}

    def forward() -> Any:
        return batch_norm(call("batch_norm", attrs), x, scale, bias, mean.copy(), variance.copy(), None)[:5]

    pairs = both_ways(forward)
    for fast, plain in pairs:
        close(fast, plain)
    saved_mean, saved_inverse = pairs[3][1], pairs[4][1]

    def backward() -> Any:
        k = call("batch_norm_grad", attrs, "X@GRAD")
        return batch_norm_grad(k, x, scale, bias, mean, variance, saved_mean, saved_inverse, dy)

    for fast, plain in both_ways(backward):
        np.testing.assert_allclose(fast, plain, rtol=1e-3, atol=2e-4 * max(1.0, float(np.abs(plain).max())))


def test_the_gradient_of_relu_can_be_taken_on_the_way(bits: int) -> None:
    rng = np.random.default_rng(0)
    x, dy, out = (rng.standard_normal((3, 4, 9, 5), np.float32) for _ in range(3))
    scale, mean, inverse = (rng.standard_normal(4, np.float32) for _ in range(3))
    at_once = channels.normalise_grad(x, dy, out, scale, mean, inverse, False, True)
    apart = channels.normalise_grad(x, channels.relu_grad(out, dy), None, scale, mean, inverse, False, True)
    for one, two in zip(at_once, apart):
        close(one, two)


def test_something_can_be_added_before_relu(bits: int) -> None:
    rng = np.random.default_rng(0)
    x, other = (rng.standard_normal((3, 4, 9, 5), np.float32) for _ in range(2))
    scale, bias = (rng.standard_normal(4, np.float32) for _ in range(2))
    plain = channels.normalise(x, None, scale, bias, 1e-5, False)
    for added, relu in ((other, False), (other, True), (None, True)):
        expected = plain[0] if added is None else plain[0] + added
        close(channels.normalise(x, added, scale, bias, 1e-5, relu)[0], np.maximum(expected, 0) if relu else expected)


def test_relu_keeps_what_is_not_a_number(bits: int) -> None:
    out, d = np.array([1, -1, 0, np.nan, 2], "f"), np.array([np.nan, np.nan, 3, 4, 5], "f")
    for fast, plain in both_ways(lambda: [channels.relu_grad(out, d) if channels.compiled else d * (out > 0)]):
        np.testing.assert_array_equal(fast, plain)


@pytest.mark.parametrize("seed", range(35))
def test_max_pooling_and_its_gradient_are_those_of_numpy(seed: int, bits: int) -> None:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    ksize = [r.randint(1, 4), r.randint(1, 4)]
    attrs = {
        "pooling_type": "max",
        "ksize": ksize,
        "global_pooling": seed >= 25,
        "strides": [r.randint(1, 4), r.randint(1, 3)],
        "paddings": [r.randint(0, k - 1) for k in ksize],
        "adaptive": False,
        "ceil_mode": r.random() < 0.5,
        "padding_algorithm": r.choice(["EXPLICIT", "SAME", "VALID"]),
        "data_format": r.choice(["NCHW", "NHWC"]),
    }
    x = rng.integers(-9, 9, (2, *(r.randint(5, 40) for _ in range(3)))).astype(np.float32)
    x[rng.random(x.shape) < 0.02] = np.nan
    k = call("pool2d", attrs)

    def pooled() -> Any:
        out = pool.forward(k, x)
        first_x, first_out = pool._first(k, x), pool._first(k, out)
        g = pool._Geometry(k, first_x.shape[2:])
        dout = np.arange(first_out.size, dtype=np.float32).reshape(first_out.shape)
        first_x, first_out = np.ascontiguousarray(first_x), np.ascontiguousarray(first_out)
        return out, pool._max_grad(k, first_x, first_out, dout, g)

    for fast, plain in both_ways(pooled):
        np.testing.assert_array_equal(fast, plain)


def test_sizes_that_do_not_fit_the_arrays_are_refused() -> None:
    c, x, s = channels.compiled, np.zeros((2, 3, 4, 4), "f"), np.zeros(3, "f")
    wrong: list[Callable[[], object]] = [
        lambda: c.normalise(x, None, x.copy(), s, s, s, s, s, (2, 3, 17), 1e-5, False, 1, 1),
        lambda: c.normalise(x, s, x.copy(), s, s, s, s, s, (2, 3, 16), 1e-5, False, 1, 1),
        lambda: c.normalise_grad(x, x, None, s, s, s, s, s, s, (2, 3, 16), False, 1, 1),
        lambda: c.relu_grad(x, s, x.copy(), 1, 1),
        lambda: c.max_pool(x, np.zeros((2, 3, 2, 2), "f"), (6, 4, 4, 2, 3, 2, 2, 2, 2, 0, 0), 0.0, 1, 1),
        lambda: c.max_pool_grad(x, s, s, x.copy(), (6, 4, 4, 2, 2, 2, 2, 2, 2, 0, 0), 1, 1),
    ]
    for refused in wrong:
        with pytest.raises(ValueError, match="do not fit"):
            refused()
