"""Convolutions as products with columns in memory: where filters are many and places few, or places meet little.

The gradient of the input visits every element of it, whatever its outputs; columns visit the outputs alone. Nor are
filters arranged anew for each product, as Winograd's method does, which takes longer than the product of few places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fluidio.ops.compiled import products
from fluidio.ops.threads import thread_count
from fluidio.ops.vision import fast_conv
from fluidio.tensor.array import Array

if TYPE_CHECKING:
    from fluidio.ops.vision.conv import Geometry

__all__ = ["correlate", "serves", "spread", "spreads"]

_MOST = 1 << 24
"""Bytes of columns at a time: what the third-level cache holds."""
_WORTH_A_THREAD = 1 << 16
"""Elements to move below which another thread costs more than it saves."""
_WIDE = 16
"""Rows and columns from which products are fast."""
_MANY_FILTERS = 200_000
"""Filters times channels whose arrangement for Winograd's method does not fit a core's cache."""
_WASTE = 1.25
"""Times the elements of the input per output from which columns are faster for its gradient."""
_FEW_CHANNELS = 8
"""Channels below which the gradient of the input is faster by columns."""


def _fits(g: Geometry, w: Array) -> bool:
    area, places = g.kernel[0] * g.kernel[1], g.images * g.outs[0] * g.outs[1]
    return products.compiled is not None and g.groups == 1 < area and min(area * g.channels, places, len(w)) >= _WIDE


def _is_heavy(g: Geometry, w: Array) -> bool:
    return (*g.kernel, *g.strides, *g.dilations) == (3, 3, 1, 1, 1, 1) and w.shape[0] * w.shape[1] >= _MANY_FILTERS


def serves(g: Geometry, w: Array) -> bool:
    """Return whether `correlate` is possible and worthwhile."""
    return _fits(g, w) and _is_heavy(g, w)


def spreads(g: Geometry, w: Array) -> bool:
    """Return whether `spread` is possible and worthwhile."""
    visited = g.sizes[0] * g.sizes[1]
    met = g.outs[0] * g.outs[1] * g.strides[0] * g.strides[1]
    return _fits(g, w) and (_is_heavy(g, w) or visited > _WASTE * met or g.channels < _FEW_CHANNELS)


def _parts(g: Geometry, depth: int) -> Iterator[tuple[slice, int, Array]]:
    """Yield some images, how many places they have, and room for their columns."""
    each = g.outs[0] * g.outs[1]
    some = max(1, min(g.images, _MOST // (4 * depth * each)))
    columns = np.empty(depth * some * each, np.float32)
    for first in range(0, g.images, some):
        part = slice(first, min(first + some, g.images))
        places = (part.stop - first) * each
        yield part, places, columns[: depth * places].reshape(depth, places)


def _moved(g: Geometry, images: int) -> tuple[object, ...]:
    """Return what `take_columns` and `add_columns` want to know."""
    sizes, grid = (images, g.channels, *g.sizes), (*g.outs, *g.strides)
    return fast_conv.taps_of(g), sizes, grid, _WORTH_A_THREAD, thread_count()


def correlate(x: Array, w: Array, g: Geometry) -> Array:
    """Return the convolution of X [N, C, H, W] with W [F, C, *kernel]."""
    out = np.empty((g.images, len(w), *g.outs), np.float32)
    depth = w[0].size
    for part, places, columns in _parts(g, depth):
        images = part.stop - part.start
        fast_conv.compiled.take_columns(x[part], columns, *_moved(g, images))
        products.multiply(w, columns, out[part], (len(w), depth, places), images=(1, 1, images))
    return out


def spread(y: Array, w: Array, g: Geometry) -> Array:
    """Return the transposed convolution: X@GRAD of `correlate` for an output gradient Y."""
    x = np.empty((g.images, g.channels, *g.sizes), np.float32)
    depth = w[0].size
    for part, places, columns in _parts(g, depth):
        images = part.stop - part.start
        products.multiply(w, y[part], columns, (depth, len(w), places), (True, False), (1, images, 1))
        fast_conv.compiled.add_columns(columns, x[part], *_moved(g, images))
    return x
