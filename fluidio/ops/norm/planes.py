"""instance_norm and group_norm in C: planes, or groups of them, are the channels of one batch-normalised image."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.compiled import channels
from fluidio.ops.row_blocks import elementwise
from fluidio.tensor.array import Array

__all__ = ["fits", "group_norm", "group_norm_grad", "instance_norm", "instance_norm_grad"]


def fits(x: Any, *others: Any) -> bool:
    """Return whether the functions here accept X [N, C, *] and other arrays, of which some may be missing."""
    given = [other for other in others if other is not None]
    return channels.fits(x, *given) and x.ndim > 2 and x.size > 0


def _repeated(values: Array | None, times: int, usual: float) -> Array:
    """Return a value for each plane from one for each channel."""
    return np.full(times, usual, np.float32) if values is None else np.tile(values.reshape(-1), times // values.size)


def _planes(x: Array, count: int) -> Array:
    return x.reshape(1, count, x.size // count)


def instance_norm(x: Array, scale: Array | None, bias: Array | None, epsilon: float) -> tuple[Array, Array, Array]:
    """Return Y, and the mean and 1 / deviation of each plane."""
    count = x.shape[0] * x.shape[1]
    weights = _repeated(scale, count, 1.0), _repeated(bias, count, 0.0)
    y, mean, _, inverse = channels.normalise(_planes(x, count), None, *weights, epsilon, False)
    return y.reshape(x.shape), mean, inverse


def instance_norm_grad(
    x: Array, scale: Array | None, mean: Array, inverse: Array, dy: Array, wants_dx: bool
) -> tuple[Array | None, Array, Array]:
    """Return the gradients of X, Scale and Bias."""
    count = x.shape[0] * x.shape[1]
    given = _repeated(scale, count, 1.0), mean.reshape(-1), inverse.reshape(-1)
    dx, *sums = channels.normalise_grad(_planes(x, count), _planes(dy, count), None, *given, False, wants_dx)
    dscale, dbias = (each.reshape(x.shape[:2]).sum(axis=0) for each in sums)
    return None if dx is None else dx.reshape(x.shape), dscale, dbias


def _wide(values: Array, ndim: int) -> Array:
    return values.reshape(1, -1, *(1,) * (ndim - 2))


def group_norm(
    x: Array, scale: Array | None, bias: Array | None, groups: int, epsilon: float
) -> tuple[Array, Array, Array]:
    """Return Y, and the mean and variance of each group of channels of each image."""
    count = x.shape[0] * groups
    weights = _repeated(None, count, 1.0), _repeated(None, count, 0.0)
    y, mean, variance, _ = channels.normalise(_planes(x, count), None, *weights, epsilon, False)
    out = y.reshape(x.shape)
    if scale is not None:
        elementwise(np.multiply, out, _wide(scale, x.ndim), out)
    if bias is not None:
        elementwise(np.add, out, _wide(bias, x.ndim), out)
    return out, mean.reshape(-1, groups), variance.reshape(-1, groups)


def group_norm_grad(
    x: Array, scale: Array, mean: Array, inverse: Array, dy: Array, wants_dx: bool
) -> tuple[Array | None, Array, Array]:
    """Return the gradients of X, Scale and Bias; `mean` and `inverse` (1 / deviation) are [image, group]."""
    count, planes = mean.size, x.shape[0] * x.shape[1]
    means, inverses = (np.repeat(values.reshape(-1), planes // count) for values in (mean, inverse))
    ones, flat = _repeated(None, planes, 1.0), (_planes(x, planes), _planes(dy, planes))
    _, *sums = channels.normalise_grad(*flat, None, ones, means, inverses, True, False)
    dscale, dbias = (values.reshape(x.shape[:2]).sum(axis=0) for values in sums)
    if not wants_dx:
        return None, dscale, dbias
    d = elementwise(np.multiply, dy, _wide(scale, x.ndim))
    given = ones[:count], mean.reshape(-1), inverse.reshape(-1)
    dx, _, _ = channels.normalise_grad(_planes(x, count), _planes(d, count), None, *given, False, True)
    return dx.reshape(x.shape), dscale, dbias
