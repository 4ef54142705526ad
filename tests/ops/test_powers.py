"""Powers of negative numbers are those of C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

BASES = [-2.5, -1.0, -1e-3, -0.0, 0.0, 0.5, 3.0, -math.inf, math.inf, math.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", [0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, 1.5, -0.5])
def test_powers_are_those_of_c(factor: float, dtype: str) -> None:
    x = fluid.data("x", [len(BASES)], dtype)
    x.stop_gradient = False
    power = fluid.layers.pow(x, factor)
    (slope,) = fluid.gradients(power, x)
    bases = np.array(BASES, dtype)
    with np.errstate(all="ignore"):
        found: list[Any] = fluid.Executor(fluid.CPUPlace()).run(feed={"x": bases}, fetch_list=[power, slope])
        wanted = np.power(bases, np.full_like(bases, factor))  # one for all: not always what C gives
        np.testing.assert_allclose(found[0], wanted, rtol=1e-6)
        np.testing.assert_allclose(found[1], factor * np.power(bases, np.full_like(bases, factor - 1)), rtol=1e-6)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[0][numbers]), np.signbit(wanted[numbers]))
