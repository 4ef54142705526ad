"""Products with matrices of weights that do not spread infinite and NaN elements to results they are no part of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fluidio.tensor.array import Array

__all__ = ["weighted"]


def weighted(x: Array, matrix: Array, exact: Callable[[], Array]) -> Array:
    """Return `x @ matrix` on the host, or what `exact` computes if X is not finite: 0 * infinity is NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        out: Array = x @ matrix
        return out if np.isfinite(out.sum()) else exact()
