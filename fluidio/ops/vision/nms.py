"""Greedy suppression of boxes in order of score, one row of overlaps at a time. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _suppress as compiled
except ImportError:
    compiled = None

__all__ = ["area", "compiled", "jaccard", "keep_apart"]


def area(boxes: Array, normalized: bool) -> Array:
    """Return the areas of boxes; 0 for an inverted one."""
    extra = boxes.dtype.type(0 if normalized else 1)
    sides = boxes[..., 2:] - boxes[..., :2]
    return np.where((sides < 0).any(axis=-1), 0, (sides[..., 0] + extra) * (sides[..., 1] + extra))


def jaccard(box: Array, others: Any, normalized: bool) -> Array:
    """Return intersection over union of one box with others: 0 if disjoint, NaN for identical points."""
    extra = box.dtype.type(0 if normalized else 1)
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    sides = high - low + extra
    apart = (others[:, :2] > box[2:]) | (others[:, 2:] < box[:2])  # an inverted one may still overlap others
    shared = sides[:, 0] * sides[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = shared / (area(box, normalized) + area(others, normalized) - shared)
    return np.where(apart.any(axis=-1), 0, share)


def keep_apart(boxes: Array, threshold: float, eta: float, normalized: bool, most: int = -1) -> list[int]:
    """Return the indices of the boxes, best first, whose overlap with each kept one is within the threshold, not NaN.

    With eta < 1, each kept box multiplies the threshold by eta while it is above 0.5.
    """
    if compiled is not None and boxes.dtype == np.float32 and boxes.shape[1:] == (4,):
        numbers = np.empty(boxes.shape[0], np.int64)
        count = compiled.keep_apart(np.ascontiguousarray(boxes), numbers, threshold, eta, normalized, most)
        found: list[int] = numbers[:count].tolist()
        return found
    worst = np.full(boxes.shape[0], -np.inf, boxes.dtype)
    kept: list[int] = []
    for i in range(boxes.shape[0]):
        if not worst[i] <= threshold:
            continue
        kept.append(i)
        if len(kept) == most:
            break
        worst[i + 1 :] = np.maximum(worst[i + 1 :], jaccard(boxes[i], boxes[i + 1 :], normalized))
        if eta < 1 and threshold > 0.5:
            threshold *= eta
    return kept
