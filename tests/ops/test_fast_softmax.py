"""Softmax in C is that of float64 but for rounding, and has the same bits however threads divide its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import threads
from fluidio.ops.compiled import softmax as fast

pytestmark = pytest.mark.skipif(fast.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield fast.compiled.instructions(request.param)
    fast.compiled.instructions(512)


@pytest.fixture(autouse=True)
def _no_threads_left() -> Iterator[None]:
    yield
    threads.close()


def exact(x: Any) -> Any:
    x = x.astype(np.float64)
    grown = np.exp(np.maximum(x - x.max(-1, keepdims=True), -64))
    return grown / grown.sum(-1, keepdims=True)


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (4, 16), (4, 17), (9, 100), (2, 3, 33)])
@pytest.mark.parametrize("spread", [0.1, 3.0, 40.0])
def test_it_is_exact_but_for_rounding(shape: tuple[int, ...], spread: float, bits: int) -> None:
    x = np.random.default_rng(len(shape)).standard_normal(shape, np.float32) * np.float32(spread)
    out, largest, sums = fast.softmax(x)
    np.testing.assert_allclose(out, exact(x), rtol=1e-5, atol=1e-30)
    np.testing.assert_array_equal(largest, x.max(-1, keepdims=True))
    np.testing.assert_allclose(sums, np.exp(np.maximum(x - largest, -64)).sum(-1, keepdims=True), rtol=1e-5)
    dout = np.random.default_rng(1).standard_normal(shape, np.float32)
    whole, wide = out.astype(np.float64), dout.astype(np.float64)
    expected = whole * wide - whole * (whole * wide).sum(-1, keepdims=True)
    np.testing.assert_allclose(fast.softmax_grad(out, dout), expected, rtol=1e-4, atol=1e-6)


def test_any_threads_compute_the_same_bits(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, d = np.random.default_rng(0).standard_normal((2, 50, 37), np.float32)
    monkeypatch.setattr(fast, "_WORTH_A_THREAD", 1)
    found = []
    for count in "13":
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", count)
        found.append((*fast.softmax(x), fast.softmax_grad(x, d)))
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, 20, 39])
def test_special_numbers_spread_as_in_numpy(special: float, at: int, bits: int) -> None:
    x = np.zeros((2, 40), np.float32)
    x[1, at] = special
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(fast.softmax(x)[0], exact(x), rtol=1e-6, atol=1e-30)
        x[1] = -np.inf
        assert np.isnan(fast.softmax(x)[0][1]).all()


def test_equal_logits_get_equal_shares(bits: int) -> None:
    out, _, _ = fast.softmax(np.full((3, 37), 5.0, np.float32))
    np.testing.assert_array_equal(out, np.full((3, 37), np.float32(1) / np.float32(37)))


def test_arrays_of_other_sizes_are_refused() -> None:
    x, rows = np.ones((4, 6), np.float32), np.ones(4, np.float32)
    for arguments in [
        (x, x[:3].copy(), rows, rows.copy(), 6, 1, 1),
        (x, x.copy(), rows[:3].copy(), rows.copy(), 6, 1, 1),
        (x, x.copy(), rows, rows.copy(), 0, 1, 1),
        (x, x.copy(), rows, rows.copy(), 5, 1, 1),
    ]:
        with pytest.raises(ValueError, match="do not fit"):
            fast.compiled.softmax(*arguments)
    with pytest.raises(ValueError, match="do not fit"):
        fast.compiled.softmax_grad(x, x, x[:3].copy(), 6, 1, 1)


@pytest.mark.parametrize("ignore", [-100, 3, -1])
def test_cross_entropy_is_the_same_without_the_c_code(ignore: int, monkeypatch: pytest.MonkeyPatch) -> None:
    logits = fluid.data("logits", [None, 30])
    logits.stop_gradient = False
    label = fluid.data("label", [None, 1], "int64")
    loss, prob = fluid.layers.softmax_with_cross_entropy(
        logits, label, ignore_index=ignore, return_softmax=True, right_gradient=True
    )
    (dx,) = fluid.gradients([loss], [logits])
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 30, (20, 1))
    labels[::3] = ignore if ignore != -100 else 7
    feed = {"logits": 60 * rng.standard_normal((20, 30), np.float32), "label": labels}
    exe = fluid.Executor(fluid.CPUPlace())
    with_it = exe.run(feed=feed, fetch_list=[loss, prob, dx])
    monkeypatch.setattr(fast, "compiled", None)
    for one, other in zip(with_it, exe.run(feed=feed, fetch_list=[loss, prob, dx])):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
