"""Softmax along the last dim in C: float32 only, threads share the rows.

`compiled` is None if it could not be built; NumPy then does the same in several passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.threads import thread_count
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _softmax as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

__all__ = ["fits", "softmax", "softmax_grad"]

_LARGE = 1 << 8
"""Elements below which NumPy is as fast."""
_NARROW = 8
"""Elements of a row below which NumPy is as fast."""
_WORTH_A_THREAD = 1 << 14
"""Elements below which another thread costs more than it saves."""


def fits(*arrays: Any) -> bool:
    """Return whether the functions here accept these arrays of one shape, and are worthwhile."""
    if compiled is None:
        return False
    for a in arrays:
        if type(a) is not np.ndarray or a.dtype != np.float32 or not a.flags.c_contiguous or a.shape != arrays[0].shape:
            return False
    shape = arrays[0].shape
    return bool(shape) and shape[-1] >= _NARROW and arrays[0].size >= _LARGE


def _sharing(x: Array) -> tuple[int, int, int]:
    width = x.shape[-1]
    return width, -(-_WORTH_A_THREAD // width), thread_count() if x.size >= 2 * _WORTH_A_THREAD else 1


def softmax(x: Array) -> tuple[Array, Array, Array]:
    """Return the softmax, the maximum of each row, and the sum of exp(x - maximum)."""
    rows = (*x.shape[:-1], 1)
    out, largest, sums = np.empty_like(x), np.empty(rows, np.float32), np.empty(rows, np.float32)
    compiled.softmax(x, out, largest, sums, *_sharing(x))
    return out, largest, sums


def softmax_grad(out: Array, dout: Array) -> Array:
    """Return the gradient of X."""
    dx = np.empty_like(out)
    compiled.softmax_grad(out, dout, dx, *_sharing(out))
    return dx
