"""Running sums along every axis, and gradients of sums, are stored row by row."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fluidio.ops.kernel import Call, NumpyBackend
from fluidio.ops.math import reduce_dims


@pytest.mark.parametrize("shape", [(7, 70), (5, 8, 66), (3, 1, 80), (0, 70), (4, 0, 70), (6,)])
def test_running_sums_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    for axis, exclusive, reverse in product(range(-len(shape), len(shape)), (False, True), (False, True)):
        attrs = {"axis": axis, "flatten": False, "exclusive": exclusive, "reverse": reverse}
        found = reduce_dims.cumsum(Call(None, attrs, NumpyBackend(), frozenset()), x)
        wanted = np.flip(x, axis) if reverse else x
        wanted = np.cumsum(wanted, axis, np.float32)
        if exclusive:
            wanted = np.roll(wanted, 1, axis)
            wanted[(slice(None),) * (axis % len(shape)) + (slice(0, 1),)] = 0
        np.testing.assert_array_equal(found, np.flip(wanted, axis) if reverse else wanted)
        assert found.flags.c_contiguous and found.dtype == np.float32


def test_the_gradient_of_a_sum_is_row_by_row_along_every_dim() -> None:
    x = np.zeros((4, 5, 6), np.float32)
    for dims in ([0], [1], [2], [0, 2], [0, 1]):
        attrs = {"dim": dims, "keep_dim": True, "reduce_all": False, "in_dtype": -1, "out_dtype": -1}
        dout = np.random.default_rng(0).random(x.sum(tuple(dims), keepdims=True).shape, np.float32)
        k = Call(None, attrs, NumpyBackend(), frozenset(("X@GRAD",)))
        dx = reduce_dims.reduce_sum_grad(k, x, dout)
        assert dx.flags.c_contiguous
        np.testing.assert_array_equal(dx, np.broadcast_to(dout, x.shape))
