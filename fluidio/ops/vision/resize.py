"""Resize images: nearest, bilinear, bicubic and trilinear interpolation, one axis at a time with small matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.shape.dims import host_ints
from fluidio.ops.vision.conv import channels_last
from fluidio.ops.vision.finite import weighted
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


_ATTRS: dict[str, Any] = {
    "out_d": 0,
    "out_h": 0,
    "out_w": 0,
    "scale": 0.0,
    "interp_method": "bilinear",  # Fluid: also for bicubic_interp
    "align_corners": True,
    "align_mode": 1,
    "data_layout": "NCHW",
}


def _layout(attrs: dict[str, Any]) -> dict[str, Any]:
    return {"data_format": attrs["data_layout"]}


def _given(attrs: dict[str, Any], dims: int) -> list[int]:
    return [attrs["out_d"], attrs["out_h"], attrs["out_w"]][3 - dims :]


def _infer(c: InferContext) -> None:
    shape = c.shape("X")
    dims = len(shape) - 2
    c.check(dims in (2, 3), f"X must have 4 or 5 dims, its shape is {list(shape)}")
    last = channels_last(_layout(c.attrs))
    sizes = shape[1:-1] if last else shape[2:]
    outs = _given(c.attrs, dims)
    if c.has("Scale"):
        outs = [-1] * dims
    elif c.attrs["scale"] > 0:
        outs = [int(n * c.attrs["scale"]) if n > 0 else -1 for n in sizes]
    outs = [o if o > 0 else -1 for o in outs]
    c.set("Out", (shape[0], *outs, shape[-1]) if last else (*shape[:2], *outs), c.dtype("X"), c.input("X").lod_level)


def _sizes(k: Call, sizes: tuple[int, ...], out_size: Any, size_list: Any, scale: Any) -> list[int]:
    """Return the requested sizes: in order of precedence, a list of tensors, a tensor, a scale, attributes."""
    outs = host_ints(k, None, size_list) or host_ints(k, out_size)
    if outs:
        return outs
    factor = float(k.dev.download(scale).reshape(-1)[0]) if scale is not None else k.attrs["scale"]
    outs = [int(n * factor) for n in sizes] if factor > 0 else _given(k.attrs, len(sizes))
    if min(outs) < 1:
        raise EnforceNotMet(f"the output sizes must be above 0, got {outs}")
    return outs


def _taps(a: dict[str, Any], size: int, out: int, dtype: npt.DTypeLike) -> list[tuple[Array, Array]]:
    """Return which pixels of an axis make up the new ones, as (places, weights) of the first, second, ... of them."""
    # In float32 like the original, so that neighbours change at the same pixels.
    if out == 1:
        ratio = np.float32(0)  # Fluid: a single output pixel is the first one, whatever the alignment
    else:
        ratio = np.float32((size - 1) / (out - 1) if a["align_corners"] else size / out)
    places = np.arange(out, dtype=np.float32)
    if a["interp_method"] == "nearest":
        near = (ratio * places + np.float32(0.5 if a["align_corners"] else 0)).astype(np.int64)
        return [(np.minimum(near, size - 1), np.ones(out, dtype))]
    if a["interp_method"] == "bicubic":
        # Fluid: half pixels are computed in 64 bits and rounded to the input's precision.
        source = ratio * places if a["align_corners"] else float(ratio) * (np.arange(out) + 0.5) - 0.5
        return _cubic_taps(source.astype(dtype), size)
    half = out > 1 and a["align_mode"] == 0 and not a["align_corners"]
    # Fluid: half pixels are computed in 64 bits and rounded to 32.
    source = float(ratio) * (np.arange(out) + 0.5) - 0.5 if half else ratio * places
    source = np.maximum(source, 0)
    low = np.minimum(source.astype(np.int64), size - 1)
    part = source.astype(np.float32) - low.astype(np.float32)
    return [(low, (1 - part).astype(dtype)), (np.minimum(low + 1, size - 1), part.astype(dtype))]


def _cubic_taps(source: Array, size: int) -> list[tuple[Array, Array]]:
    """Return the four pixels around each position; the edge is repeated."""
    sharp = source.dtype.type(-0.75)
    low = np.floor(source)
    part = source - low
    far, near = part + 1, part
    weights = [((sharp * d - 5 * sharp) * d + 8 * sharp) * d - 4 * sharp for d in (far, 3 - far)]
    inner = [((sharp + 2) * d - (sharp + 3)) * d * d + 1 for d in (near, 1 - near)]
    steps = zip((-1, 0, 1, 2), (weights[0], inner[0], inner[1], weights[1]))
    return [(np.clip(low + step, 0, size - 1).astype(np.int64), weight) for step, weight in steps]


def _cached(k: Call, size: int, out: int, dtype: npt.DTypeLike) -> tuple[Array, list[tuple[Array, Array]]]:
    """Return the matrix [out, size] that resizes one axis, and its taps, kept for later runs."""
    key = ("resize", size, out, dtype)
    if key not in k.state:
        taps = _taps(k.attrs, size, out, dtype)
        matrix = np.zeros((out, size), dtype)
        for places, weights in taps:
            np.add.at(matrix, (np.arange(out), places), weights)
        k.state[key] = k.dev.upload(matrix), [(k.dev.upload(p), k.dev.upload(w)) for p, w in taps]
    found: tuple[Array, list[tuple[Array, Array]]] = k.state[key]
    return found


def _resized(k: Call, x: Array, matrix: Array, taps: list[tuple[Array, Array]]) -> Array:
    """Return X with its last axis resized; infinite and NaN pixels reach those only that they are part of."""

    def exact() -> Array:
        return sum((x[..., places] * weights for places, weights in taps[1:]), x[..., taps[0][0]] * taps[0][1])

    return exact() if k.dev.is_gpu else weighted(x, matrix.T, exact)


def _apply(k: Call, x: Array, sizes: tuple[int, ...], outs: list[int], transpose: bool) -> Array:
    """Resize each spatial axis in turn; with `transpose`, gradients."""
    start = 1 if channels_last(_layout(k.attrs)) else 2
    for dim, (size, out) in enumerate(zip(sizes, outs)):
        matrix, taps = _cached(k, size, out, x.dtype)
        axis = start + dim
        moved = k.xp.moveaxis(x, axis, -1)
        x = k.xp.moveaxis(moved @ matrix if transpose else _resized(k, moved, matrix, taps), -1, axis)
    return row_by_row(k.xp, x)


def _spatial(k: Call, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[1:-1] if channels_last(_layout(k.attrs)) else shape[2:]


def _register(name: str) -> None:
    @op(name, "X OutSize? SizeTensor*? Scale?", "Out", _ATTRS, infer=_infer, grad=True)
    def kernel(k: Call, x: Array, out_size: Array, size_list: Any, scale: Array) -> Array:
        """Out = X resized."""
        sizes = _spatial(k, x.shape)
        if x.dtype.kind in "iu":  # Fluid: computed in floats and truncated
            resized = _apply(k, x.astype(np.float32), sizes, _sizes(k, sizes, out_size, size_list, scale), False)
            return resized.astype(x.dtype)
        return _apply(k, x, sizes, _sizes(k, sizes, out_size, size_list, scale), False)

    @gradient(name, "X Out@GRAD", "X@GRAD", carried="OutSize SizeTensor Scale")
    def kernel_grad(k: Call, x: Array, dout: Array) -> Array:
        return _apply(k, dout, _spatial(k, x.shape), list(_spatial(k, dout.shape)), True)


_register("nearest_interp")
_register("bilinear_interp")
_register("trilinear_interp")
_register("bicubic_interp")
