"""The ways to compute a convolution in C, and which one is fastest for its sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.vision import columns, fast_conv, volumes, whole_rows
from fluidio.tensor.array import Array

if TYPE_CHECKING:
    from fluidio.ops.vision.conv import Geometry

__all__ = ["correlate", "filter_gradient", "serve", "spread"]


def serve(k: Call, *arrays: Any) -> bool:
    """Return whether the functions here can compute a convolution of these arrays."""
    if fast_conv.compiled is None or k.dev.is_gpu:
        return False
    return all(type(a) is np.ndarray and a.dtype == np.float32 and a.flags.c_contiguous and a.size for a in arrays)


def correlate(x: Array, w: Array, g: Geometry) -> Array:
    """Return the convolution of X [N, C, *] with W [F, C / groups, *]."""
    if len(g.kernel) == 3:
        return volumes.correlate(x, w, g, correlate)
    if whole_rows.are_met(g):
        return whole_rows.correlate(x, w, g)
    return (columns if columns.serves(g, w) else fast_conv).correlate(x, w, g)


def spread(y: Array, w: Array, g: Geometry) -> Array:
    """Return the transposed convolution: X@GRAD of `correlate` for an output gradient Y."""
    if len(g.kernel) == 3:
        return volumes.spread(y, w, g, spread)
    if whole_rows.are_met(g):
        return whole_rows.spread(y, w, g)
    return (columns if columns.spreads(g, w) else fast_conv).spread(y, w, g)


def filter_gradient(x: Array, y: Array, w: Array, g: Geometry) -> Array:
    """Return W@GRAD of `correlate` for inputs X and output gradients Y."""
    if len(g.kernel) == 3:
        return volumes.filter_gradient(x, y, w, g, filter_gradient)
    return (whole_rows if whole_rows.are_met(g) else fast_conv).filter_gradient(x, y, w, g)
