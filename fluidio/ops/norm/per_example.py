"""Normalise within each example: layer_norm, group_norm, instance_norm."""

from __future__ import annotations

import math
import warnings
from types import ModuleType
from typing import Any

from fluidio.ops.compiled import layer_norm as fast
from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.norm import planes
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
    """Return the gradient of `_standardise`, given its output and the output's gradient."""
    dx = d - d.mean(axis=-1, keepdims=True)
    dx -= normal * (xp.einsum("...i,...i->...", d, normal)[..., None] / d.shape[-1])
    dx *= inverse
    return dx


def _infer_layer_norm(c: InferContext) -> None:
    shape, begin = c.shape("X"), c.attrs["begin_norm_axis"]
    c.check(
        0 < begin < len(shape),
        f"X has {len(shape)} dims, so begin_norm_axis must lie in 1 ... {len(shape) - 1}, got {begin}",
    )
    width = math.prod(shape[begin:]) if all(d >= 0 for d in shape[begin:]) else -1
    rows = max(math.prod(shape[:begin]), -1)  # Fluid: two unknown dims, -1 times -1, make a known one
    for slot in ("Scale", "Bias"):
        if c.has(slot):
            size = math.prod(c.shape(slot))
            c.check(
                width < 0 or size in (width, -1),
                f"{slot} must have {width} elements, its shape is {list(c.shape(slot))}",
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


_GRADIENTS = ("X@GRAD", "Scale@GRAD", "Bias@GRAD")


def _channels_first(k: Call, x: Array) -> Array:
    """Return X with its channels at axis 1."""
    return k.xp.moveaxis(x, -1, 1) if k.attrs.get("data_layout") == "NHWC" else x


def _channels_back(k: Call, x: Array) -> Array:
    return row_by_row(k.xp, k.xp.moveaxis(x, 1, -1)) if k.attrs.get("data_layout") == "NHWC" else x


def _wide(scale: Array, ndim: int) -> Array:
    return scale.reshape(1, -1, *(1,) * (ndim - 2))


def _infer_group_norm(c: InferContext) -> None:
    shape, groups = c.shape("X"), c.attrs["groups"]
    channels = shape[-1] if c.attrs["data_layout"] == "NHWC" else shape[1]
    c.check(
        0 < groups <= channels or channels < 0,
        f"X has {channels} channels, so groups must lie in 1 ... {channels}, got {groups}",
    )
    fits = channels < 0 or -(-channels // -(-channels // groups)) == groups
    c.check(fits, f"{channels} channels cannot be divided into {groups} groups")
    c.same("Y", "X")
    c.set("Mean", (shape[0], groups), c.dtype("X"))
    c.set("Variance", (shape[0], groups), c.dtype("X"))


def _divisions(channels: int, groups: int) -> list[tuple[slice, slice]]:
    """Return channels and groups of equal size: all, or the last group apart, as it may be smaller."""
    size = -(-channels // groups)
    even = channels // size
    if even == groups:
        return [(slice(None), slice(None))]
    return [(slice(even * size), slice(even)), (slice(even * size, None), slice(even, None))]


def _by_group(k: Call, first: Array) -> list[Array]:
    """Return [example, group, elements] of an array with its channels at axis 1, one for each division."""
    groups = k.attrs["groups"]
    found = []
    for channels, chosen in _divisions(first.shape[1], groups):
        rows = first[:, channels]
        found.append(rows.reshape(first.shape[0], len(range(groups)[chosen]), -1))
    return found


def _joined(k: Call, parts: list[Array], shape: tuple[int, ...]) -> Array:
    """Return what `_by_group` has taken apart."""
    if len(parts) == 1:
        return parts[0].reshape(shape)
    return k.xp.concatenate([part.reshape(shape[0], -1, *shape[2:]) for part in parts], axis=1)


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
    if first is x and planes.fits(x, scale, bias) and x.shape[1] % k.attrs["groups"] == 0:
        return planes.group_norm(first, scale, bias, k.attrs["groups"], k.attrs["epsilon"])
    parts = [_standardise(k.xp, rows, k.attrs["epsilon"]) for rows in _by_group(k, first)]
    out = _joined(k, [part[0] for part in parts], first.shape)
    if scale is not None:
        out *= _wide(scale, x.ndim)
    if bias is not None:
        out += _wide(bias, x.ndim)
    shape = (x.shape[0], k.attrs["groups"])
    return _channels_back(k, out), *(_joined(k, [part[i] for part in parts], shape) for i in (1, 2))


def _sums_by_channel(array: Array) -> Array:
    return array.sum(axis=(0, *range(2, array.ndim)))


def _normal_from_result(k: Call, y: Array, scale: Array | None, bias: Array | None) -> Array:
    """Return Y before Scale and Bias; a channel with Scale 0 is treated as the mean."""
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
    d = _channels_first(k, dy)
    even = d is dy and d.shape[1] % k.attrs["groups"] == 0
    if x is not None and mean is not None and scale is not None and even and planes.fits(x, scale, mean, variance, d):
        inverse = 1 / k.xp.sqrt(variance + variance.dtype.type(k.attrs["epsilon"]))
        found = planes.group_norm_grad(x, scale, mean, inverse, d, k.wants("X@GRAD"))
        return tuple(each if k.wants(slot) else None for each, slot in zip(found, _GRADIENTS))
    chosen = [groups for _, groups in _divisions(d.shape[1], k.attrs["groups"])]
    inverses = [1 / k.xp.sqrt(variance[:, groups, None] + k.attrs["epsilon"]) for groups in chosen]
    if x is None or mean is None:  # Fluid: its gradient op reads only the result
        normals = _by_group(k, _normal_from_result(k, y, scale, bias))
    else:
        rows = _by_group(k, _channels_first(k, x))
        normals = [(row - mean[:, groups, None]) * part for row, groups, part in zip(rows, chosen, inverses)]
    dscale = _sums_by_channel(d * _joined(k, normals, d.shape)) if k.wants("Scale@GRAD") else None
    dbias = _sums_by_channel(d) if k.wants("Bias@GRAD") else None
    if not k.wants("X@GRAD"):
        return None, dscale, dbias
    if scale is None:
        _tell_of_missing_scale()
        means = [(part * normal).mean(axis=-1, keepdims=True) for part, normal in zip(_by_group(k, d), normals)]
        sums = zip(_by_group(k, d), normals, means, inverses)
        dx = [(part - normal * spread) * inverse for part, normal, spread, inverse in sums]
    else:
        scaled = _by_group(k, d * _wide(scale, y.ndim))
        dx = [_standardise_grad(k.xp, n, inverse, part) for n, inverse, part in zip(normals, inverses, scaled)]
    return _channels_back(k, _joined(k, dx, d.shape)), dscale, dbias


_warned = False


def _tell_of_missing_scale() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "group_norm without a scale: like Fluid 1.8.5, fluidio leaves the mean out of the gradient; "
            "param_attr=fluid.ParamAttr(trainable=False) gives a scale of ones and the right gradient",
            stacklevel=2,
        )


def _infer_instance_norm(c: InferContext) -> None:
    shape = c.shape("X")
    c.check(2 <= len(shape) <= 5, f"X must have 2 to 5 dims, its shape is {list(shape)}")
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
    if planes.fits(x, scale, bias):
        return planes.instance_norm(x, scale, bias, k.attrs["epsilon"])
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
    if planes.fits(x, scale, mean, saved, dy):
        found = planes.instance_norm_grad(x, scale, mean, saved, dy, k.wants("X@GRAD"))
        return tuple(each if k.wants(slot) else None for each, slot in zip(found, _GRADIENTS))
    rows = x.reshape(x.shape[0], x.shape[1], -1)
    inverse = saved.reshape(*rows.shape[:2], 1)
    normal = (rows - mean.reshape(*rows.shape[:2], 1)) * inverse
    dscale = _sums_by_channel(dy * normal.reshape(dy.shape)) if k.wants("Scale@GRAD") else None
    dbias = _sums_by_channel(dy) if k.wants("Bias@GRAD") else None
    if not k.wants("X@GRAD"):
        return None, dscale, dbias
    d = dy if scale is None else dy * _wide(scale, x.ndim)
    return _standardise_grad(k.xp, normal, inverse, d.reshape(rows.shape)).reshape(x.shape), dscale, dbias
