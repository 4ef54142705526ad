"""Sums on several threads have the bits of NumPy's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from fluidio.ops import reductions, row_blocks, threads


@pytest.fixture(autouse=True)
def _three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.setattr(reductions, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(row_blocks, "_WORTH_A_THREAD", 1)
    yield
    threads.close()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((700, 33), (0,)),
        ((5, 300, 65), (0, 1)),
        ((300, 5, 40), (0,)),
        ((3, 4, 5, 100), (0, 1, 2)),
        ((2, 20, 300), (0, 2)),
        ((400, 40), (1,)),
        ((900, 3), (0,)),
        ((50, 40), (0, 1)),
        ((0, 64), (0,)),
    ],
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_over_leading_dims(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, keepdims: bool) -> None:
    array = (np.random.RandomState(1).standard_normal(shape) * 100).astype(dtype)
    expected = array.sum(axis=axes, keepdims=keepdims)
    found = reductions.total(array, axes, keepdims)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [(60, 7), (7,), (1, 7), (4, 15, 7), (15, 7), (1, 15, 7), (4, 1, 7), (1,), ()])
def test_elementwise_functions_of_arrays_that_broadcast(shape: tuple[int, ...]) -> None:
    draw = np.random.RandomState(2)
    x = draw.standard_normal((60, 7) if shape == (60, 7) else (4, 15, 7)).astype("float32")
    y = np.asarray(draw.standard_normal(shape), "float32")
    expected = x - y
    assert row_blocks.elementwise(np.subtract, x, y).tobytes() == expected.tobytes()
    assert row_blocks.elementwise(np.subtract, x, y, x) is x
    assert x.tobytes() == expected.tobytes()
