"""Quadrilaterals: roi_perspective_transform warps regions to rectangles, polygon_box_transform finds corners."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op, same_as
from fluidio.ops.vision.roi import region_images
from fluidio.ops.vision.roi_parts import rounded
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_NEAR = 1e-4


@op("polygon_box_transform", "Input", "Output", infer=same_as("Input", "Output"), grad=False)
def polygon_box_transform(k: Call, x: Array) -> Array:
    """Output = 4 times the column (even channels) or the row (odd ones) minus Input."""
    xp = k.xp
    out = xp.empty_like(x)
    out[:, ::2] = 4 * xp.arange(x.shape[3], dtype=x.dtype)[None, None, None, :] - x[:, ::2]
    out[:, 1::2] = 4 * xp.arange(x.shape[2], dtype=x.dtype)[None, None, :, None] - x[:, 1::2]
    return out


def _matrix(x: Array, y: Array, height: int, width: int) -> Array:
    """Return the nine numbers that map positions in the rectangle to positions in a quadrilateral."""
    sides = np.sqrt((x - np.roll(x, -1)) ** 2 + (y - np.roll(y, -1)) ** 2)
    tall, wide = (sides[1] + sides[3]) / 2, (sides[0] + sides[2]) / 2
    rows = max(2, height)
    columns = int(rounded(np.asarray(wide * (rows - 1) / tall))) + 1
    columns = max(2, min(columns, width))
    (dx1, dx2), (dy1, dy2) = (x[1] - x[2], x[3] - x[2]), (y[1] - y[2], y[3] - y[2])
    dx3, dy3 = x[0] - x[1] + x[2] - x[3], y[0] - y[1] + y[2] - y[3]
    scale = dx1 * dy2 - dx2 * dy1 + x.dtype.type(1e-5)
    m6 = (dx3 * dy2 - dx2 * dy3) / scale / (columns - 1)
    m7 = (dx1 * dy3 - dx3 * dy1) / scale / (rows - 1)
    found = []
    for corner in (x, y):
        found += [
            (corner[1] - corner[0] + m6 * (columns - 1) * corner[1]) / (columns - 1),
            (corner[3] - corner[0] + m7 * (rows - 1) * corner[3]) / (rows - 1),
            corner[0],
        ]
    return np.array([*found, m6, m7, 1.0], x.dtype)


def _inside(px: Array, py: Array, x: Array, y: Array) -> Array:
    """Return which points are inside a quadrilateral or on its edge."""
    on_edge, crossings = np.zeros(px.shape, bool), np.zeros(px.shape, np.int64)
    for (xs, ys), (xe, ye) in zip(zip(x, y), zip(np.roll(x, -1), np.roll(y, -1))):
        low_x, high_x, low_y, high_y = min(xs, xe), max(xs, xe), min(ys, ye), max(ys, ye)
        if abs(ys - ye) < _NEAR:
            on_edge |= (np.abs(py - ys) < _NEAR) & (px > low_x - _NEAR) & (px < high_x + _NEAR)
            continue
        cut = (py - ys) * (xe - xs) / (ye - ys) + xs
        on_edge |= (np.abs(cut - px) < _NEAR) & (py > low_y - _NEAR) & (py < high_y + _NEAR)
        beside = (py - low_y > _NEAR) & (py - high_y <= _NEAR)
        crossings += beside & (cut - px > _NEAR)
    return on_edge | (crossings % 2 == 1)


class _Reading:
    """The positions and weights from which a warped region is read."""

    def __init__(self, k: Call, quad: Array, height: int, width: int) -> None:
        rows, columns = k.attrs["transformed_height"], k.attrs["transformed_width"]
        corners = quad.reshape(4, 2) * quad.dtype.type(k.attrs["spatial_scale"])
        self.matrix = m = _matrix(corners[:, 0], corners[:, 1], rows, columns)
        h, w = np.meshgrid(np.arange(rows, dtype=quad.dtype), np.arange(columns, dtype=quad.dtype), indexing="ij")
        below = m[6] * w + m[7] * h + m[8]
        x, y = (m[0] * w + m[1] * h + m[2]) / below, (m[3] * w + m[4] * h + m[5]) / below
        fits = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
        self.there = _inside(x, y, corners[:, 0], corners[:, 1]) & fits
        x, y = np.where(self.there, x, 0).clip(0, width - 1), np.where(self.there, y, 0).clip(0, height - 1)
        self.x0, self.y0 = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
        self.x1, self.y1 = np.minimum(self.x0 + 1, width - 1), np.minimum(self.y0 + 1, height - 1)
        self.right, self.down = x - self.x0, y - self.y0

    def corners(self) -> list[tuple[Any, Any, Any]]:
        d, r, there = self.down, self.right, self.there
        return [
            (self.y0, self.x0, (1 - d) * (1 - r) * there),
            (self.y1, self.x0, d * (1 - r) * there),
            (self.y1, self.x1, d * r * there),
            (self.y0, self.x1, (1 - d) * r * there),
        ]


def _infer(c: InferContext) -> None:
    x, rois = c.shape("X"), c.shape("ROIs")
    sides = (c.attrs["transformed_height"], c.attrs["transformed_width"])
    c.set("Out", (rois[0], x[1], *sides), c.dtype("X"), c.input("ROIs").lod_level)
    c.set("Mask", (rois[0], 1, *sides), "int32")
    c.set("TransformMatrix", (rois[0], 9), c.dtype("X"))
    c.set("Out2InIdx", (rois[0], x[1], *sides), "int32")  # Fluid: declared like Out
    c.set("Out2InWeights", (rois[0], x[1], *sides), c.dtype("X"))


@op(
    "roi_perspective_transform",
    "X ROIs",
    "Out Mask TransformMatrix Out2InIdx? Out2InWeights?",
    {"spatial_scale": 1.0, "transformed_height": 1, "transformed_width": 1},
    infer=_infer,
    grad=True,
    lod="kernel",
)
def roi_perspective_transform(k: Call, x: Array, rois: Array) -> KernelResult:
    """Out = each quadrilateral region as a rectangle; Mask = its pixels; TransformMatrix = the map. On the host."""
    features, quads = k.dev.download(x), k.dev.download(rois)
    height, width = features.shape[2:]
    k.out_lods["Out"] = k.lod("ROIs")
    if not quads.shape[0]:
        return _of_no_region(k, features)
    readings = [_Reading(k, quad, height, width) for quad in quads]
    images = region_images(k, rois, None)
    out = np.stack(
        [
            sum(features[image][:, y, xs] * weight for y, xs, weight in reading.corners())
            for image, reading in zip(images, readings)
        ]
    ).astype(features.dtype)
    mask = np.stack([r.there for r in readings])[:, None].astype(np.int32)
    index = np.stack([np.stack([y * width + xs for y, xs, _ in r.corners()], axis=-1) for r in readings])
    weights = np.stack([np.stack([weight for _, _, weight in r.corners()], axis=-1) for r in readings])
    index = np.where(mask[:, 0, ..., None] > 0, index, -1)
    found = (out, mask, np.stack([r.matrix for r in readings]), index.astype(np.int32), weights.astype(out.dtype))
    return tuple(k.dev.upload(part) for part in found)


def _of_no_region(k: Call, x: Any) -> Any:
    sides = (k.attrs["transformed_height"], k.attrs["transformed_width"])
    shapes = ((x.shape[1], *sides), (1, *sides), (9,), (*sides, 4), (*sides, 4))
    kinds = (x.dtype, np.int32, x.dtype, np.int32, x.dtype)
    return tuple(k.dev.upload(np.zeros((0, *shape), kind)) for shape, kind in zip(shapes, kinds))


@gradient("roi_perspective_transform", "X ROIs Out2InIdx Out2InWeights Out@GRAD", "X@GRAD")
def roi_perspective_transform_grad(k: Call, x: Array, rois: Array, index: Array, weights: Array, dout: Array) -> Array:
    places, shares, d = (k.dev.download(v) for v in (index, weights, dout))
    dx = np.zeros((x.shape[0], x.shape[1], x.shape[2] * x.shape[3]), d.dtype)
    for n, image in enumerate(region_images(k, rois, None)):
        there = places[n] >= 0
        for channel in range(x.shape[1]):
            pull = (d[n, channel][..., None] * shares[n])[there]
            added = np.bincount(places[n][there], pull, dx.shape[2])
            dx[image, channel] += added.astype(d.dtype)
    return k.dev.upload(dx.reshape(x.shape))
