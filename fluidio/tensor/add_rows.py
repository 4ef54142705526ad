"""Add rows to indexed rows of a matrix, including repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

compiled: Any
try:
    from fluidio.tensor import _merge as compiled
except ImportError:
    compiled = None

__all__ = ["add_rows", "compiled", "merge_rows"]

_ROUNDS = 4
_FEW = 256


def add_rows(target: Array, index: IntArray, values: Array) -> None:
    """Add `values[i]` to `target[index[i]]` for every i (first axis; NumPy arrays).

    `np.add.at` is slow on matrices, and so is `np.add.reduceat` on short runs. Most rows occur only a few times: all
    first occurrences are added at once, then the second ones, and so on; more frequent rows are summed first.
    """
    if not index.size:
        return
    fit = values.size and _fits(index, values) and _fits(index, target) and target.shape[1:] == values.shape[1:]
    if fit and compiled.add(target, np.ascontiguousarray(index), values):
        return
    order, ordered, starts = _runs(index)
    if values.ndim == 1:
        target[ordered[starts]] += np.add.reduceat(values[order], starts)
        return
    _add_from(0, target, ordered[starts], order, starts, values)


def merge_rows(index: IntArray, values: Array) -> tuple[IntArray, Array]:
    """Return each row of an index once, with the sum of its values: ascending if any repeats, else as given."""
    if not index.size:
        return index, values.copy()
    if _fits(index, values):
        numbers, sums = np.empty(index.size, np.int64), np.empty_like(values)
        count = compiled.merge(np.ascontiguousarray(index), values, numbers, sums)
        if count >= 0:
            return (index, values.copy()) if count == index.size else (numbers[:count], sums[:count])
    order, ordered, starts = _runs(index)
    if starts.size == index.size:
        return index, values.copy()
    if values.ndim == 1:
        return ordered[starts], np.add.reduceat(values[order], starts)
    sums = values.take(order[starts], axis=0)
    _add_from(1, sums, np.arange(starts.size), order, starts, values)
    return ordered[starts], sums


def _fits(index: IntArray, values: Array) -> bool:
    """Return whether the C code accepts rows and their numbers."""
    return (
        compiled is not None
        and index.dtype == np.int64
        and type(values) is np.ndarray
        and values.dtype == np.float32
        and values.flags.c_contiguous
    )


def _runs(index: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the stable order of an index, the sorted index, and where each new number begins in it."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    return order, ordered, np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _add_from(first: int, target: Array, rows: IntArray, order: IntArray, starts: IntArray, values: Array) -> None:
    """Add each run of `order`, from this occurrence on, to its row of the target."""
    lengths = np.diff(starts, append=order.size)
    for occurrence in range(_ROUNDS):
        if occurrence >= first:
            target[rows] += values.take(order[starts + occurrence], axis=0)
        more = lengths > occurrence + 1
        rows, starts, lengths = rows[more], starts[more], lengths[more]
        if not starts.size:
            return
    _add_runs(target, order, rows, starts + _ROUNDS, lengths - _ROUNDS, values)


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
