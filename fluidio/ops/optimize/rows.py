"""The rows of a sparse gradient that an update uses."""

from __future__ import annotations

import warnings

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__ = ["ALL_ROWS", "no_rows", "searched"]

ALL_ROWS = "fluidio_all_rows"  # fluidio's own attribute: use every row of a sparse gradient

_warned = False


def no_rows(grad: object) -> bool:
    """Return whether a gradient is sparse and empty: Fluid's Momentum, Adam and Lamb then change nothing."""
    return isinstance(grad, SelectedRows) and not grad.index.size


def searched(k: Call, grad: Array) -> Array:
    """Return a gradient as a dense matrix, with the rows of a sparse one that Fluid finds; others are zeros.

    Fluid: Momentum and RMSProp look each row up by a binary search, but rows that do not repeat are left unsorted.
    """
    if not isinstance(grad, SelectedRows):
        return grad
    rows, values = grad.merged(k.xp)
    if not k.attrs.get(ALL_ROWS):
        numbers = np.asarray(k.dev.download(rows))
        found = _found(numbers)
        if not found.all():
            _tell(k, int(found.size - found.sum()), found.size)
            values = values * k.dev.upload(found).reshape(-1, *(1,) * (values.ndim - 1)).astype(values.dtype)
    return SelectedRows(rows, grad.height(), values).to_dense(k.xp)


def _found(rows: Array) -> Array:
    """Return which rows a binary search finds, treating them as if they were sorted."""
    if rows.size < 2 or (np.diff(rows) > 0).all():
        return np.ones(rows.size, bool)
    low, high = np.zeros(rows.size, np.int64), np.full(rows.size, rows.size - 1)
    found = np.zeros(rows.size, bool)
    while (active := (low <= high) & ~found).any():
        middle = (low + high) >> 1
        there = rows[np.where(active, middle, 0)]
        found |= active & (there == rows)
        low = np.where(active & (there < rows), middle + 1, low)
        high = np.where(active & (there > rows), middle - 1, high)
    return found


def _tell(k: Call, lost: int, count: int) -> None:
    global _warned
    if _warned:
        return
    _warned = True
    warnings.warn(
        f"{k.op.type}: {lost} of {count} rows of a sparse gradient have no effect, because, like Fluid 1.8.5, "
        "fluidio looks for rows as if they were sorted; Momentum(..., all_rows=True) and RMSProp(..., "
        "all_rows=True) use all rows",
        stacklevel=2,
    )
