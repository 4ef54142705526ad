"""Layer normalisation in C: float32 only, one pass over memory, threads share the rows.

`compiled` is None if it could not be built; NumPy then does the same in several passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.threads import thread_count
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _layer_norm as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

__all__ = ["compiled", "fits", "normalise", "normalise_grad"]

_WORTH_A_THREAD = 1 << 16
"""Elements below which another thread costs more than it saves."""
_BLOCK = 64
"""Rows whose gradients of scale and bias are added up together, whatever the number of threads."""


def fits(*arrays: Any) -> bool:
    """Return whether the functions here accept these arrays; None stands for a missing one."""
    return compiled is not None and all(
        a is None or (type(a) is np.ndarray and a.dtype == np.float32 and a.flags.c_contiguous and a.size)
        for a in arrays
    )


def normalise(x: Array, scale: Any, bias: Any, epsilon: float) -> tuple[Array, Array, Array]:
    """Return the normalised rows of X times `scale` plus `bias`, and their means and variances."""
    rows, width = x.shape
    y, mean, variance = np.empty_like(x), np.empty(rows, np.float32), np.empty(rows, np.float32)
    sharing = -(-_WORTH_A_THREAD // width), thread_count()
    compiled.layer_norm(x, scale, bias, y, mean, variance, (rows, width), epsilon, *sharing)
    return y, mean, variance


def normalise_grad(
    x: Array, scale: Any, mean: Array, variance: Array, dy: Array, epsilon: float, wants_dx: bool
) -> tuple[Array | None, Array, Array]:
    """Return the gradients of X, scale and bias."""
    rows, width = x.shape
    blocks = -(-rows // _BLOCK)
    dx = np.empty_like(x) if wants_dx else None
    sums = np.empty((blocks, 2, width), np.float32)
    sharing = -(-_WORTH_A_THREAD // (_BLOCK * width)), thread_count()
    compiled.layer_norm_grad(x, scale, mean, variance, dy, dx, sums, (rows, width, _BLOCK), epsilon, *sharing)
    dscale, dbias = sums.sum(axis=0)
    return dx, dscale, dbias
