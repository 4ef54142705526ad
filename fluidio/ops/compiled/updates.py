"""Momentum and Adam in C: one pass over memory, float32 only, in threads; the bits of the kernels in NumPy.

`compiled` is None if it could not be built.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.threads import share
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _updates as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

__all__ = ["adam", "compiled", "fits", "momentum"]

_WORTH_A_THREAD = 1 << 15
"""Elements below which another thread costs more than it saves."""


def fits(rate: Any, *arrays: Any) -> bool:
    """Return whether the functions here accept a rate and arrays of one shape."""
    return (
        compiled is not None
        and rate.size == 1
        and rate.dtype == np.float32
        and all(
            type(a) is np.ndarray
            and a.dtype == np.float32
            and a.flags.c_contiguous
            and a.flags.aligned
            and a.size == arrays[0].size
            for a in arrays
        )
    )


def momentum(param: Array, grad: Array, velocity: Array, mu: float, rate: Array, nesterov: bool) -> None:
    """v = mu v + g; p -= lr v, or lr (g + mu v) with Nesterov."""
    numbers = mu, float(rate.reshape(-1)[0])
    share(
        param.size,
        _WORTH_A_THREAD,
        lambda begin, end: compiled.momentum(param, grad, velocity, numbers, nesterov, begin, end),
    )


def adam(
    param: Array, grad: Array, m1: Array, m2: Array, betas: tuple[float, float], epsilon: float, rate: Any
) -> None:
    """m1 = b1 m1 + (1 - b1) g; m2 = b2 m2 + (1 - b2) g g; p -= lr m1 / (sqrt(m2) + epsilon)."""
    numbers = betas[0], 1 - betas[0], betas[1], 1 - betas[1], epsilon, float(rate.reshape(-1)[0])
    share(param.size, _WORTH_A_THREAD, lambda begin, end: compiled.adam(param, grad, m1, m2, numbers, begin, end))
