"""unpool restores maxima to their positions, spp pools at several sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_UNPOOL: dict[str, Any] = {"ksize": [], "strides": [1, 1], "paddings": [0, 0], "unpooling_type": "max"}


def _infer_unpool(c: InferContext) -> None:
    x, a = c.shape("X"), c.attrs
    sides = [(n - 1) * s - 2 * p + w for n, w, s, p in zip(x[2:], a["ksize"], a["strides"], a["paddings"])]
    c.set("Out", (*x[:2], *sides), c.dtype("X"))


@op("unpool", "X Indices", "Out", _UNPOOL, infer=_infer_unpool, grad=True, lod="none")
def unpool(k: Call, x: Array, places: Any) -> Array:
    """Out = zeros with each element of X at the position pooling took it from."""
    a, xp = k.attrs, k.xp
    sides = [(n - 1) * s - 2 * p + w for n, w, s, p in zip(x.shape[2:], a["ksize"], a["strides"], a["paddings"])]
    maps, count = x.shape[0] * x.shape[1], sides[0] * sides[1]
    out = xp.zeros(maps * count, x.dtype)
    start = (xp.arange(maps) * count)[:, None]
    out[(start + places.reshape(maps, math.prod(places.shape[2:]))).reshape(-1)] = x.reshape(-1)
    return out.reshape(*x.shape[:2], *sides)


@gradient("unpool", "X Indices Out@GRAD", "X@GRAD", carried="Out")
def unpool_grad(k: Call, x: Array, places: Any, dout: Array) -> Array:
    maps = x.shape[0] * x.shape[1]
    flat, where = (a.reshape(maps, math.prod(a.shape[2:])) for a in (dout, places))
    return k.xp.take_along_axis(flat, where.astype("int64"), axis=1).reshape(x.shape)


def _infer_spp(c: InferContext) -> None:
    x = c.shape("X")
    cells = (4 ** c.attrs["pyramid_height"] - 1) // 3
    c.set("Out", (x[0], x[1] * cells), c.dtype("X"))


def _cells(size: int, bins: int) -> list[tuple[int, int]]:
    """Return the pixels of each bin along one side, within the image."""
    window = math.ceil(size / bins)
    padding = (window * bins - size + 1) // 2
    starts = [n * window - padding for n in range(bins)]
    return [(max(start, 0), min(start + window, size)) for start in starts]


def _levels(k: Call, x: Array) -> Any:
    """Yield the position among a map's outputs, and the window, of every cell."""
    first, cells = 0, []
    for level in range(k.attrs["pyramid_height"]):
        bins = 2**level
        rows, columns = _cells(x.shape[2], bins), _cells(x.shape[3], bins)
        cells += [
            (first, n, bins * bins, slice(*rows[n // bins]), slice(*columns[n % bins])) for n in range(bins * bins)
        ]
        first += bins * bins
    return cells


def _place(x: Array, first: int, number: int, bins: int) -> slice:
    """Return the columns of Out that hold one cell of all channels."""
    start = first * x.shape[1] + number
    return slice(start, start + bins * x.shape[1], bins)


@op("spp", "X", "Out", {"pyramid_height": 1, "pooling_type": "max"}, infer=_infer_spp, grad=True, lod="none")
def spp(k: Call, x: Array) -> Array:
    """Out = maxima or means over the whole image, its quarters, their quarters, and so on."""
    cells = _levels(k, x)
    out = k.xp.zeros((x.shape[0], x.shape[1] * len(cells)), x.dtype)
    for first, number, bins, rows, columns in cells:
        window = x[:, :, rows, columns]
        where = _place(x, first, number, bins)
        if not window.size:  # Fluid: only padding gives the lowest float, or 0 / 0
            out[:, where] = -np.finfo(np.float32).max if k.attrs["pooling_type"] == "max" else math.nan
        elif k.attrs["pooling_type"] == "max":
            out[:, where] = window.max(axis=(2, 3))
        else:
            out[:, where] = window.mean(axis=(2, 3))
    return out


@gradient("spp", "X Out Out@GRAD", "X@GRAD")
def spp_grad(k: Call, x: Array, out: Array, dout: Array) -> Array:
    dx = k.xp.zeros_like(x)
    for first, number, bins, rows, columns in _levels(k, x):
        window, d = x[:, :, rows, columns], dout[:, _place(x, first, number, bins)]
        if not window.size:
            continue
        if k.attrs["pooling_type"] == "max":
            flat = window.reshape(*window.shape[:2], -1)
            best = flat.argmax(axis=2)[..., None] == k.xp.arange(flat.shape[2])
            dx[:, :, rows, columns] += (best * d[..., None]).reshape(window.shape)
        else:
            dx[:, :, rows, columns] += d[..., None, None] * x.dtype.type(
                np.float32(1) / np.float32(window.shape[2] * window.shape[3])
            )
    return dx
