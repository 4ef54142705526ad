"""Convolutions of float32 images in C: like `conv.py` in NumPy, but without columns in memory.

A tap is an element of the kernel, a place an element of the output. The gradient of the input is a correlation, too:
one for each remainder of its coordinates modulo the strides, of the taps that reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidio.ops.compiled import products
from fluidio.ops.threads import share, thread_count
from fluidio.tensor.array import Array

if TYPE_CHECKING:
    from fluidio.ops.vision.conv import Geometry

compiled: Any
try:
    from fluidio.ops.compiled import _convolve as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

__all__ = ["compiled", "correlate", "filter_gradient", "spread", "taps_of"]

_WORTH_A_THREAD = 1 << 20
"""Multiplications below which another thread costs more than it saves."""
_WORTH_A_COPY = 1 << 16
"""Elements below which another thread costs more than it saves to copy them."""
_WORTH_A_PRODUCT = 16
"""Filters, channels and places from which kernels of 1 x 1 are faster as a product."""


def _taps(rows: Sequence[tuple[int, int]], cols: Sequence[tuple[int, int]], width: int) -> Array:
    """Return y, x and position in the filter of each pair of (position in the kernel, offset) along both dims."""
    return np.array([(y, x, i * width + j) for (i, y), (j, x) in product(rows, cols)], np.int64)


def _forward(g: Geometry, dim: int) -> list[tuple[int, int]]:
    return [(i, i * g.dilations[dim] - g.pads[dim][0]) for i in range(g.kernel[dim])]


def _backward(g: Geometry, dim: int, rest: int) -> list[tuple[int, int]]:
    """Return the taps that reach inputs with this remainder, and the output that each tap meets there."""
    reached = [(i, rest + g.pads[dim][0] - i * g.dilations[dim]) for i in range(g.kernel[dim])]
    return [(i, at // g.strides[dim]) for i, at in reached if at % g.strides[dim] == 0]


def taps_of(g: Geometry) -> Array:
    """Return all taps of a convolution."""
    return _taps(_forward(g, 0), _forward(g, 1), g.kernel[1])


def _run(images: Any, filters: Any, out: Any, taps: Any, g: Geometry, grid: Any, target: Any, strides: Any) -> None:
    sizes = (images.shape[0], images.shape[1] // g.groups, *images.shape[2:])
    outs = (out.shape[1] // g.groups, *out.shape[2:])
    sharing = _WORTH_A_THREAD, thread_count()
    compiled.correlate(images, out, filters, taps, g.groups, sizes, outs, grid, target, strides, *sharing)


def _is_product(g: Geometry, w: Array) -> bool:
    """Return whether each output multiplies the filters with one place of the input, and there are many outputs."""
    return (
        products.compiled is not None
        and g.kernel[0] * g.kernel[1] == g.groups == 1
        and not any(map(any, g.pads))
        and min(*w.shape[:2], g.images * g.outs[0] * g.outs[1]) >= _WORTH_A_PRODUCT
    )


def _met(x: Array, g: Geometry) -> Array:
    """Return the input elements that a 1 x 1 kernel meets."""
    if max(g.strides) == 1:
        return x
    met = np.empty((*x.shape[:2], *g.outs), np.float32)
    planes, places = (a.reshape(-1, *a.shape[2:]) for a in (met, x))

    def part(begin: int, end: int) -> None:
        planes[begin:end] = places[begin:end, :: g.strides[0], :: g.strides[1]]

    share(len(planes), -(-_WORTH_A_COPY // (g.outs[0] * g.outs[1])), part)
    return met


def _put_where_met(x: Array, met: Array, g: Geometry) -> None:
    """Set the input elements that a 1 x 1 kernel meets, and zero the others."""
    planes, places = (a.reshape(-1, *a.shape[2:]) for a in (met, x))

    def part(begin: int, end: int) -> None:
        places[begin:end] = 0
        places[begin:end, :: g.strides[0], :: g.strides[1]] = planes[begin:end]

    share(len(planes), -(-_WORTH_A_COPY // (g.sizes[0] * g.sizes[1])), part)


def correlate(x: Array, w: Array, g: Geometry) -> Array:
    """Return the convolution of X [N, C, H, W] with W [F, C / groups, *kernel]."""
    out = np.empty((g.images, w.shape[0], *g.outs), np.float32)
    if _is_product(g, w):
        filters, channels = w.shape[:2]
        sizes = filters, channels, g.images * g.outs[0] * g.outs[1]
        return products.multiply(w, _met(x, g), out, sizes, images=(1, g.images, g.images))
    area = g.kernel[0] * g.kernel[1]
    _run(x, w, out, taps_of(g), g, (*g.outs, *g.strides), (0, 0, 1, 1), (w.shape[1] * area, area))
    return out


def spread(y: Array, w: Array, g: Geometry) -> Array:
    """Return the transposed convolution: X@GRAD of `correlate` for an output gradient Y."""
    x = np.empty((g.images, g.channels, *g.sizes), np.float32)
    if _is_product(g, w):
        filters, channels = w.shape[:2]
        met = np.empty((g.images, channels, *g.outs), np.float32) if max(g.strides) > 1 else x
        sizes = channels, filters, g.images * g.outs[0] * g.outs[1]
        products.multiply(w, y, met, sizes, (True, False), (1, g.images, g.images))
        if met is not x:
            _put_where_met(x, met, g)
        return x
    area = g.kernel[0] * g.kernel[1]
    for rests in product(*(range(min(s, n)) for s, n in zip(g.strides, g.sizes))):
        rows, cols = (_backward(g, dim, rest) for dim, rest in enumerate(rests))
        grid = [-(-(n - rest) // s) for n, rest, s in zip(g.sizes, rests, g.strides)]
        if rows and cols:
            taps = _taps(rows, cols, g.kernel[1])
            _run(y, w, x, taps, g, (*grid, 1, 1), (*rests, *g.strides), (area, w.shape[1] * area))
        else:
            x[:, :, rests[0] :: g.strides[0], rests[1] :: g.strides[1]] = 0
    return x


def filter_gradient(x: Array, y: Array, w: Array, g: Geometry) -> Array:
    """Return W@GRAD of `correlate` for inputs X and output gradients Y."""
    out = np.empty(w.shape, np.float32)
    if _is_product(g, w):
        sizes = w.shape[0], g.images * g.outs[0] * g.outs[1], w.shape[1]
        return products.multiply(y, _met(x, g), out, sizes, (False, True), (g.images, g.images, 1))
    taps = taps_of(g)
    sizes, outs = (g.images, w.shape[1], *g.sizes), (w.shape[0] // g.groups, *g.outs)
    grid, target, area = (*g.outs, *g.strides), (0, 0, 1, 1), len(taps)
    strides = (w.shape[1] * area, area)
    sharing = _WORTH_A_THREAD, thread_count()
    compiled.filter_gradient(x, y, out, taps, g.groups, sizes, outs, grid, target, strides, *sharing)
    return out
