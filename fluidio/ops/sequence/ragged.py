"""Helpers for ops on sequences: finding their LoD, and reductions over ragged rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled import segments
from fluidio.ops.kernel import Call
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray, LoD

__all__ = [
    "from_lengths",
    "last_level",
    "padded_rows",
    "ranges",
    "rows_lod",
    "segment_ids",
    "segment_max",
    "segment_sum",
    "sequences",
]


def sequences(k: Call, slot: str) -> LoD:
    """Return the LoD of an input that must have one."""
    lod = k.lod(slot)
    if not lod:
        name = (k.op.input(slot) or ["?"])[0]
        raise EnforceNotMet(
            f"input {slot} ({name}) has no LoD, but op {k.op.type} works on sequences: feed a LoDTensor (from "
            "fluid.create_lod_tensor, or from a DataFeeder for a variable with lod_level=1)"
        )
    return lod


def last_level(k: Call, slot: str, rows: int) -> IntArray:
    """Return the offsets of the innermost sequences over `rows` rows."""
    offsets = sequences(k, slot)[-1]
    # If no row is left, ops such as ctc_align and sequence_erase return one row that belongs to no sequence.
    if offsets[-1] != rows and (offsets[-1], rows) != (0, 1):
        name = (k.op.input(slot) or ["?"])[0]
        raise EnforceNotMet(f"the LoD of input {slot} ({name}) ends at {offsets[-1]}, but the tensor has {rows} rows")
    return offsets


def from_lengths(lengths: Any) -> IntArray:
    """Convert lengths to offsets."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the numbers starts[i] ... starts[i] + lengths[i] - 1 of all i in one array."""
    offsets = from_lengths(lengths)
    steps = np.arange(offsets[-1], dtype=np.int64)
    return steps + np.repeat(starts - offsets[:-1], lengths)


def segment_ids(offsets: IntArray) -> IntArray:
    """Return the sequence number of each row."""
    return np.repeat(np.arange(offsets.size - 1, dtype=np.int64), offsets[1:] - offsets[:-1])


def rows_lod(lod: LoD, level: int) -> IntArray:
    """Return offsets of level `level` counted in rows instead of entries of the next level."""
    offsets = lod[level]
    for below in lod[level + 1 :]:
        offsets = below[offsets]
    return offsets


def padded_rows(offsets: IntArray, longest: int | None = None) -> tuple[IntArray, Any]:
    """Return row numbers [sequences, longest] and a mask of those that exist; the others are row 0."""
    lengths = offsets[1:] - offsets[:-1]
    width = int(lengths.max(initial=0)) if longest is None else longest
    steps = np.arange(width, dtype=np.int64)
    valid = steps < lengths[:, None]
    return np.where(valid, offsets[:-1, None] + steps, 0), valid


def _long_runs(offsets: IntArray) -> bool:
    """Return whether a loop over sequences is faster than one call over all rows."""
    return bool(offsets[-1] > 8 * (offsets.size - 1))


def _bounds(offsets: IntArray) -> Sequence[tuple[int, int]]:
    edges = offsets.tolist()
    return list(itertools.pairwise(edges))


def segment_sum(k: Call, x: Array, offsets: IntArray) -> Array:
    """Return the sum of the rows of each sequence; zeros for an empty one."""
    if segments.fits(x, offsets):
        return segments.sums(x, offsets)
    count = offsets.size - 1
    total = k.xp.zeros((count, *x.shape[1:]), x.dtype)
    if x.shape[0] == 0:
        return total
    if k.dev.is_gpu:
        k.dev.scatter_add(total, k.dev.upload(segment_ids(offsets)), x)
    elif _long_runs(offsets):
        for i, (start, stop) in enumerate(_bounds(offsets)):
            if start < stop:
                np.add.reduce(x[start:stop], axis=0, out=total[i, ...])
    else:
        filled = np.flatnonzero(offsets[1:] > offsets[:-1])
        total[filled] = np.add.reduceat(x, offsets[filled], axis=0)
    return total


def segment_max(k: Call, x: Array, offsets: IntArray, fill: float) -> Array:
    """Return the largest entry of each column of each sequence; `fill` for an empty one."""
    if segments.fits(x, offsets):
        return segments.maxima(x, offsets, fill)[0]
    count = offsets.size - 1
    out = k.xp.full((count, *x.shape[1:]), fill, x.dtype)
    if x.shape[0] == 0:
        return out
    if k.dev.is_gpu:
        rows, valid = padded_rows(offsets)
        some = k.dev.upload(valid.any(axis=1))
        mask = k.dev.upload(valid.reshape(*valid.shape, *(1,) * (x.ndim - 1)))
        wide = k.xp.where(mask, x[k.dev.upload(rows)], -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)
        return k.xp.where(some.reshape(-1, *(1,) * (x.ndim - 1)), wide.max(axis=1), out).astype(x.dtype)
    if _long_runs(offsets):
        for i, (start, stop) in enumerate(_bounds(offsets)):
            if start < stop:
                np.maximum.reduce(x[start:stop], axis=0, out=out[i, ...])
    else:
        filled = np.flatnonzero(offsets[1:] > offsets[:-1])
        out[filled] = np.maximum.reduceat(x, offsets[filled], axis=0)
    return out
