"""A diagonal outside of a matrix has no elements, however far away it is."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid


@pytest.mark.parametrize("offset", [3, 4, -4, 2**31 - 1, -(2**31), -(2**31) + 1])
def test_the_trace_of_a_diagonal_far_away_is_zero(offset: int) -> None:
    x = fluid.layers.data("x", [2, 3, 3], append_batch_size=False)
    y = fluid.layers.trace(x, offset=offset, dim1=1, dim2=2)
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.ones((2, 3, 3), "f4")}, fetch_list=[y])
    assert found.tolist() == [0, 0]
