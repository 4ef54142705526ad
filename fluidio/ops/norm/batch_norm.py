"""Batch normalisation."""

from __future__ import annotations

import math
from typing import Any

from fluidio.ops.compiled import channels
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import default_grad_maker, gradient, op
from fluidio.ops.trainers.sums import sum_over_trainers
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__ = [
    "BATCH_NORM_ATTRS",
    "batch_norm",
    "batch_norm_grad",
    "fast_grad",
    "fast_norm",
    "infer_batch_norm",
    "statistics_if_global",
]

BATCH_NORM_ATTRS: dict[str, Any] = {
    "momentum": 0.9,
    "epsilon": 1e-5,
    "data_layout": "NCHW",
    "is_test": False,
    "use_global_stats": False,
    "trainable_statistics": False,
    "fuse_with_relu": False,
    "use_mkldnn": False,
}
_INPUTS = "X Scale Bias Mean Variance MomentumTensor?"
_OUTPUTS = "Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace?"
_GRAD_INPUTS = "X Scale Bias Mean? Variance? SavedMean SavedVariance Y@GRAD"
_GRAD_OUTPUTS = "X@GRAD Scale@GRAD Bias@GRAD"


def infer_batch_norm(c: InferContext) -> None:
    shape = c.shape("X")
    c.check(2 <= len(shape) <= 5, f"X must have 2 to 5 dims, its shape is {list(shape)}")
    channels = shape[-1] if c.attrs["data_layout"] == "NHWC" else shape[1]
    for slot in ("Scale", "Bias", "Mean", "Variance"):
        have = c.shape(slot)
        open_ended = channels < 0 or have == (-1,)
        c.check(open_ended or have == (channels,), f"{slot} has shape {list(have)}, but X has {channels} channels")
        if slot in ("Mean", "Variance"):
            c.set(f"{slot}Out", have, c.dtype(slot))
            c.set(f"Saved{slot}", have, c.dtype(slot))
    c.same("Y", "X")


def statistics_if_global(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Return the gradient op, which reads the moving statistics only if training uses them, as in Fluid."""
    ops = default_grad_maker(forward, no_grad)
    if not forward.attrs.get("use_global_stats"):
        for made in ops:
            made.inputs.pop("Mean", None)
            made.inputs.pop("Variance", None)
    return ops


class _Layout:
    """X as an array in which the channels are one axis, and how to reduce to and broadcast from channels."""

    def __init__(self, k: Call, x: Array) -> None:
        self._k = k
        self.xp = k.xp
        if x.ndim == 2 or k.attrs["data_layout"] == "NHWC":
            self.flat: tuple[int, ...] = (math.prod(x.shape[:-1]), x.shape[-1])
            self.wide: tuple[int, ...] = (1, -1)
        else:
            self.flat = (x.shape[0], x.shape[1], math.prod(x.shape[2:]))
            self.wide = (1, -1, 1)
        self.count = x.size // self.flat[1]

    def sum(self, array: Array) -> Array:
        """Return the sums over all but the channels."""
        if len(self.flat) == 2:
            return array.sum(axis=0)
        return array.sum(axis=2).sum(axis=0)

    def dot(self, a: Array, b: Array) -> Array:
        """Return the sums of products over all but the channels."""
        return self.xp.einsum("nc,nc->c" if len(self.flat) == 2 else "ncs,ncs->c", a, b)

    def spread(self, channels: Array) -> Array:
        return channels.reshape(self.wide)

    def mean(self, *sums: Any) -> list[Any]:
        """Return sums by channel divided by the number of elements (of all trainers, for sync_batch_norm)."""
        if not self._k.op.type.startswith("sync_"):
            return [total / self.count for total in sums]
        *everyones, count = sum_over_trainers(self._k, [*sums, self.xp.full(1, self.count, sums[0].dtype)])
        return [total / count for total in everyones]


def _is_fast(k: Call, *arrays: Any) -> bool:
    """Return whether the C code can do this one: channels first, no other trainer's statistics."""
    return (
        k.op.type in ("batch_norm", "batch_norm_grad")
        and arrays[0].ndim > 2
        and arrays[0].size > 0
        and k.attrs["data_layout"] != "NHWC"
        and channels.fits(*arrays)
    )


def _is_moving(k: Call) -> bool:
    """Return whether to use the moving statistics rather than the batch's."""
    a = k.attrs
    return bool(a["use_global_stats"] or (a["is_test"] and not a["trainable_statistics"]))


def _is_single(k: Call, x: Array) -> bool:
    """Return whether each channel has only one element, which Fluid passes on unchanged."""
    return k.op.type in ("batch_norm", "batch_norm_grad") and _Layout(k, x).count == 1


def _carry_on(k: Call, moving: Array, new: Array, momentum_tensor: Array | None) -> None:
    momentum = k.attrs["momentum"] if momentum_tensor is None else momentum_tensor.reshape(-1)[0]
    moving *= momentum
    moving += new * (1 - float(momentum))


def fast_norm(
    k: Call,
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    momentum_tensor: Array,
    added: Array | None = None,
    relu: bool = False,
) -> Any:
    """Return what `batch_norm` returns, computed in C, with an optional sum and ReLU; None if the C code cannot."""
    more = () if added is None else (added,)
    if _is_moving(k) or not _is_fast(k, x, scale, bias, *more) or any(a.shape != x.shape for a in more):
        return None
    if _is_single(k, x):
        return None
    out, batch_mean, batch_variance, inverse = channels.normalise(x, added, scale, bias, k.attrs["epsilon"], relu)
    _carry_on(k, mean, batch_mean, momentum_tensor)
    _carry_on(k, variance, batch_variance, momentum_tensor)
    return out, mean, variance, batch_mean, inverse, None


@op("batch_norm", _INPUTS, _OUTPUTS, BATCH_NORM_ATTRS, infer=infer_batch_norm, grad=statistics_if_global)
def batch_norm(
    k: Call, x: Array, scale: Array, bias: Array, mean: Array, variance: Array, momentum_tensor: Array
) -> KernelResult:
    """Y = Scale * (X - mean) / sqrt(variance + epsilon) + Bias, with the batch's or the moving statistics.

    SavedVariance holds 1 / sqrt(variance + epsilon).
    """
    found = fast_norm(k, x, scale, bias, mean, variance, momentum_tensor)
    if found is not None:
        return found
    a, xp = k.attrs, k.xp
    layout = _Layout(k, x)
    flat = x.reshape(layout.flat)
    if _is_moving(k):
        inverse = 1 / xp.sqrt(variance + a["epsilon"])
        factor = inverse * scale
        out = flat * layout.spread(factor)
        out += layout.spread(bias - mean * factor)
        if a["fuse_with_relu"] and a["use_mkldnn"] and a["is_test"]:
            xp.maximum(out, 0, out=out)
        return out.reshape(x.shape), mean, variance, mean.copy(), inverse, None
    if _is_single(k, x):
        return x, mean, variance, xp.zeros_like(mean), xp.zeros_like(variance), None
    (batch_mean,) = layout.mean(layout.sum(flat))
    out = flat - layout.spread(batch_mean)
    (batch_variance,) = layout.mean(layout.dot(out, out))
    inverse = 1 / xp.sqrt(batch_variance + a["epsilon"])
    out *= layout.spread(inverse * scale)
    out += layout.spread(bias)
    _carry_on(k, mean, batch_mean, momentum_tensor)
    _carry_on(k, variance, batch_variance, momentum_tensor)
    return out.reshape(x.shape), mean, variance, batch_mean, inverse, None


def fast_grad(
    k: Call,
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array | None,
    variance: Array,
    saved_mean: Array,
    saved_inverse: Array,
    dy: Array,
    out: Array | None = None,
) -> Any:
    """Return what `batch_norm_grad` returns, computed in C, or None; `out` is the result of a ReLU to pass first."""
    moving = _is_moving(k)
    if moving and mean is not None:
        saved_mean, saved_inverse = mean, 1 / k.xp.sqrt(variance + k.attrs["epsilon"])
    more = () if out is None else (out,)
    if not _is_fast(k, x, dy, scale, saved_mean, saved_inverse, *more) or (not moving and _is_single(k, x)):
        return None
    return channels.normalise_grad(x, dy, out, scale, saved_mean, saved_inverse, moving, k.wants("X@GRAD"))


op("sync_batch_norm", _INPUTS, _OUTPUTS, BATCH_NORM_ATTRS, infer=infer_batch_norm, grad=statistics_if_global)(
    batch_norm
)


@gradient("sync_batch_norm", _GRAD_INPUTS, _GRAD_OUTPUTS)
@gradient("batch_norm", _GRAD_INPUTS, _GRAD_OUTPUTS)
def batch_norm_grad(
    k: Call,
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array | None,
    variance: Array,
    saved_mean: Array,
    saved_inverse: Array,
    dy: Array,
) -> KernelResult:
    found = fast_grad(k, x, scale, bias, mean, variance, saved_mean, saved_inverse, dy)
    if found is not None:
        return found
    a, xp = k.attrs, k.xp
    layout = _Layout(k, x)
    moving = _is_moving(k)
    if not moving and _is_single(k, x):
        return dy, xp.zeros_like(scale), xp.zeros_like(bias)
    if moving and mean is not None:
        saved_mean, saved_inverse = mean, 1 / xp.sqrt(variance + a["epsilon"])
    d = dy.reshape(layout.flat)
    centred = x.reshape(layout.flat) - layout.spread(saved_mean)
    dbias = layout.sum(d)
    dscale = layout.dot(d, centred) * saved_inverse
    if not k.wants("X@GRAD"):
        return None, dscale, dbias
    factor = scale * saved_inverse
    dx = d * layout.spread(factor)
    if not moving:
        mean_dscale, mean_dbias = layout.mean(dscale, dbias)
        centred *= layout.spread(factor * saved_inverse * -mean_dscale)
        dx += centred
        dx -= layout.spread(factor * mean_dbias)
    return dx.reshape(x.shape), dscale, dbias
