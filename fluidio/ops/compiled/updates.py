"""Momentum and Adam in C: float32 only, one pass over memory, on several threads; bit for bit like the NumPy kernels.

`compiled` is None if it could not be built.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.threads import thread_count
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _updates as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

__all__ = ["adam", "compiled", "fits", "momentum"]

_SINGLE = np.dtype("float32")
_WORTH_A_THREAD = 1 << 15
"""Elements below which another thread costs more than it saves."""


def fits(rate: Any, *arrays: Any) -> bool:
    """Return whether the functions here accept a rate and arrays of one shape."""
    if compiled is None or rate.size != 1 or rate.dtype != _SINGLE:
        return False
    size = arrays[0].size
    for a in arrays:
        if type(a) is not np.ndarray or a.dtype != _SINGLE or a.size != size or not a.flags.carray:
            return False
    return True


def _threads(elements: int) -> int:
    return thread_count() if elements >= 2 * _WORTH_A_THREAD else 1


def momentum(param: Array, grad: Array, velocity: Array, mu: float, rate: Array, nesterov: bool) -> None:
    """v = mu * v + g; p -= lr * v, or lr * (g + mu * v) with Nesterov."""
    numbers = mu, float(rate.reshape(-1)[0])
    compiled.momentum(param, grad, velocity, numbers, nesterov, _WORTH_A_THREAD, _threads(param.size))


def adam(
    param: Array, grad: Array, m1: Array, m2: Array, betas: tuple[float, float], epsilon: float, rate: Any
) -> None:
    """m1 = b1 * m1 + (1 - b1) * g; m2 = b2 * m2 + (1 - b2) * g * g; p -= lr * m1 / (sqrt(m2) + epsilon)."""
    numbers = betas[0], 1 - betas[0], betas[1], 1 - betas[1], epsilon, float(rate.reshape(-1)[0])
    compiled.adam(param, grad, m1, m2, numbers, _WORTH_A_THREAD, _threads(param.size))
