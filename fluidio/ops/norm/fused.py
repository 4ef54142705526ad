"""Batch normalisation fused with the sum and ReLU that follow it: kernels for plans, not ops of programs."""

from __future__ import annotations

from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.norm.batch_norm import batch_norm, batch_norm_grad, fast_grad, fast_norm
from fluidio.tensor.array import Array

__all__ = ["batch_norm_relu", "batch_norm_sum_relu", "relu_batch_norm_grad"]


def batch_norm_relu(
    k: Call, x: Array, scale: Array, bias: Array, mean: Array, variance: Array, momentum: Array
) -> Array:
    """Return what `batch_norm` returns, with ReLU applied to Y."""
    return batch_norm_sum_relu(k, x, scale, bias, mean, variance, momentum, None)


def batch_norm_sum_relu(
    k: Call, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, momentum: Any, added: Any
) -> Any:
    """Return what `batch_norm` returns, with another value added to Y and ReLU applied."""
    found = fast_norm(k, x, scale, bias, mean, variance, momentum, added, relu=True)
    if found is not None:
        return found
    y, *rest = batch_norm(k, x, scale, bias, mean, variance, momentum)
    if added is not None:
        y = y + added
    return k.xp.maximum(y, y.dtype.type(0), out=y), *rest


def relu_batch_norm_grad(
    k: Call,
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    saved_mean: Array,
    saved_inverse: Array,
    dout: Array,
    out: Array,
) -> Array:
    """Return what `batch_norm_grad` returns, given the gradient and the output of a following ReLU."""
    statistics = mean, variance, saved_mean, saved_inverse
    found = fast_grad(k, x, scale, bias, *statistics, dout, out)
    return batch_norm_grad(k, x, scale, bias, *statistics, dout * (out > 0)) if found is None else found
