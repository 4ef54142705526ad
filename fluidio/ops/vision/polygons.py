"""Overlap of polygons, for boxes given by their corners."""

from __future__ import annotations

from itertools import pairwise
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


def _is_convex(points: Array) -> bool:
    """Return whether four corners turn to the left only; more corners could do so twice around."""
    ahead = np.roll(points, -1, axis=0) - points
    after = np.roll(ahead, -1, axis=0)
    return len(points) == 4 and bool((ahead[:, 0] * after[:, 1] >= ahead[:, 1] * after[:, 0]).all())


def _heights(edges: Array) -> Array:
    """Return the heights of all corners and crossings of edges [[x, y], [x, y]], sorted."""
    start, step = edges[:, 0], edges[:, 1] - edges[:, 0]
    slope = step[:, None, 0] * step[None, :, 1] - step[:, None, 1] * step[None, :, 0]
    apart = start[None] - start[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = (apart[..., 0] * step[None, :, 1] - apart[..., 1] * step[None, :, 0]) / slope
        crossings = start[:, None, 1] + at * step[:, None, 1]
    return np.unique(np.concatenate([edges[..., 1].ravel(), crossings[np.isfinite(crossings)]]))


def _spans(edges: Array, height: float) -> list[tuple[float, float]]:
    """Return where a horizontal line runs inside a polygon: after every other edge."""
    (x, y), (x2, y2) = edges[:, 0].T, edges[:, 1].T
    met = (np.minimum(y, y2) < height) & (height < np.maximum(y, y2))
    places = sorted((x + (x2 - x) * (height - y) / np.where(met, y2 - y, 1))[met].tolist())
    return list(zip(places[::2], places[1::2]))


def _shared_area(first: Array, second: Array) -> float:
    """Return the area inside both polygons, whose edges may cross: between crossings, all shapes are trapezoids."""
    sides = [np.stack([points, np.roll(points, -1, axis=0)], axis=1) for points in (first, second)]
    heights = _heights(np.concatenate(sides))
    area = 0.0
    for low, high in pairwise(heights):
        spans, others = (_spans(edges, (low + high) / 2) for edges in sides)
        widths = [max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in spans for b in others]
        area += sum(widths) * float(high - low)
    return area


def polygon_overlap(a: Array, b: Array) -> float:
    """Return the intersection over union of two polygons, each [x, y, x, y, ...].

    A polygon whose edges cross covers what lies behind an odd number of them, but counts in the union with the
    difference of its two sides, and nothing overlaps one of area 0, as in Fluid 1.8.5.
    """
    first, second = (p.reshape(-1, 2).astype(np.float64) for p in (a, b))
    first, second = (p if _signed_area(p) >= 0 else p[::-1] for p in (first, second))
    areas = _signed_area(first), _signed_area(second)
    if not all(areas):
        return 0.0
    convex = _is_convex(first) and _is_convex(second)
    shared = _signed_area(_clipped(first, second)) if convex else _shared_area(first, second)
    union = sum(areas) - shared  # below 0 where edges cross
    return shared / union if union else np.inf


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
