"""Pad or repeat tensors: pad, pad2d, pad_constant_like, expand, expand_as."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.shape.cropped import cropped, cropping
from fluidio.ops.shape.dims import host_ints, keep_lod
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _pairs(flat: list[int]) -> list[tuple[int, int]]:
    return list(zip(flat[::2], flat[1::2]))


def _inner(shape: tuple[int, ...], pairs: list[tuple[int, int]]) -> tuple[slice, ...]:
    return tuple(slice(before, size - after) for size, (before, after) in zip(shape, pairs))


def _infer_pad(c: InferContext) -> None:
    shape, flat = c.shape("X"), c.attrs["paddings"]
    c.check(
        len(flat) == 2 * len(shape), f"paddings must hold two numbers for each of the {len(shape)} dims, got {flat}"
    )
    c.check(min(flat, default=0) >= 0, f"paddings must not be negative, got {flat}")
    dims = [d + before + after if d >= 0 else -1 for d, (before, after) in zip(shape, _pairs(flat))]
    c.set("Out", dims, c.dtype("X"), c.input("X").lod_level)


@op("pad", "X", "Out", {"paddings": [], "pad_value": 0.0}, infer=_infer_pad, grad=cropping, lod="kernel")
def pad(k: Call, x: Array) -> Array:
    """Out = X with pad_value around it."""
    out = k.xp.pad(x, _pairs(k.attrs["paddings"]), constant_values=x.dtype.type(k.attrs["pad_value"]))
    return keep_lod(k, x, out)


@gradient("pad", "Out@GRAD", "X@GRAD")
def pad_grad(k: Call, dout: Array) -> Array:
    return cropped(k, dout, _pairs(k.attrs["paddings"]))


def _pairs_2d(k: Call, tensor: Array) -> list[tuple[int, int]]:
    top, bottom, left, right = host_ints(k, tensor) or k.attrs["paddings"]
    middle = [(top, bottom), (left, right)]
    return [(0, 0), (0, 0), *middle] if k.attrs["data_format"] == "NCHW" else [(0, 0), *middle, (0, 0)]


def _infer_pad2d(c: InferContext) -> None:
    shape = list(c.shape("X"))
    c.check(len(shape) == 4, f"X must have 4 dims, it has {len(shape)}")
    first = 2 if c.attrs["data_format"] == "NCHW" else 1
    top, bottom, left, right = c.attrs["paddings"] if not c.has("Paddings") else (0, 0, 0, 0)
    for axis, more in ((first, top + bottom), (first + 1, left + right)):
        shape[axis] = -1 if shape[axis] < 0 else shape[axis] + more  # Fluid: ignores a tensor of paddings
    c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)


@op(
    "pad2d",
    "X Paddings?",
    "Out",
    {"paddings": [0, 0, 0, 0], "mode": "constant", "pad_value": 0.0, "data_format": "NCHW"},
    infer=_infer_pad2d,
    grad=True,
)
def pad2d(k: Call, x: Array, paddings: Array) -> Array:
    """Out = images with a border: a constant, a reflection, or the edge repeated."""
    pairs, mode = _pairs_2d(k, paddings), k.attrs["mode"]
    if mode == "constant":
        return k.xp.pad(x, pairs, constant_values=x.dtype.type(k.attrs["pad_value"]))
    if mode == "reflect" and any(size <= max(pair) for size, pair in zip(x.shape, pairs) if max(pair)):
        raise EnforceNotMet(
            f"mode 'reflect': paddings {k.attrs['paddings']} are too large for X of shape {list(x.shape)}"
        )
    return k.xp.pad(x, pairs, mode=mode)


@gradient("pad2d", "X Paddings Out@GRAD", "X@GRAD")
def pad2d_grad(k: Call, x: Array, paddings: Array, dout: Array) -> Array:
    pairs, mode = _pairs_2d(k, paddings), k.attrs["mode"]
    if mode == "constant":
        return dout[_inner(dout.shape, pairs)]
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            dout = _fold(k.xp, dout, axis, before, after, mode)
    return dout


def _fold(xp: ArrayLibrary | ModuleType, d: Array, axis: int, before: int, after: int, mode: str) -> Array:
    """Add the gradients in the border to the elements they were copied from."""
    d = xp.moveaxis(d, axis, 0)
    size = d.shape[0] - before - after
    inner = d[before : before + size].copy()
    if mode == "edge":
        inner[0] += d[:before].sum(axis=0)
        inner[-1] += d[before + size :].sum(axis=0)
    else:
        if before:
            inner[1 : before + 1] += d[:before][::-1]
        if after:
            inner[size - 1 - after : size - 1] += d[before + size :][::-1]
    return xp.moveaxis(inner, 0, axis)


def _infer_like(c: InferContext) -> None:
    c.set("Out", c.shape("X"), c.dtype("Y"), c.input("X").lod_level)


@op("pad_constant_like", "X Y", "Out", {"pad_value": 0.0}, infer=_infer_like, grad=cropping)
def pad_constant_like(k: Call, x: Array, y: Array) -> Array:
    """Out = Y padded with pad_value to the shape of X."""
    pairs = [(0, have - want) for have, want in zip(x.shape, y.shape)]
    if any(after < 0 for _, after in pairs):
        raise EnforceNotMet(f"Y {list(y.shape)} must not be larger than X {list(x.shape)}")
    return k.xp.pad(y, pairs, constant_values=y.dtype.type(k.attrs["pad_value"]))


@gradient("pad_constant_like", "Y Out@GRAD", "Y@GRAD")
def pad_constant_like_grad(k: Call, y: Array, dout: Array) -> Array:
    return cropped(k, dout, [(0, size - inner) for size, inner in zip(dout.shape, y.shape)])


def _times(k: Call, one: Any, several: Any) -> list[int]:
    return host_ints(k, None, several) or host_ints(k, one) or k.attrs["expand_times"]


def _infer_expand(c: InferContext) -> None:
    shape, times = c.shape("X"), c.attrs["expand_times"] or [-1] * len(c.shape("X"))
    c.check(
        len(times) == len(shape), f"expand_times must hold one number for each of the {len(shape)} dims, got {times}"
    )
    dims = [-1 if d < 0 or t < 0 else d * t for d, t in zip(shape, times)]
    c.set("Out", dims, c.dtype("X"), c.input("X").lod_level)


@op(
    "expand",
    "X ExpandTimes? expand_times_tensor*?",
    "Out",
    {"expand_times": []},
    infer=_infer_expand,
    grad=True,
    lod="kernel",
)
def expand(k: Call, x: Array, one: Array, several: Any) -> Array:
    """Out = X repeated expand_times along each dim."""
    return keep_lod(k, x, k.xp.tile(x, _times(k, one, several)))


def _folded(dout: Array, shape: tuple[int, ...]) -> Array:
    """Sum over repetitions."""
    parts: list[int] = []
    for size, total in zip(shape, dout.shape):
        parts += [total // size if size else 0, size]
    return dout.reshape(parts).sum(axis=tuple(range(0, len(parts), 2)))


@gradient("expand", "X ExpandTimes expand_times_tensor Out@GRAD", "X@GRAD", lod="share")
def expand_grad(k: Call, x: Array, one: Array, several: Any, dout: Array) -> Array:
    return _folded(dout, x.shape)


def _infer_expand_as(c: InferContext) -> None:
    x, target = c.shape("X"), c.shape("target_tensor")
    c.check(len(x) == len(target), f"X {list(x)} and target_tensor {list(target)} must have the same number of dims")
    c.set("Out", c.shape("target_tensor"), c.dtype("X"), c.input("X").lod_level)


@op("expand_as", "X target_tensor", "Out", infer=_infer_expand_as, grad=True, lod="kernel")
def expand_as(k: Call, x: Array, target: Array) -> Array:
    """Out = X repeated to the shape of the target."""
    if x.ndim != target.ndim or any(t % s if s else t for s, t in zip(x.shape, target.shape)):
        raise EnforceNotMet(f"X {list(x.shape)} cannot be repeated to the shape {list(target.shape)} of target_tensor")
    times = [t // s if s else 1 for s, t in zip(x.shape, target.shape)]
    return keep_lod(k, x, k.xp.tile(x, times))


@gradient("expand_as", "X target_tensor Out@GRAD", "X@GRAD", lod="share")
def expand_as_grad(k: Call, x: Array, target: Array, dout: Array) -> Array:
    return _folded(dout, x.shape)
