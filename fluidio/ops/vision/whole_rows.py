"""Convolutions whose kernel is as wide as the image: outputs are products with whole rows (text, dense layers).

The windows of rows are a matrix in which the elements of a row are neighbours, so nothing is gathered one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fluidio.ops.compiled.products import product
from fluidio.tensor.array import Array

if TYPE_CHECKING:
    from fluidio.ops.vision.conv import Geometry

__all__ = ["are_met", "correlate", "filter_gradient", "spread"]


def are_met(g: Geometry) -> bool:
    """Return whether a convolution of images in rows meets whole rows only."""
    height, width = g.kernel
    return g.groups == 1 and width == g.sizes[1] > 1 and g.outs[1] == 1 and g.pads[1] == (0, 0) and height * width > 1


def _windows(x: Array, g: Geometry) -> Array:
    """Return the rows that each output meets: [images * outputs, channels * kernel]."""
    height, width = g.kernel
    if g.outs[0] == 1 and height == g.sizes[0] and not g.is_padded:
        return x.reshape(g.images, -1)
    padded = _padded(g, x.dtype)
    padded[:, :, g.pads[0][0] : g.pads[0][0] + g.sizes[0]] = x
    image, channel, row, element = padded.strides
    view = np.lib.stride_tricks.as_strided(
        padded,
        (g.images, g.outs[0], g.channels, height, width),
        (image, g.strides[0] * row, channel, g.dilations[0] * row, element),
    )
    return np.ascontiguousarray(view).reshape(g.images * g.outs[0], -1)


def _padded(g: Geometry, dtype: np.dtype[np.float32]) -> Array:
    """Return the room for images with their padding, which is zero."""
    return np.zeros((g.images, g.channels, g.sizes[0] + sum(g.pads[0]), g.sizes[1]), dtype)


def _rows(y: Array, g: Geometry) -> Array:
    """Return output gradients [N, F, outputs, 1] as [N * outputs, F]."""
    turned = np.ascontiguousarray(y.reshape(g.images, -1, g.outs[0]).transpose(0, 2, 1))
    return turned.reshape(g.images * g.outs[0], -1)


def correlate(x: Array, w: Array, g: Geometry) -> Array:
    """Return the convolution of X [N, C, H, W] with W [F, C, height, W]."""
    out = product(_windows(x, g), w.reshape(len(w), -1).T).reshape(g.images, g.outs[0], len(w))
    return np.ascontiguousarray(out.transpose(0, 2, 1)).reshape(g.images, len(w), *g.outs)


def spread(y: Array, w: Array, g: Geometry) -> Array:
    """Return the transposed convolution: X@GRAD of `correlate` for an output gradient Y."""
    found = product(_rows(y, g), w.reshape(len(w), -1))
    height, width = g.kernel
    if g.outs[0] == 1 and height == g.sizes[0] and not g.is_padded:
        return found.reshape(g.images, g.channels, *g.sizes)
    windows = found.reshape(g.images, g.outs[0], g.channels, height, width).transpose(0, 2, 3, 1, 4)
    padded, (step, reach) = _padded(g, y.dtype), (g.strides[0], g.strides[0] * (g.outs[0] - 1) + 1)
    for row in range(height):
        first = row * g.dilations[0]
        padded[:, :, first : first + reach : step] += windows[:, :, row]
    first = g.pads[0][0]
    return np.ascontiguousarray(padded[:, :, first : first + g.sizes[0]])


def filter_gradient(x: Array, y: Array, w: Array, g: Geometry) -> Array:
    """Return W@GRAD of `correlate` for inputs X and output gradients Y."""
    return product(_rows(y, g).T, _windows(x, g)).reshape(w.shape)
