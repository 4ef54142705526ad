"""Sums and maxima over dims, as `array.sum` and `array.max` give them, whose Python takes longer than a small sum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.ops.compiled import channels, elements
from fluidio.ops.threads import share
from fluidio.tensor.array import Array

__all__ = ["maximum", "total"]

_WORTH_A_THREAD = 1 << 17
"""Elements below which another thread costs more than it saves."""
_COLUMNS = 16
"""Columns that stay together: a cache line of them."""
_sum: Any = np.add.reduce
_largest: Any = np.maximum.reduce


def total(array: Any, axis: int | tuple[int, ...], keepdims: bool = False) -> Any:
    """Return the sums over dims; threads share the columns, or the channels, of large sums over the other dims."""
    if type(array) is not np.ndarray:
        return array.sum(axis=axis, keepdims=keepdims)
    dims = axis if isinstance(axis, tuple) else (axis,)
    if array.size >= elements.LARGE and dims == tuple(range(len(dims))) and array.flags.c_contiguous:
        shape = array.shape[len(dims) :]
        columns = math.prod(shape)
        in_c = columns >= _COLUMNS and elements.fits(array)
        if in_c or (array.size >= 2 * _WORTH_A_THREAD and columns >= 2 * _COLUMNS and array.dtype.kind == "f"):
            found = _column_sums(array.reshape(-1, columns))
            return found.reshape((*(1 for _ in dims), *shape) if keepdims else shape)
    channel_dims = (0, *range(2, array.ndim))
    if array.size >= elements.LARGE and array.ndim > 2 and dims == channel_dims and channels.fits(array):
        sums = channels.sum_channels(array)
        return sums.reshape(1, -1, *(1 for _ in dims[1:])) if keepdims else sums
    return _sum(array, axis, keepdims=keepdims)


def _column_sums(rows: Array) -> Array:
    """Return the sum of the rows: NumPy adds one after another, so that some columns may be added alone."""
    if elements.fits(rows):
        return elements.add_rows(rows)
    sums = np.empty(rows.shape[1], rows.dtype)
    units = rows.shape[1] // _COLUMNS  # a single column at the end would be added in another order

    def part(begin: int, end: int) -> None:
        some = slice(begin * _COLUMNS, end * _COLUMNS if end < units else None)
        _sum(rows[:, some], 0, out=sums[some])

    share(units, -(-_WORTH_A_THREAD // (len(rows) * _COLUMNS)), part)
    return sums


def maximum(array: Any, axis: int | tuple[int, ...], keepdims: bool = False) -> Any:
    """Return the maxima over dims."""
    if type(array) is np.ndarray:
        return _largest(array, axis, keepdims=keepdims)
    return array.max(axis=axis, keepdims=keepdims)
