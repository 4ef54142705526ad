"""Layer normalisation in C gives what NumPy gives, with every set of instructions, whatever the number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.compiled import layer_norm as fast
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.norm.per_example import layer_norm, layer_norm_grad

pytestmark = pytest.mark.skipif(fast.compiled is None, reason="there was no C compiler when fluidio was installed")


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield fast.compiled.instructions(request.param)
    fast.compiled.instructions(512)


def both(x: Any, scale: Any, bias: Any, dy: Any, wanted: tuple[str, ...]) -> list[Any]:
    """Return what the op and its gradient compute."""

    def call(type_: str) -> Call:
        return Call(SimpleNamespace(type=type_), attrs, NumpyBackend(), frozenset(wanted))

    attrs = {"epsilon": 1e-5, "begin_norm_axis": 1}
    y, mean, variance = layer_norm(call("layer_norm"), x, scale, bias)
    return [y, mean, variance, *layer_norm_grad(call("layer_norm_grad"), x, scale, bias, mean, variance, dy)]


WANTED = ("X@GRAD", "Scale@GRAD", "Bias@GRAD")


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 1), (130, 33), (65, 4, 40), (7, 100)])
@pytest.mark.parametrize("scaled", [True, False])
def test_rows_and_their_gradients_are_those_of_numpy(shape: tuple[int, ...], scaled: bool, bits: int) -> None:
    rng = np.random.default_rng(len(shape))
    x, dy = (rng.standard_normal(shape, np.float32) * 3 + 10 for _ in range(2))
    width = int(np.prod(shape[1:]))
    scale, bias = (rng.standard_normal(width, np.float32) if scaled else None for _ in range(2))
    wanted = WANTED if scaled else WANTED[:1]
    found = both(x, scale, bias, dy, wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "compiled", None)
        plain = both(x, scale, bias, dy, wanted)
    for one, other in zip(found, plain):
        if other is None:
            assert one is None
        else:
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-5 * max(1.0, float(np.abs(other).max())))


def test_gradients_that_nobody_wants_are_left_out() -> None:
    x = np.ones((3, 4), np.float32)
    assert both(x, x[0].copy(), x[0].copy(), x, ("Bias@GRAD",))[3:5] == [None, None]


def test_other_numbers_than_float32_stay_with_numpy() -> None:
    x = np.random.default_rng(0).standard_normal((3, 4))
    assert both(x, None, None, x, WANTED[:1])[0].dtype == np.float64


def test_three_threads_compute_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, dy = (rng.standard_normal((400, 19), np.float32) for _ in range(2))
    scale, bias = (rng.standard_normal(19, np.float32) for _ in range(2))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    alone = both(x, scale, bias, dy, WANTED)
    monkeypatch.setattr(fast, "_WORTH_A_THREAD", 1)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    try:
        for one, other in zip(alone, both(x, scale, bias, dy, WANTED)):
            np.testing.assert_array_equal(one, other)
    finally:
        threads.close()


@pytest.mark.parametrize("rows", [4, 2, -3])
def test_sizes_that_do_not_fit_are_refused(rows: int) -> None:
    x, mean = np.ones((3, 4), np.float32), np.ones(3, np.float32)
    with pytest.raises(ValueError, match="do not fit"):
        fast.compiled.layer_norm(x, None, None, x.copy(), mean, mean.copy(), (rows, 4), 1e-5, 1, 1)
    sums = np.empty((3, 2, 4), np.float32)
    with pytest.raises(ValueError, match="do not fit"):
        fast.compiled.layer_norm_grad(x, None, mean, mean, x, x.copy(), sums, (rows, 4, 1), 1e-5, 1, 1)
