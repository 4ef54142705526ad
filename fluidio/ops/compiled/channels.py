"""Batch normalisation, ReLU and max pooling in C: float32 only, one pass over memory, threads share the channels.

`compiled` is None if it could not be built; NumPy then does the same in several passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.threads import thread_count
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _channels as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

__all__ = ["compiled", "fits", "max_pool", "max_pool_grad", "normalise", "normalise_grad", "relu_grad", "sum_channels"]

_SINGLE = np.dtype("float32")
_WORTH_A_THREAD = 1 << 18
"""Elements below which another thread costs more than it saves."""
_WORTH_A_THREAD_TO_NORMALISE = 1 << 15
"""The same for batch normalisation."""


def fits(*arrays: Any) -> bool:
    """Return whether the functions here accept these arrays."""
    if compiled is None:
        return False
    for a in arrays:  # noqa: SIM110  (a generator would take longer than the checks)
        if type(a) is not np.ndarray or a.dtype != _SINGLE or not a.flags.c_contiguous:
            return False
    return True


def _sizes(x: Array) -> tuple[int, int, int]:
    images, channels = x.shape[:2]
    return images, channels, x.size // (images * channels)


def _least(sizes: tuple[int, int, int]) -> int:
    return -(-_WORTH_A_THREAD_TO_NORMALISE // (sizes[0] * sizes[2]))


def normalise(
    x: Array, other: Any, scale: Array, bias: Array, epsilon: float, relu: bool
) -> tuple[Array, Array, Array, Array]:
    """Return X [N, C, *] normalised by channel, plus `other`, after ReLU; and the means, variances, 1 / deviations."""
    y, sizes = np.empty_like(x), _sizes(x)
    mean, variance, inverse = (np.empty(sizes[1], np.float32) for _ in range(3))
    sharing = _least(sizes), thread_count()
    compiled.normalise(x, other, y, scale, bias, mean, variance, inverse, sizes, epsilon, relu, *sharing)
    return y, mean, variance, inverse


def normalise_grad(
    x: Any, dy: Any, out: Any, scale: Any, mean: Any, inverse: Any, fixed: bool, wants_dx: bool
) -> tuple[Any, Any, Any]:
    """Return the gradients of X, Scale and Bias; given `out`, the gradient first passes the ReLU that produced it.

    `fixed`: the statistics were given and do not depend on X.
    """
    sizes = _sizes(x)
    dx = np.empty_like(x) if wants_dx else None
    dscale, dbias = np.empty(sizes[1], np.float32), np.empty(sizes[1], np.float32)
    sharing = _least(sizes), thread_count()
    compiled.normalise_grad(x, dy, out, dx, scale, mean, inverse, dscale, dbias, sizes, fixed, *sharing)
    return dx, dscale, dbias


def sum_channels(x: Array) -> Array:
    """Return the sum of each channel of X [N, C, *]."""
    sizes = _sizes(x)
    sums = np.empty(sizes[1], np.float32)
    compiled.sum_channels(x, sums, sizes, _least(sizes), thread_count())
    return sums


def relu_grad(out: Array, dout: Array) -> Array:
    """Return the gradient where `out` is above zero."""
    dx = np.empty_like(dout)
    compiled.relu_grad(out, dout, dx, _WORTH_A_THREAD, thread_count() if out.size > _WORTH_A_THREAD else 1)
    return dx


def max_pool(x: Any, outs: Any, windows: tuple[int, ...], lowest: float) -> Any:
    """Return the largest element of each window; `windows` are its sizes, strides and paddings before."""
    out = np.empty((*x.shape[:2], *outs), np.float32)
    planes = x.shape[0] * x.shape[1]
    numbers = (planes, *x.shape[2:], *outs, *windows)
    least = -(-_WORTH_A_THREAD // (x.shape[2] * x.shape[3]))
    compiled.max_pool(x, out, numbers, lowest, least, thread_count())
    return out


def max_pool_grad(x: Array, out: Array, dout: Array, windows: tuple[int, ...]) -> Array:
    """Return X@GRAD: each window's gradient goes to its first largest element."""
    dx = np.empty_like(x)
    planes = x.shape[0] * x.shape[1]
    numbers = (planes, *x.shape[2:], *out.shape[2:], *windows)
    least = -(-_WORTH_A_THREAD // (x.shape[2] * x.shape[3]))
    compiled.max_pool_grad(x, out, dout, dx, numbers, least, thread_count())
    return dx
