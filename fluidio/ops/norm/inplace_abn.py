"""inplace_abn: batch normalisation and activation that overwrite their input."""

from __future__ import annotations

from typing import Any

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.norm.batch_norm import (
    BATCH_NORM_ATTRS,
    batch_norm,
    batch_norm_grad,
    infer_batch_norm,
    statistics_if_global,
)
from fluidio.ops.registry import gradient, op
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS: dict[str, Any] = {**BATCH_NORM_ATTRS, "activation": "", "alpha": 0.1, "use_sync_bn": False}


def _activated(k: Call, y: Array) -> Array:
    kind, alpha = k.attrs["activation"], y.dtype.type(k.attrs["alpha"])
    if kind == "leaky_relu":
        return k.xp.where(y > 0, y, y * alpha)
    if kind == "elu":
        return k.xp.where(y > 0, y, alpha * k.xp.expm1(k.xp.minimum(y, 0)))
    return y


def _before(k: Call, y: Array, dy: Array) -> tuple[Array, Array]:
    """Return the value before the activation, and its gradient."""
    kind, alpha = k.attrs["activation"], y.dtype.type(k.attrs["alpha"])
    if kind == "leaky_relu":
        return k.xp.where(y > 0, y, y / alpha), k.xp.where(y > 0, dy, dy * alpha)
    if kind == "elu":
        return k.xp.where(y > 0, y, k.xp.log1p(k.xp.minimum(y, 0) / alpha)), k.xp.where(y > 0, dy, dy * (y + alpha))
    return y, dy


@op(
    "inplace_abn",
    "X Scale Bias Mean Variance MomentumTensor?",
    "Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace?",
    _ATTRS,
    infer=infer_batch_norm,
    grad=statistics_if_global,
)
def inplace_abn(
    k: Call, x: Array, scale: Array, bias: Array, mean: Array, variance: Array, momentum: Array
) -> KernelResult:
    """Y = the activation of a batch norm of X, overwriting X."""
    y, *rest = batch_norm(k, x, scale, bias, mean, variance, momentum)
    return (_activated(k, y), *rest)


@gradient(
    "inplace_abn",
    "Y Scale Bias Mean? Variance? SavedMean SavedVariance Y@GRAD",
    "X@GRAD Scale@GRAD Bias@GRAD",
)
def inplace_abn_grad(
    k: Call,
    y: Array,
    scale: Array,
    bias: Array,
    mean: Array | None,
    variance: Array,
    saved_mean: Array,
    saved_inverse: Array,
    dy: Array,
) -> Array:
    value, d = _before(k, y, dy)
    moving = k.attrs["use_global_stats"] or (k.attrs["is_test"] and not k.attrs["trainable_statistics"])
    middle, inverse = saved_mean, saved_inverse
    if moving and mean is not None:
        middle, inverse = mean, 1 / k.xp.sqrt(variance + k.attrs["epsilon"])
    shape = [1] * y.ndim
    shape[1 if k.attrs["data_layout"] == "NCHW" else -1] = -1
    spread = [v.reshape(shape) for v in (scale, bias, middle, inverse)]
    x = (value - spread[1]) / (spread[0] * spread[3]) + spread[2]
    return batch_norm_grad(k, x, scale, bias, mean, variance, saved_mean, saved_inverse, d)
