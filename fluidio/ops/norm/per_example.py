"""Normalise within each example: layer_norm, group_norm, instance_norm."""

from __future__ import annotations

import math
import warnings
from types import ModuleType
from typing import Any

from fluidio.ops.compiled import layer_norm as fast
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.row_blocks import row_blocks
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _standardise(xp: ArrayLibrary | ModuleType, rows: Array, epsilon: float) -> tuple[Array, Array, Array, Array]:
    """Return rows with mean 0 and variance 1 (fresh), their means, variances and 1 / sqrt(variance + epsilon)."""
    mean = rows.mean(axis=-1, keepdims=True)
    out = rows - mean
    variance = xp.einsum("...i,...i->...", out, out)[..., None] / rows.shape[-1]
    inverse = 1 / xp.sqrt(variance + epsilon)
    out *= inverse
    return out, mean, variance, inverse


def _standardise_grad(xp: ArrayLibrary | ModuleType, normal: Array, inverse: Array, d: Array) -> Array:
    """Return the gradient of `_standardise` from its output and the gradient of that."""
    dx = d - d.mean(axis=-1, keepdims=True)
    dx -= normal * (xp.einsum("...i,...i->...", d, normal)[..., None] / d.shape[-1])
    dx *= inverse
    return dx


def _infer_layer_norm(c: InferContext) -> None:
    shape, begin = c.shape("X"), c.attrs["begin_norm_axis"]
    c.check(0 < begin < len(shape), f"begin_norm_axis is {begin}, X has {len(shape)} dims")
    width = math.prod(shape[begin:]) if all(d >= 0 for d in shape[begin:]) else -1
    rows = max(math.prod(shape[:begin]), -1)  # Fluid: two open dims, -1 times -1, make a known one
    for slot in ("Scale", "Bias"):
        if c.has(slot):
            c.check(
                width < 0 or math.prod(c.shape(slot)) == width, f"{slot} has shape {list(c.shape(slot))}, rows {width}"
            )
    c.same("Y", "X")
    c.set("Mean", (rows,), c.dtype("X"))
    c.set("Variance", (rows,), c.dtype("X"))


@op(
    "layer_norm",
    "X Scale? Bias?",
    "Y Mean? Variance?",
    {"epsilon": 1e-5, "begin_norm_axis": 1, "is_test": False},
    infer=_infer_layer_norm,
    grad=True,
)
def layer_norm(k: Call, x: Array, scale: Array | None, bias: Array | None) -> tuple[Array, ...]:
    """Y = each row (the dims from begin_norm_axis on) with mean 0 and variance 1, times Scale plus Bias."""
    begin = k.attrs["begin_norm_axis"]
    rows = x.reshape(math.prod(x.shape[:begin]), math.prod(x.shape[begin:]))
    count, width = rows.shape
    if fast.fits(rows, scale, bias):
        out, mean, variance = fast.normalise(rows, scale, bias, k.attrs["epsilon"])
        return out.reshape(x.shape), mean, variance
    out = k.xp.empty((count, width), x.dtype)
    mean, variance = k.xp.empty(count, x.dtype), k.xp.empty(count, x.dtype)
    scale, bias = (None if each is None else each.reshape(1, -1) for each in (scale, bias))

    def run(start: int, stop: int) -> None:
        part, means, variances, _ = _standardise(k.xp, rows[start:stop], k.attrs["epsilon"])
        if scale is not None:
            part *= scale
        if bias is not None:
            part += bias
        out[start:stop], mean[start:stop], variance[start:stop] = part, means[:, 0], variances[:, 0]

    row_blocks(k, count, width, run)
    return out.reshape(x.shape), mean, variance


@gradient("layer_norm", "X Scale Bias Mean Variance Y@GRAD", "X@GRAD Scale@GRAD Bias@GRAD")
def layer_norm_grad(k: Call, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, dy: Any) -> Any:
    rows = x.reshape(mean.shape[0], math.prod(x.shape[k.attrs["begin_norm_axis"] :]))
    d = dy.reshape(rows.shape)
    if fast.fits(rows, scale, mean, variance, d):
        grads = fast.normalise_grad(rows, scale, mean, variance, d, k.attrs["epsilon"], k.wants("X@GRAD"))
        return (
            None if grads[0] is None else grads[0].reshape(x.shape),
            grads[1].reshape(scale.shape) if k.wants("Scale@GRAD") and scale is not None else None,
            grads[2].reshape(bias.shape) if k.wants("Bias@GRAD") else None,
        )
    wide = None if scale is None else scale.reshape(1, -1)
    slopes = k.xp.empty(rows.shape, x.dtype) if k.wants("Scale@GRAD") else None
    dx = k.xp.empty(rows.shape, x.dtype) if k.wants("X@GRAD") else None

    def run(start: int, stop: int) -> None:
        inverse = 1 / k.xp.sqrt(variance[start:stop, None] + k.attrs["epsilon"])
        normal = (rows[start:stop] - mean[start:stop, None]) * inverse
        part = d[start:stop]
        if slopes is not None:
            k.xp.multiply(part, normal, out=slopes[start:stop])
        if dx is not None:
            dx[start:stop] = _standardise_grad(k.xp, normal, inverse, part if wide is None else part * wide)

    row_blocks(k, rows.shape[0], rows.shape[1], run)
    dscale = None if slopes is None or scale is None else slopes.sum(axis=0).reshape(scale.shape)
    dbias = d.sum(axis=0).reshape(bias.shape) if k.wants("Bias@GRAD") else None
    return None if dx is None else dx.reshape(x.shape), dscale, dbias


def _channels_first(k: Call, x: Array) -> Array:
    """Return X with its channels at axis 1."""
    return k.xp.moveaxis(x, -1, 1) if k.attrs.get("data_layout") == "NHWC" else x


def _channels_back(k: Call, x: Array) -> Array:
    return k.xp.ascontiguousarray(k.xp.moveaxis(x, 1, -1)) if k.attrs.get("data_layout") == "NHWC" else x


def _wide(scale: Array, ndim: int) -> Array:
    return scale.reshape(1, -1, *(1,) * (ndim - 2))


def _infer_group_norm(c: InferContext) -> None:
    shape, groups = c.shape("X"), c.attrs["groups"]
    channels = shape[-1] if c.attrs["data_layout"] == "NHWC" else shape[1]
    c.check(0 < groups <= channels or channels < 0, f"groups is {groups}, X has {channels} channels")
    c.check(channels < 0 or channels % groups == 0, f"{channels} channels do not divide into {groups} groups")
    c.same("Y", "X")
    c.set("Mean", (shape[0], groups), c.dtype("X"))
    c.set("Variance", (shape[0], groups), c.dtype("X"))


@op(
    "group_norm",
    "X Scale? Bias?",
    "Y Mean? Variance?",
    {"epsilon": 1e-5, "groups": 1, "data_layout": "NCHW"},
    infer=_infer_group_norm,
    grad=True,
)
def group_norm(k: Call, x: Array, scale: Array | None, bias: Array | None) -> tuple[Array, ...]:
    """Y = each group of channels of each example with mean 0 and variance 1, times Scale plus Bias by channel."""
    first = _channels_first(k, x)
    rows = first.reshape(x.shape[0], k.attrs["groups"], -1)
    out, mean, variance, _ = _standardise(k.xp, rows, k.attrs["epsilon"])
    out = out.reshape(first.shape)
    if scale is not None:
        out *= _wide(scale, x.ndim)
    if bias is not None:
        out += _wide(bias, x.ndim)
    return _channels_back(k, out), mean[..., 0], variance[..., 0]


def _sums_by_channel(array: Array) -> Array:
    return array.sum(axis=(0, *range(2, array.ndim)))


def _normal_from_result(k: Call, y: Array, scale: Array | None, bias: Array | None) -> Array:
    """Return what Y was before Scale and Bias; a channel with Scale 0 counts as the mean."""
    normal = _channels_first(k, y)
    if bias is not None:
        normal = normal - _wide(bias, y.ndim)
    if scale is None:
        return normal
    none = scale == 0
    divided = normal / _wide(k.xp.where(none, scale.dtype.type(1), scale), y.ndim)
    return k.xp.where(_wide(none, y.ndim), normal.dtype.type(0), divided)


@gradient("group_norm", "X? Scale Bias Mean? Variance Y Y@GRAD", "X@GRAD Scale@GRAD Bias@GRAD")
def group_norm_grad(
    k: Call, x: Array | None, scale: Array | None, bias: Array, mean: Array | None, variance: Array, y: Array, dy: Array
) -> KernelResult:
    inverse = 1 / k.xp.sqrt(variance[..., None] + k.attrs["epsilon"])
    d = _channels_first(k, dy)
    if x is None or mean is None:  # Fluid: its gradient op has the result only
        normal = _normal_from_result(k, y, scale, bias).reshape(*variance.shape, -1)
    else:
        normal = (_channels_first(k, x).reshape(*variance.shape, -1) - mean[..., None]) * inverse
    dscale = _sums_by_channel(d * normal.reshape(d.shape)) if k.wants("Scale@GRAD") else None
    dbias = _sums_by_channel(d) if k.wants("Bias@GRAD") else None
    if not k.wants("X@GRAD"):
        return None, dscale, dbias
    if scale is None:
        _tell_of_missing_scale()
        spread = (d.reshape(normal.shape) * normal).mean(axis=-1, keepdims=True)
        dx = (d.reshape(normal.shape) - normal * spread) * inverse
        return _channels_back(k, dx.reshape(d.shape)), dscale, dbias
    d = d * _wide(scale, y.ndim)
    dx = _standardise_grad(k.xp, normal, inverse, d.reshape(normal.shape)).reshape(d.shape)
    return _channels_back(k, dx), dscale, dbias


_warned = False


def _tell_of_missing_scale() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "group_norm without a scale: the gradient of Fluid 1.8.5 leaves out the mean, and so does fluidio, for the "
            "same losses; param_attr=fluid.ParamAttr(trainable=False) gives a scale of ones and the right gradient",
            stacklevel=2,
        )


def _infer_instance_norm(c: InferContext) -> None:
    shape = c.shape("X")
    c.check(2 <= len(shape) <= 5, f"X must have 2 to 5 dims, it has shape {list(shape)}")
    pairs = shape[0] * shape[1] if shape[0] >= 0 else -1
    c.same("Y", "X")
    c.set("SavedMean", (pairs,), c.dtype("X"))
    c.set("SavedVariance", (pairs,), c.dtype("X"))


@op(
    "instance_norm",
    "X Scale? Bias?",
    "Y SavedMean? SavedVariance?",
    {"epsilon": 1e-5},
    infer=_infer_instance_norm,
    grad=True,
)
def instance_norm(k: Call, x: Array, scale: Array | None, bias: Array | None) -> tuple[Array, ...]:
    """Y = each channel of each example with mean 0 and variance 1, times Scale plus Bias by channel."""
    rows = x.reshape(x.shape[0], x.shape[1], -1)
    out, mean, _, inverse = _standardise(k.xp, rows, k.attrs["epsilon"])
    out = out.reshape(x.shape)
    if scale is not None:
        out *= _wide(scale, x.ndim)
    if bias is not None:
        out += _wide(bias, x.ndim)
    return out, mean.reshape(-1), inverse.reshape(-1)


@gradient("instance_norm", "X Scale Bias SavedMean SavedVariance Y@GRAD", "X@GRAD Scale@GRAD Bias@GRAD")
def instance_norm_grad(
    k: Call, x: Array, scale: Array | None, bias: Array, mean: Array, saved: Array, dy: Array
) -> KernelResult:
    rows = x.reshape(x.shape[0], x.shape[1], -1)
    inverse = saved.reshape(*rows.shape[:2], 1)
    normal = (rows - mean.reshape(*rows.shape[:2], 1)) * inverse
    dscale = _sums_by_channel(dy * normal.reshape(dy.shape)) if k.wants("Scale@GRAD") else None
    dbias = _sums_by_channel(dy) if k.wants("Bias@GRAD") else None
    if not k.wants("X@GRAD"):
        return None, dscale, dbias
    d = dy if scale is None else dy * _wide(scale, x.ndim)
    return _standardise_grad(k.xp, normal, inverse, d.reshape(rows.shape)).reshape(x.shape), dscale, dbias
