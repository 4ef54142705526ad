"""Overlap of polygons, for boxes given by their corners."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.tensor.array import Array

__all__ = ["polygon_overlap", "polygons_apart"]


def _clipped(subject: Array, clip: Array) -> Array:
    """Return the part of a polygon inside a convex one, both counter-clockwise."""
    points = list(subject)
    for a, b in zip(clip, np.roll(clip, -1, axis=0)):
        side = [float((b - a)[0] * (p - a)[1] - (b - a)[1] * (p - a)[0]) for p in points]
        kept = []
        for i, point in enumerate(points):
            j = i - 1
            if (side[i] >= 0) != (side[j] >= 0):
                kept.append(points[j] + (point - points[j]) * (side[j] / (side[j] - side[i])))
            if side[i] >= 0:
                kept.append(point)
        points = kept
        if not points:
            break
    return np.array(points)


def _signed_area(points: Array) -> float:
    if len(points) < 3:
        return 0.0
    x, y = points[:, 0], points[:, 1]
    return float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2)


def polygon_overlap(a: Array, b: Array) -> float:
    """Return the intersection over union of two polygons, each [x, y, x, y, ...]."""
    first, second = (p.reshape(-1, 2).astype(np.float64) for p in (a, b))
    first, second = (p if _signed_area(p) >= 0 else p[::-1] for p in (first, second))
    shared = _signed_area(_clipped(first, second))
    return shared / max(_signed_area(first) + _signed_area(second) - shared, 1e-12)


def polygons_apart(boxes: Array, attrs: dict[str, Any]) -> list[int]:
    """Return the indices of the polygons, best first, that overlap no kept one by more than nms_threshold."""
    kept: list[int] = []
    threshold = attrs["nms_threshold"]
    for i in range(boxes.shape[0]):
        if all(polygon_overlap(boxes[i], boxes[j]) <= threshold for j in kept):
            kept.append(i)
            if attrs["nms_eta"] < 1 and threshold > 0.5:
                threshold *= attrs["nms_eta"]
    return kept
