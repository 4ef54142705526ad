"""Sums and maxima of sequences in C are those of NumPy, with every set of instructions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.compiled import segments
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.sequence import ragged, sequence_pool

pytestmark = pytest.mark.skipif(segments.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield segments.compiled.instructions(request.param)
    segments.compiled.instructions(512)


def call(kind: str, offsets: Any, pad: float) -> Any:
    attrs = {"pooltype": kind, "pad_value": pad, "is_test": False}
    k = Call(None, attrs, NumpyBackend(), frozenset(("MaxIndex",)))
    k.lods["X"] = (offsets,)
    return k


@pytest.mark.parametrize("kind", ["SUM", "AVERAGE", "SQRT", "MAX"])
@pytest.mark.parametrize("columns", [1, 3, 16, 37])
def test_pools_and_their_gradients_are_those_of_numpy(
    kind: str, columns: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(columns)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 6, 40))]).astype(np.int64)
    x = rng.integers(-3, 4, (offsets[-1], columns)).astype(np.float32)  # with equal ones
    x[rng.random(x.shape) < 0.05] = -0.0
    x[rng.random(x.shape) < 0.02] = math.inf
    x[rng.random(x.shape) < 0.02] = math.nan
    d = rng.standard_normal((40, columns), np.float32)
    monkeypatch.setattr(segments, "_WORTH_A_THREAD", 1)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")

    def both() -> list[Any]:
        with np.errstate(invalid="ignore"):
            k = call(kind, offsets, 0.5)
            out, index = sequence_pool.sequence_pool(k, x)
            return [out, index, sequence_pool.sequence_pool_grad(k, x, index, d)]

    assert segments.fits(x, offsets)
    found = both()
    threads.close()
    monkeypatch.setattr(segments, "compiled", None)
    for one, two in zip(found, both(), strict=True):
        assert (one is None) == (two is None)
        if one is not None:
            assert one.dtype == two.dtype and one.shape == two.shape
            np.testing.assert_allclose(one, two, rtol=1e-6)


def test_flat_rows_are_added_up_and_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = np.array([0, 3, 3, 20], np.int64)
    x = np.random.default_rng(0).standard_normal(20, np.float32)
    k = call("SUM", offsets, 0.0)
    found = ragged.segment_sum(k, x, offsets), ragged.segment_max(k, x, offsets, -7.0)
    monkeypatch.setattr(segments, "compiled", None)
    np.testing.assert_allclose(found[0], ragged.segment_sum(k, x, offsets), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found[1], ragged.segment_max(k, x, offsets, -7.0))


def test_other_arrays_are_left_to_numpy() -> None:
    x, offsets = np.ones((4, 2), np.float32), np.array([0, 4], np.int64)
    assert segments.fits(x, offsets)
    for other in (x.astype(np.float64), x.T, x[:, :1], x[:3], x[:, :0]):
        assert not segments.fits(other, offsets)
    short: Any = offsets.astype(np.int32)
    assert not segments.fits(x, short)


def test_sizes_that_do_not_fit_are_refused() -> None:
    x, offsets = np.ones((4, 2), np.float32), np.array([0, 1, 4], np.int64)
    out, index = np.empty((2, 2), np.float32), np.zeros((2, 2), np.int32)
    good: list[Any] = [x, 2, offsets, 0.0, out, index, 1, 1]
    segments.compiled.maxima(*good)
    odd = [offsets + 1, offsets[::-1].copy(), offsets[:2].copy(), np.zeros(0, np.int64), offsets[:2] * 5]
    odd.append(np.array([0, 5, 4], np.int64))
    for place, values in ((1, [0, -1, 3, 1]), (2, odd), (4, [out[:1].copy()]), (5, [index[:1].copy()])):
        for value in values:
            with pytest.raises(ValueError):
                segments.compiled.maxima(*good[:place], value, *good[place + 1 :])
    with pytest.raises(ValueError):
        segments.compiled.sums(x, 2, offsets, np.zeros(3, np.float32), 0.0, out, 1, 1)
    index[:] = 9  # outside its sequence: nothing is written
    segments.compiled.place(out, 2, offsets, index, x, 1, 1)
    assert not x.any()
