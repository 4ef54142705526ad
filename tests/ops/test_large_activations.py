"""Activations of large arrays go by blocks, on several threads, and give the bits of one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import row_blocks, threads
from fluidio.ops.math.special import erf

NAMES = ["exp", "tanh", "sigmoid", "leaky_relu", "elu", "selu", "gelu", "swish", "hard_swish", "softplus", "abs"]


@pytest.fixture(autouse=True)
def _no_threads_left() -> Iterator[None]:
    yield
    threads.close()


def computed(name: str, dtype: str) -> list[Any]:
    """Return what an activation and its gradient make of 1,000 numbers."""
    rng = np.random.default_rng(3)
    fed = {"x": rng.standard_normal((10, 100)).astype(dtype), "d": rng.standard_normal((10, 100)).astype(dtype)}
    fed["x"][0, :5] = 0, np.nan, np.inf, -np.inf, -0.0
    with fluid.program_guard(fluid.Program(), fluid.Program()), np.errstate(all="ignore"):
        x, d = (fluid.data(given, [10, 100], dtype) for given in "xd")
        x.stop_gradient = False
        out = getattr(fluid.layers, name)(x)
        (gradient,) = fluid.gradients([out], [x], [d])
        found: list[Any] = fluid.Executor(fluid.CPUPlace()).run(feed=fed, fetch_list=[out, gradient])
        return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_blocks_and_threads_change_no_bit(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = computed(name, dtype)
    monkeypatch.setattr(row_blocks, "_BLOCK", 64)
    monkeypatch.setattr(row_blocks, "_WORTH_A_THREAD", 100)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    for one, other in zip(whole, computed(name, dtype)):
        assert one.dtype == other.dtype == dtype
        np.testing.assert_array_equal(one, other)


def test_the_users_errstate_holds_in_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    x = np.ones(2)
    x[1] = 0

    def divide(begin: int, end: int) -> None:
        _ = 1 / x[begin:end]

    with np.errstate(divide="ignore"):
        threads.share(2, 1, divide)


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 4e-7), ("float64", 1e-15)])
def test_erf_is_as_exact_as_its_numbers(dtype: str, bound: float) -> None:
    x = np.concatenate([np.linspace(-7, 7, 4001), [1e-3, 1e-20, np.nan, np.inf, -np.inf]]).astype(dtype)
    exact = np.array([math.erf(v) for v in x.tolist()])
    np.testing.assert_allclose(erf(np, x), exact, rtol=bound, atol=bound / 100)
