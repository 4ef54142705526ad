"""Convolutions of volumes as those of images whose channels are the slices that an output slice meets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from fluidio.tensor.array import Array

if TYPE_CHECKING:
    from fluidio.ops.vision.conv import Geometry

__all__ = ["correlate", "filter_gradient", "spread"]

_MOST = 1 << 24
"""Elements of slices at a time."""


def _flat(g: Geometry, volumes: int) -> Geometry:
    """Return the geometry of the images that some volumes become."""
    found = copy.copy(g)
    found.images, found.channels = volumes * g.outs[0], g.channels * g.kernel[0]
    found.kernel, found.strides, found.dilations = g.kernel[1:], g.strides[1:], g.dilations[1:]
    found.sizes, found.pads, found.outs = g.sizes[1:], g.pads[1:], g.outs[1:]
    found.is_padded = any(map(any, found.pads))
    return found


def _parts(g: Geometry) -> Iterator[slice]:
    each = g.outs[0] * g.channels * g.kernel[0] * g.sizes[1] * g.sizes[2]
    some = max(1, _MOST // each)
    return (slice(i, min(i + some, g.images)) for i in range(0, g.images, some))


def _padded(g: Geometry, volumes: int) -> Array:
    """Return the room for volumes with the padding of their slices, which is zero."""
    return np.zeros((volumes, g.channels, sum(g.pads[0]) + g.sizes[0], *g.sizes[1:]), np.float32)


def _inner(g: Geometry) -> slice:
    return slice(g.pads[0][0], g.pads[0][0] + g.sizes[0])


def _slices(x: Array, g: Geometry) -> Array:
    """Return the slices that each output slice meets: [volumes * outputs, channels * kernel, rows, columns]."""
    padded = _padded(g, len(x))
    padded[:, :, _inner(g)] = x
    volume, channel, depth, row, column = padded.strides
    view = np.lib.stride_tricks.as_strided(
        padded,
        (len(x), g.outs[0], g.channels, g.kernel[0], *g.sizes[1:]),
        (volume, g.strides[0] * depth, channel, g.dilations[0] * depth, row, column),
    )
    return np.ascontiguousarray(view).reshape(len(x) * g.outs[0], -1, *g.sizes[1:])


def _filters(w: Array) -> Array:
    return w.reshape(len(w), -1, *w.shape[3:])


def _images(y: Array, g: Geometry) -> Array:
    """Return outputs [volumes, F, outputs, rows, columns] as images [volumes * outputs, F, rows, columns]."""
    return np.ascontiguousarray(y.swapaxes(1, 2)).reshape(len(y) * g.outs[0], -1, *g.outs[1:])


Plane = Callable[[Array, Array, "Geometry"], Array]
"""Do the same with images."""


def correlate(x: Array, w: Array, g: Geometry, plane: Plane) -> Array:
    """Return the convolution of X [N, C, D, H, W] with W [F, C / groups, *kernel]."""
    out = np.empty((g.images, len(w), *g.outs), np.float32)
    for part in _parts(g):
        found = plane(_slices(x[part], g), _filters(w), _flat(g, part.stop - part.start))
        out[part] = found.reshape(-1, g.outs[0], len(w), *g.outs[1:]).swapaxes(1, 2)
    return out


def spread(y: Array, w: Array, g: Geometry, plane: Plane) -> Array:
    """Return the transposed convolution: X@GRAD of `correlate` for an output gradient Y."""
    x = np.empty((g.images, g.channels, *g.sizes), np.float32)
    reach = g.strides[0] * (g.outs[0] - 1) + 1
    for part in _parts(g):
        padded = _padded(g, part.stop - part.start)
        found = plane(_images(y[part], g), _filters(w), _flat(g, len(padded)))
        slices = found.reshape(len(padded), g.outs[0], g.channels, g.kernel[0], *g.sizes[1:]).swapaxes(1, 2)
        for depth in range(g.kernel[0]):
            first = depth * g.dilations[0]
            padded[:, :, first : first + reach : g.strides[0]] += slices[:, :, :, depth]
        x[part] = padded[:, :, _inner(g)]
    return x


def filter_gradient(
    x: Array, y: Array, w: Array, g: Geometry, plane: Callable[[Array, Array, Array, Geometry], Array]
) -> Array:
    """Return W@GRAD of `correlate` for inputs X and output gradients Y."""
    parts = [
        plane(_slices(x[part], g), _images(y[part], g), _filters(w), _flat(g, part.stop - part.start))
        for part in _parts(g)
    ]
    return (parts[0] if len(parts) == 1 else np.sum(parts, axis=0)).reshape(w.shape)
