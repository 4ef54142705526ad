"""Matrix products in C are those of float64 but for rounding, and have the same bits however they are divided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fluidio.ops import threads
from fluidio.ops.compiled import products
from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.row_blocks import share_products

pytestmark = pytest.mark.skipif(products.compiled is None, reason="no C compiler, or no wide vectors")

SIZES = [1, 2, 7, 8, 9, 31, 32, 33, 47, 48, 49, 100, 255, 256, 257, 300]


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield products.compiled.instructions(request.param)
    products.compiled.instructions(512)


@pytest.fixture(autouse=True)
def _small_ones_count(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("_SMALL", "_NARROW", "_NARROW_IN_BATCHES", "_FEW_ROWS"):
        monkeypatch.setattr(products, name, 0)
    monkeypatch.setattr(products, "_WORTH_A_THREAD", 1)
    yield
    threads.close()


def drawn(rng: np.random.Generator, *shape: int) -> Any:
    """Return a matrix, or a batch, in one of the ways in which it can lie in memory."""
    *batch, rows, columns = shape
    way = rng.integers(3)
    if way == 0:
        return rng.standard_normal(shape, np.float32)
    if way == 1:
        return rng.standard_normal((*batch, columns, rows), np.float32).swapaxes(-1, -2)
    return rng.standard_normal((*batch, rows, 2 * columns), np.float32)[..., ::2]


def test_products_are_right_and_the_same_with_any_threads(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(bits)
    for _ in range(60):
        rows, depth, columns = (int(size) for size in rng.choice(SIZES, 3))
        a, b = drawn(rng, rows, depth), drawn(rng, depth, columns)
        found = []
        for count in "123":
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", count)
            found.append(products.product(a, b))
        exact = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(found[0], exact, rtol=0, atol=1e-5 * max(1, np.abs(exact).max()))
        for other in found[1:]:
            np.testing.assert_array_equal(found[0], other)


def test_batches_of_products_are_those_of_their_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    monkeypatch.setattr("fluidio.ops.row_blocks._ONE_THREAD", 0)
    k = Call(None, {}, NumpyBackend(), frozenset())
    for shape in ((2, 3), (1, 5), (4,)):
        a, b = drawn(rng, *shape, 20, 33), drawn(rng, *shape, 33, 50)
        np.testing.assert_allclose(share_products(k, a, b), np.matmul(a, b), rtol=1e-4, atol=1e-5)
        matrix = drawn(rng, 33, 50)
        np.testing.assert_allclose(share_products(k, a, matrix), np.matmul(a, matrix), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_reach_their_row_and_column_alone(value: float) -> None:
    a, b = np.ones((33, 40), np.float32), np.ones((40, 50), np.float32)
    a[7, 39] = b[0, 9] = value
    np.testing.assert_array_equal(products.product(a, b), a @ b)


@pytest.mark.parametrize("shapes", [((0, 40), (40, 50)), ((33, 0), (0, 50)), ((33, 40), (40, 0))])
def test_empty_sides_give_zeros(shapes: Any) -> None:
    a, b = np.ones(shapes[0], np.float32), np.ones(shapes[1], np.float32)
    k = Call(None, {}, NumpyBackend(), frozenset())
    for found in (products.product(a, b), share_products(k, a, b), share_products(k, a[None], b)[0]):
        np.testing.assert_array_equal(found, np.zeros((len(a), len(b.T))))


def scattered(rng: np.random.Generator, *shape: int) -> Any:
    """Return an array whose dims lie in memory in any order, with gaps or repeated."""
    order = rng.permutation(len(shape))
    array = rng.standard_normal([2 * shape[i] for i in order], np.float32)
    array = array[tuple(slice(None, None, rng.choice([-2, 2])) for _ in shape)].transpose(np.argsort(order))
    return np.broadcast_to(array[:1], shape) if rng.random() < 0.2 else array


def test_batches_may_lie_anyhow_and_threads_change_no_bit(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(bits + 1)
    for _ in range(40):
        rows, depth, columns = (int(size) for size in rng.choice(SIZES[:12], 3))
        batch = [int(size) for size in rng.integers(1, 4, rng.integers(1, 4))]
        a, b = scattered(rng, *batch, rows, depth), scattered(rng, *batch, depth, columns)
        found = []
        for count in "13":
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", count)
            found.append(products.products(a, b))
        np.testing.assert_allclose(found[0], np.matmul(a, b), rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(*found)


def test_batches_that_do_not_fit_are_refused() -> None:
    a, out = np.ones((2, 4, 4), np.float32), np.empty((2, 4, 4), np.float32)
    for one, two, to in [
        (a, a[:1], out),
        (a, a[:, :3], out),
        (a, a, out[:1]),
        (a[0], a[0], out),
        (a, a.astype("f8"), out),
        (a, a[:0], out),
    ]:
        with pytest.raises(ValueError, match="do not fit"):
            products.compiled.multiply_each(one, two, to, 1, 1)


def test_other_numbers_are_left_to_numpy() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((33, 40)), rng.random((40, 50))
    np.testing.assert_array_equal(products.product(a, b), a @ b)
    np.testing.assert_array_equal(products.product(a.astype("f4"), b), a.astype("f4") @ b)
    with pytest.raises(ValueError, match="mismatch"):
        products.product(a.astype("f4"), a.astype("f4"))


def test_the_c_refuses_sizes_that_do_not_fit() -> None:
    a, out = np.ones((4, 4), np.float32), np.empty((4, 4), np.float32)
    for sizes in ((4, 4, 5), (5, 4, 4), (0, 4, 4), (1 << 40, 1 << 40, 4), (-4, -4, -4)):
        with pytest.raises(ValueError, match="do not fit"):
            products.compiled.multiply(a, a, out, sizes, (False, False), (1, 1, 1), 1, 1)


@pytest.mark.parametrize("rows", [1, 8, 33])
def test_a_state_meets_several_weights(rows: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(rows)
    state, weights = rng.standard_normal((rows, 40), np.float32), rng.standard_normal((3, 40, 50), np.float32)
    exact = np.matmul(state.astype(np.float64), weights.astype(np.float64))
    for count in "13":
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", count)
        out = np.empty((3, rows, 50), np.float32)
        assert products.by_state(np, state, weights, out) is out
        np.testing.assert_allclose(out, exact, atol=1e-4)
    wide = np.empty((3, rows, 100), np.float32)[..., ::2]
    np.testing.assert_allclose(products.by_state(np, state, weights, wide), exact, atol=1e-4)
