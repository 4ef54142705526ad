"""Rearrange channels and pixels: pixel_shuffle, shuffle_channel, space_to_depth, temporal_shift."""

from __future__ import annotations

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_pixel_shuffle(c: InferContext) -> None:
    n, channels, h, w = c.shape("X")
    r = c.attrs["upscale_factor"]
    c.check(channels < 0 or channels % (r * r) == 0, f"{channels} channels cannot be divided by {r} x {r}")
    sizes = [s * r if s >= 0 else -1 for s in (h, w)]
    c.set("Out", (n, channels // (r * r), *sizes), c.dtype("X"), c.input("X").lod_level)


@op("pixel_shuffle", "X", "Out", {"upscale_factor": 1}, infer=_infer_pixel_shuffle, grad=True)
def pixel_shuffle(k: Call, x: Array) -> Array:
    """Out = X with channels rearranged into squares of upscale_factor pixels."""
    r = k.attrs["upscale_factor"]
    n, c, h, w = x.shape
    parts = x.reshape(n, c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // (r * r), h * r, w * r)


@gradient("pixel_shuffle", "Out@GRAD", "X@GRAD")
def pixel_shuffle_grad(k: Call, dout: Array) -> Array:
    r = k.attrs["upscale_factor"]
    n, c, h, w = dout.shape
    parts = dout.reshape(n, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return parts.reshape(n, c * r * r, h // r, w // r)


def _shuffled(x: Array, groups: int) -> Array:
    n, c, *rest = x.shape
    return x.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(x.shape)


def _infer_shuffle(c: InferContext) -> None:
    channels, group = c.shape("X")[1], c.attrs["group"]
    c.check(channels < 0 or channels % group == 0, f"{channels} channels cannot be divided into {group} groups")
    c.same("Out", "X")


@op("shuffle_channel", "X", "Out", {"group": 1}, infer=_infer_shuffle, grad=True)
def shuffle_channel(k: Call, x: Array) -> Array:
    """Out = X with the channels of its groups interleaved."""
    return _shuffled(x, k.attrs["group"])


@gradient("shuffle_channel", "Out@GRAD", "X@GRAD")
def shuffle_channel_grad(k: Call, dout: Array) -> Array:
    # Fluid: interleaves again instead of undoing it, which is right only for group * group channels.
    return _shuffled(dout, k.attrs["group"])


def _infer_space_to_depth(c: InferContext) -> None:
    c.check(len(c.shape("X")) == 4, f"X must have 4 dims, its shape is {list(c.shape('X'))}")
    n, channels, h, w = c.shape("X")
    b = c.attrs["blocksize"]
    c.check(
        (h < 0 or h % b == 0) and (w < 0 or w % b == 0),
        f"an image of {h} x {w} cannot be divided into squares of {b} x {b}",
    )
    c.check(channels < 0 or channels % (b * b) == 0, f"{channels} channels cannot be divided by {b} x {b}")
    c.set("Out", (n, channels * b * b, h // b if h > 0 else -1, w // b if w > 0 else -1), c.dtype("X"))


@op("space_to_depth", "X", "Out", {"blocksize": 2}, infer=_infer_space_to_depth, grad=True)
def space_to_depth(k: Call, x: Array) -> Array:
    """Out = X with squares of blocksize pixels rearranged into channels.

    Fluid: Out [N, C b b, H / b, W / b] is filled in the order of an array [N, C / (b b), H b, W b], and so it is here.
    """
    b = k.attrs["blocksize"]
    n, c, h, w = x.shape
    # The target, viewed as [N, C/bb, H, b, W, b], gets channel (r b + s) C/bb + c2 of X at position (r, s) of a square.
    parts = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    return parts.reshape(n, c * b * b, h // b, w // b)


@gradient("space_to_depth", "X Out@GRAD", "X@GRAD")
def space_to_depth_grad(k: Call, x: Array, dout: Array) -> Array:
    b = k.attrs["blocksize"]
    n, c, h, w = x.shape
    parts = dout.reshape(n, c // (b * b), h, b, w, b).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(x.shape)


def _moved(k: Call, x: Array, step: int) -> Array:
    """Return frames whose first fraction of channels comes from `step` later, and the second from `step` earlier."""
    segments, ratio = k.attrs["seg_num"], k.attrs["shift_ratio"]
    frames = x.reshape(-1, segments, *x.shape[1:])
    first, second = int(x.shape[1] * ratio), int(x.shape[1] * 2 * ratio)
    out = k.xp.zeros_like(frames)
    forward, backward = (slice(0, first), slice(first, second))[::step]
    out[:, 1:, forward] = frames[:, :-1, forward]
    out[:, :-1, backward] = frames[:, 1:, backward]
    out[:, :, second:] = frames[:, :, second:]
    return out.reshape(x.shape)


def _infer_temporal_shift(c: InferContext) -> None:
    ratio = c.attrs["shift_ratio"]
    c.check(len(c.shape("X")) == 4, f"X must have shape [N * T, C, H, W], got {list(c.shape('X'))}")
    c.check(0 < ratio < 0.5, f"shift_ratio must lie between 0 and 0.5, got {ratio}")
    c.same("Out", "X")


@op("temporal_shift", "X", "Out", {"seg_num": 1, "shift_ratio": 0.25}, infer=_infer_temporal_shift, grad=True)
def temporal_shift(k: Call, x: Array) -> Array:
    """Out = frames that take some channels from the previous frame and some from the next."""
    return _moved(k, x, 1)


@gradient("temporal_shift", "Out@GRAD", "X@GRAD")
def temporal_shift_grad(k: Call, dout: Array) -> Array:
    return _moved(k, dout, -1)


def _wide(k: Call, channels: Array, ndim: int) -> Array:
    shape = [1] * ndim
    shape[_channel_axis(k, ndim)] = -1
    return channels.reshape(shape)


def _infer_affine_channel(c: InferContext) -> None:
    x, layout = c.shape("X"), c.attrs["data_layout"]
    c.check(layout in ("NCHW", "NHWC", "AnyLayout"), f"data_layout must be 'NCHW' or 'NHWC', got {layout!r}")
    channels = x[1] if layout == "NCHW" or len(x) == 2 else x[-1]
    for slot in ("Scale", "Bias"):
        have = c.shape(slot)
        fits = len(have) == 1 and (have[0] == channels or have[0] < 0 or channels < 0)
        c.check(fits, f"{slot} has shape {list(have)}, but X {list(x)} has {channels} channels")
    c.same("Out", "X")


@op("affine_channel", "X Scale Bias", "Out", {"data_layout": "AnyLayout"}, infer=_infer_affine_channel, grad=True)
def affine_channel(k: Call, x: Array, scale: Array, bias: Array) -> Array:
    """Out = Scale * X + Bias by channel."""
    return x * _wide(k, scale, x.ndim) + _wide(k, bias, x.ndim)


@gradient("affine_channel", "X Scale Out@GRAD", "X@GRAD Scale@GRAD Bias@GRAD")
def affine_channel_grad(k: Call, x: Array, scale: Array, dout: Array) -> KernelResult:
    wide = _wide(k, scale, x.ndim)
    axes = tuple(axis for axis in range(x.ndim) if axis != _channel_axis(k, x.ndim))
    return (
        dout * wide if k.wants("X@GRAD") else None,
        (dout * x).sum(axis=axes).reshape(scale.shape) if k.wants("Scale@GRAD") else None,
        dout.sum(axis=axes).reshape(scale.shape) if k.wants("Bias@GRAD") else None,
    )


def _channel_axis(k: Call, ndim: int) -> int:
    return ndim - 1 if k.attrs["data_layout"] != "NCHW" or ndim == 2 else 1
