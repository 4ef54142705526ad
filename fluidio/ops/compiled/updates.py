"""The updates of optimizers in C: float32 only, in one pass, on several threads; bit for bit like NumPy.

`compiled` and `others` are None if they could not be built.
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

others: Any
try:
    from fluidio.ops.compiled import _scaled as others

    others.instructions(512)
    _NUMBERS = {name: number for number, name in enumerate(others.NAMES)}
except ImportError:
    others = None

__all__ = ["adagrad", "adam", "adam_rows", "compiled", "fits", "momentum", "others", "scaled"]

_SINGLE = np.dtype("float32")
_WORTH_A_THREAD = 1 << 15
"""Elements below which another thread costs more than it saves."""
_ROWS_WORTH_A_THREAD = 1 << 13
"""The same in single rows, which lie all over memory."""


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


def adam_rows(
    param: Array,
    rows: Array,
    values: Array,
    m1: Array,
    m2: Array,
    betas: tuple[float, float],
    epsilon: float,
    rate: Array,
) -> bool:
    """Do the same for some rows, each of which occurs once; return False if that is impossible here."""
    if compiled is None or rate.size != 1 or rate.dtype != _SINGLE or rows.dtype != np.int64 or not values.size:
        return False
    for a in (param, m1, m2):
        if type(a) is not np.ndarray or a.dtype != _SINGLE or a.shape != param.shape or not a.flags.carray:
            return False
    if values.dtype != _SINGLE or values.shape[1:] != param.shape[1:] or not values.flags.c_contiguous:
        return False
    numbers = betas[0], 1 - betas[0], betas[1], 1 - betas[1], epsilon, float(rate.reshape(-1)[0])
    width = values.size // len(values)
    sharing = -(-_ROWS_WORTH_A_THREAD // width), _threads(8 * values.size)
    return bool(compiled.adam_rows(param, values, m1, m2, np.ascontiguousarray(rows), numbers, width, *sharing))


def adagrad(param: Array, grad: Array, moment: Array, rate: Array, epsilon: float) -> None:
    """m += g * g; p -= lr * g / (sqrt(m) + epsilon)."""
    number = float(rate.reshape(-1)[0])
    compiled.adagrad(param, grad, moment, number, epsilon, _WORTH_A_THREAD, _threads(param.size))


def scaled(name: str, rate: Array, param: Array, grad: Array, arrays: tuple[Array, ...], *numbers: float) -> bool:
    """Update a parameter and its accumulators as the op of this name does; return False if that is impossible here."""
    if others is None or not fits(rate, param, grad, *arrays):
        return False
    u, v, w = (*arrays, None, None)[:3]
    given = (*numbers, 0.0, 0.0, 0.0, 0.0, 0.0)[:6]
    others.scaled(_NUMBERS[name], param, grad, u, v, w, given, _WORTH_A_THREAD, _threads(param.size))
    return True
