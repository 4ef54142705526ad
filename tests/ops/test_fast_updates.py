"""Momentum and Adam in C have the bits of the kernels in NumPy, with every set of instructions and any threads."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.compiled import updates
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.optimize.momentum import adam, momentum

pytestmark = pytest.mark.skipif(updates.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield updates.compiled.instructions(request.param)
    updates.compiled.instructions(512)


def updated(optimizer: str, size: int) -> list[Any]:
    """Return parameter and accumulators after three updates."""
    rng = np.random.default_rng(size)
    param, grad, first = (rng.standard_normal((size, 3), np.float32) for _ in range(3))
    second, rate = rng.random((size, 3), np.float32), np.array([0.03], np.float32)
    pows = [np.array([value], np.float32) for value in (0.9, 0.999)]
    grad[0], second[0] = 0, 0
    for _ in range(3):
        if optimizer == "adam":
            attrs: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "lazy_mode": False}
            k = Call(SimpleNamespace(type="adam"), attrs, NumpyBackend(), frozenset())
            adam(k, param, grad, rate, first, second, *pows, None, None)
        else:
            attrs = {"mu": 0.9, "use_nesterov": optimizer == "nesterov"}
            k = Call(SimpleNamespace(type="momentum"), attrs, NumpyBackend(), frozenset())
            momentum(k, param, grad, first, rate)
    return [param, grad, first, second]


@pytest.mark.parametrize("optimizer", ["momentum", "nesterov", "adam"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_updates_have_the_bits_of_numpy(optimizer: str, size: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = updated(optimizer, size)
    monkeypatch.setattr(updates, "compiled", None)
    for one, other in zip(found, updated(optimizer, size)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("optimizer", ["momentum", "nesterov", "adam"])
def test_three_threads_compute_the_same_bits(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    alone = updated(optimizer, 500)
    monkeypatch.setattr(updates, "_WORTH_A_THREAD", 10)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    try:
        for one, other in zip(alone, updated(optimizer, 500)):
            np.testing.assert_array_equal(one, other)
    finally:
        threads.close()


def test_arrays_of_other_sizes_are_refused() -> None:
    x, less = np.ones(5, np.float32), np.ones(4, np.float32)
    for others in [(less, x.copy()), (x, less.copy())]:
        with pytest.raises(ValueError, match="do not fit"):
            updates.compiled.momentum(x, *others, (0.9, 0.1), False, 1, 1)
    with pytest.raises(ValueError, match="do not fit"):
        updates.compiled.adam(x, x, x.copy(), less.copy(), (0.9, 0.1, 0.9, 0.1, 0.0, 0.1), 1, 1)
