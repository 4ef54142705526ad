"""Targets of region masks: generate_mask_labels. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import op
from fluidio.ops.vision.detection_boxes import overlaps
from fluidio.ops.vision.proposals import offsets
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__ = ["filled"]

_FINE = 5  # outlines are drawn on a grid five times as fine


def _outline(points: Array) -> tuple[Array, Array]:
    """Return the positions of the fine grid along the outline of a polygon, in order."""
    corners = np.trunc(_FINE * points + 0.5).astype(np.int64)
    us, vs = [], []
    for (xs, ys), (xe, ye) in zip(corners, np.roll(corners, -1, axis=0)):
        dx, dy = abs(xe - xs), abs(ye - ys)
        flat = dx >= dy
        turned = xs > xe if flat else ys > ye
        if turned:
            xs, ys, xe, ye = xe, ye, xs, ys
        steps = np.arange(max(dx, dy) + 1)
        slope = ((ye - ys) / dx if flat else (xe - xs) / dy) if max(dx, dy) else 0.0
        steps = steps[::-1] if turned else steps
        along = steps + (xs if flat else ys)
        across = np.trunc((ys if flat else xs) + slope * steps + 0.5).astype(np.int64)
        us.append(along if flat else across)
        vs.append(across if flat else along)
    return np.concatenate(us), np.concatenate(vs)


def filled(points: Array, side: int) -> Array:
    """Return the mask [side, side] of a polygon [n, 2], as COCO's tools draw it."""
    u, v = _outline(points.astype(np.float64))
    crossed = np.flatnonzero(u[1:] != u[:-1]) + 1
    column = (np.where(u[crossed] < u[crossed - 1], u[crossed], u[crossed] - 1) + 0.5) / _FINE - 0.5
    row = (np.minimum(v[crossed], v[crossed - 1]) + 0.5) / _FINE - 0.5
    whole = (np.floor(column) == column) & (column >= 0) & (column <= side - 1)
    places = column[whole].astype(np.int64) * side + np.ceil(np.clip(row[whole], 0, side)).astype(np.int64)
    turns = np.bincount(places, minlength=side * side + 1)[: side * side]
    return (np.cumsum(turns) % 2).reshape(side, side).T


def _in_region(polygons: list[Array], box: Array, side: int) -> Array:
    """Return the mask of an object's polygons within a box."""
    size = np.maximum(box[2:] - box[:2], 1)
    drawn = [filled((polygon - box[:2]) * box.dtype.type(side) / size, side) for polygon in polygons]
    return (np.sum(drawn, axis=0) > 0).astype(np.int32)


def _bounds(polygons: list[Array]) -> Array:
    points = np.concatenate(polygons)
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def _of_image(attrs: dict[str, Any], objects: list[list[Any]], rois: Array, labels: Array, scale: Array) -> list[Array]:
    """Return the three outputs of one image."""
    side, classes = attrs["resolution"], attrs["num_classes"]
    chosen = np.flatnonzero(labels > 0)
    shown = bool(chosen.size and objects)
    if not shown:
        # Fluid: without any object, one background region is used and its mask is ignored.
        chosen = np.flatnonzero(labels == 0)[:1]
    boxes = rois[chosen] / scale
    masks = np.full((chosen.size, classes, side * side), -1, np.int32)
    if shown:
        nearest = overlaps(np, boxes, np.stack([_bounds(o) for o in objects]), False).argmax(axis=1)
        for n, (box, best) in enumerate(zip(boxes, nearest)):
            masks[n, labels[chosen[n]]] = _in_region(objects[best], box, side).reshape(-1)
    where = chosen.astype(np.int32)[:, None]
    return [(boxes * scale).astype(rois.dtype), where, masks.reshape(chosen.size, classes * side * side)]


def _infer(c: InferContext) -> None:
    side = c.attrs["resolution"]
    c.set("MaskRois", (-1, 4), c.dtype("Rois"), 1)
    c.set("RoiHasMaskInt32", (-1, 1), "int32", 1)
    c.set("MaskInt32", (-1, c.attrs["num_classes"] * side * side), "int32", 1)


@op(
    "generate_mask_labels",
    "ImInfo GtClasses IsCrowd GtSegms Rois LabelsInt32",
    "MaskRois RoiHasMaskInt32 MaskInt32",
    {"num_classes": 0, "resolution": 0},
    infer=_infer,
    grad=False,
    lod="kernel",
)
def generate_mask_labels(
    k: Call, info: Array, kinds: Array, crowd: Array, segments: Array, rois: Array, labels: Array
) -> KernelResult:
    """Output the mask that each region with an object should predict."""
    i, c, w, g, r, chosen = (k.dev.download(x) for x in (info, kinds, crowd, segments, rois, labels))
    by_image, by_object, by_polygon = k.lod("GtSegms")
    ends = k.lod("Rois")[-1]
    c, w, chosen = c.reshape(-1), w.reshape(-1), chosen.reshape(-1)
    found = []
    for n in range(i.shape[0]):
        objects = []
        for o in range(by_image[n], by_image[n + 1]):
            if c[o] > 0 and w[o] == 0:
                parts = range(by_object[o], by_object[o + 1])
                objects.append([g[by_polygon[p] : by_polygon[p + 1]] for p in parts])
        mine = slice(ends[n], ends[n + 1])
        found.append(_of_image(k.attrs, objects, r[mine], chosen[mine], i[n, 2]))
    lod = offsets([image[0].shape[0] for image in found])
    for slot in ("MaskRois", "RoiHasMaskInt32", "MaskInt32"):
        k.out_lods[slot] = lod
    return tuple(k.dev.upload(np.concatenate(parts)) for parts in zip(*found))
