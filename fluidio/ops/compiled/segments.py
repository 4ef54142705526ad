"""Sums and maxima over the rows of sequences in C, and their gradients: float32 only, added one row after another.

`compiled` is None if it could not be built.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.threads import thread_count
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

compiled: Any
try:
    from fluidio.ops.compiled import _segments as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

__all__ = ["fits", "maxima", "place", "repeat", "sums"]

_SINGLE = np.dtype("float32")
_WORTH_A_THREAD = 1 << 15
"""Elements below which another thread costs more than it saves."""


def fits(x: Any, offsets: IntArray) -> bool:
    """Return whether `sums` and `maxima` accept an array whose rows belong to these sequences."""
    return (
        compiled is not None
        and type(x) is np.ndarray
        and x.dtype == _SINGLE
        and x.flags.c_contiguous
        and x.size > 0
        and offsets[-1] == len(x)
        and offsets.dtype == np.int64
        and offsets.flags.c_contiguous
    )


def _sharing(size: int, sequences: int) -> tuple[int, int]:
    """Return how many sequences are worth a thread, and the number of threads."""
    if size < 2 * _WORTH_A_THREAD:
        return 1, 1
    return -(-_WORTH_A_THREAD * sequences // size), thread_count()


def sums(x: Array, offsets: IntArray, factors: Array | None = None, pad: float = 0.0) -> Array:
    """Return the sum of each sequence, times its factor; `pad` for one without rows."""
    count = offsets.size - 1
    out = np.empty((count, *x.shape[1:]), _SINGLE)
    compiled.sums(x, x.size // len(x), offsets, factors, pad, out, *_sharing(x.size, count))
    return out


def maxima(x: Array, offsets: IntArray, pad: float) -> tuple[Array, Array]:
    """Return the largest elements of each sequence, and the first rows that have them (-1: none, or NaN)."""
    count = offsets.size - 1
    out, index = np.empty((count, *x.shape[1:]), _SINGLE), np.empty((count, *x.shape[1:]), np.int32)
    compiled.maxima(x, x.size // len(x), offsets, pad, out, index, *_sharing(x.size, count))
    return out, index


def repeat(each: Array, offsets: IntArray, factors: Array | None = None) -> Array:
    """Return a row for each row of the sequences: that of its sequence, times a factor."""
    rows = np.empty((int(offsets[-1]), *each.shape[1:]), _SINGLE)
    compiled.repeat(each, each.size // len(each), offsets, factors, rows, *_sharing(rows.size, len(each)))
    return rows


def place(each: Array, offsets: IntArray, index: Array) -> Array:
    """Return rows of zeros with each element at the row that `index` has for it."""
    rows = np.empty((int(offsets[-1]), *each.shape[1:]), _SINGLE)
    compiled.place(each, each.size // len(each), offsets, index, rows, *_sharing(rows.size, len(each)))
    return rows
