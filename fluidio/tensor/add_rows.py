"""Add rows to the rows of a matrix that an index names, repeats included."""

from __future__ import annotations

import numpy as np

from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

__all__ = ["add_rows"]

_ROUNDS = 4
_FEW = 256


def add_rows(target: Array, index: IntArray, values: Array) -> None:
    """Add `values[i]` to `target[index[i]]` for every i (first axis; NumPy arrays).

    `np.add.at` is slow on matrices, and so is `np.add.reduceat` on short runs. Most rows come a few times: their first
    occurrences are added at once, then the second ones, and so on; what comes more often is summed first.
    """
    if not index.size:
        return
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if values.ndim == 1:
        target[ordered[starts]] += np.add.reduceat(values[order], starts)
        return
    lengths = np.diff(starts, append=order.size)
    for occurrence in range(_ROUNDS):
        target[ordered[starts]] += values.take(order[starts + occurrence], axis=0)
        more = lengths > occurrence + 1
        starts, lengths = starts[more], lengths[more]
        if not starts.size:
            return
    _add_runs(target, order, ordered[starts], starts + _ROUNDS, lengths - _ROUNDS, values)


def _add_runs(
    target: Array, order: IntArray, rows: IntArray, starts: IntArray, lengths: IntArray, values: Array
) -> None:
    """Add the sums of runs of `order` to rows of the target."""
    if starts.size <= _FEW:
        for row, start, length in zip(rows.tolist(), starts.tolist(), lengths.tolist()):
            target[row] += values.take(order[start : start + length], axis=0).sum(axis=0)
        return
    begins = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(starts - begins, lengths)
    target[rows] += np.add.reduceat(values.take(order[places], axis=0), begins, axis=0)
