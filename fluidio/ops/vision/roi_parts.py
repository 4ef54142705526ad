"""Pool parts of regions: psroi_pool, prroi_pool. On the host."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.vision.roi import region_images
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _regions as compiled
except ImportError:
    compiled = None

__all__ = ["rounded"]

_POOL = {"spatial_scale": 1.0, "pooled_height": 1, "pooled_width": 1}


def rounded(values: Array) -> Array:
    """Round half away from zero, as C does."""
    return np.copysign(np.floor(np.abs(values) + values.dtype.type(0.5)), values)


def _infer_ps(c: InferContext) -> None:
    x, a = c.shape("X"), c.attrs
    wanted = a["output_channels"] * a["pooled_height"] * a["pooled_width"]
    c.check(x[1] in (-1, wanted), f"X must have {wanted} channels, it has {x[1]}")
    shape = (c.shape("ROIs")[0], a["output_channels"], a["pooled_height"], a["pooled_width"])
    c.set("Out", shape, c.dtype("X"))


def _spans(start: Array, end: Array, cells: int, size: int) -> Array:
    """Return the first pixel of each cell along one side, and the one after its last, for each region."""
    kind = start.dtype.type
    step = (np.maximum(end - start, kind(0.1)) / kind(cells))[:, None]
    numbers = np.arange(cells, dtype=start.dtype)
    low, high = np.floor(numbers * step + start[:, None]), np.ceil((numbers + 1) * step + start[:, None])
    spans = np.nan_to_num(np.stack([low, high], axis=2), posinf=size, neginf=0)
    return np.clip(spans, 0, size).astype(np.int64)


def _windows(attrs: dict[str, Any], boxes: Array, height: int, width: int) -> tuple[Array, Array]:
    """Return the rows and the columns of pixels of all cells: [regions, cells along the side, first and end]."""
    scale = boxes.dtype.type(attrs["spatial_scale"])
    start, end = rounded(boxes[:, :2]) * scale, (rounded(boxes[:, 2:]) + 1) * scale
    down = _spans(start[:, 1], end[:, 1], attrs["pooled_height"], height)
    return down, _spans(start[:, 0], end[:, 0], attrs["pooled_width"], width)


def _cells_of(down: Array, across: Array) -> Iterator[tuple[int, int, slice, slice, int]]:
    """Yield the row, column, both ranges of pixels and the number of pixels of each cell that is not empty."""
    for i, (y0, y1) in enumerate(down.tolist()):
        for j, (x0, x1) in enumerate(across.tolist()):
            if y1 > y0 and x1 > x0:
                yield i, j, slice(y0, y1), slice(x0, x1), (y1 - y0) * (x1 - x0)


def _in_c(planes: Array, images: Array, down: Array, across: Array, out: Array, spreads: bool) -> bool:
    """Let C take the means, or spread their gradients; return whether it can."""
    if compiled is None or planes.dtype != np.float32:
        return False
    some = slice(len(images))
    edges = np.concatenate(
        [part.reshape(len(part), math.prod(part.shape[1:]))[some] for part in (down, across)], axis=1
    )
    sizes = (*planes.shape[:2], *planes.shape[4:], *planes.shape[2:4])
    compiled.means(planes, np.ascontiguousarray(images, np.int64), edges, out[some], sizes, spreads)
    return True


@op("psroi_pool", "X ROIs", "Out", {**_POOL, "output_channels": 1}, infer=_infer_ps, grad=True, lod="kernel")
def psroi_pool(k: Call, x: Array, rois: Array) -> Array:
    """Out = the mean of each cell of a grid over each region; each cell has its own channels."""
    a, boxes = k.attrs, k.dev.download(rois)
    rows, columns = a["pooled_height"], a["pooled_width"]
    parts = np.ascontiguousarray(k.dev.download(x)).reshape(
        x.shape[0], a["output_channels"], rows, columns, *x.shape[2:]
    )
    out = np.zeros((boxes.shape[0], a["output_channels"], rows, columns), parts.dtype)
    images, (down, across) = region_images(k, rois, None)[: len(boxes)], _windows(a, boxes, *x.shape[2:])
    if not _in_c(parts, images, down, across, out, spreads=False):
        for n, image in enumerate(images):
            for i, j, ys, xs, count in _cells_of(down[n], across[n]):
                out[n, :, i, j] = parts[image, :, i, j, ys, xs].sum(axis=(1, 2)) / parts.dtype.type(count)
    return k.dev.upload(out)


@gradient("psroi_pool", "X ROIs Out@GRAD", "X@GRAD")
def psroi_pool_grad(k: Call, x: Array, rois: Array, dout: Array) -> Array:
    a, boxes, d = k.attrs, k.dev.download(rois), np.ascontiguousarray(k.dev.download(dout))
    dx = np.zeros((x.shape[0], *d.shape[1:], *x.shape[2:]), d.dtype)
    images, (down, across) = region_images(k, rois, None)[: len(boxes)], _windows(a, boxes, *x.shape[2:])
    if not _in_c(dx, images, down, across, d, spreads=True):
        for n, image in enumerate(images):
            for i, j, ys, xs, count in _cells_of(down[n], across[n]):
                dx[image, :, i, j, ys, xs] += d[n, :, i, j, None, None] / d.dtype.type(count)
    return k.dev.upload(dx.reshape(x.shape))


def _infer_pr(c: InferContext) -> None:
    x, rois = c.shape("X"), c.shape("ROIs")
    c.set("Out", (rois[0], x[1], c.attrs["pooled_height"], c.attrs["pooled_width"]), c.dtype("X"))


def _hat(distance: Array) -> Array:
    """Return the hat function of a distance: 1 at a pixel, falling linearly to 0 at its neighbours."""
    return np.maximum(1 - np.abs(distance), 0)


def _hat_sum(distance: Array) -> Array:
    """Return the integral of `_hat` up to a distance."""
    t = np.clip(distance, -1, 1)
    return np.where(t < 0, (1 + t) ** 2 / 2, 1 - (1 - t) ** 2 / 2)


class _Cells:
    """The cells of a region along one side, and their integrals over the pixels."""

    def __init__(self, start: float, end: float, count: int, size: int) -> None:
        self.width = max(end - start, 0.0) / count
        edges = start + self.width * np.arange(count + 1)
        distance = edges[:, None] - np.arange(size)[None, :]
        sums = _hat_sum(distance)
        self.edges = _hat(distance)
        self.matrix = sums[1:] - sums[:-1]
        self.share = np.arange(count + 1) / count


def _cells(k: Call, box: Array, height: int, width: int) -> tuple[_Cells, _Cells]:
    a = k.attrs
    left, top, right, bottom = (float(v) * float(np.float32(a["spatial_scale"])) for v in box)
    return _Cells(top, bottom, a["pooled_height"], height), _Cells(left, right, a["pooled_width"], width)


def _numbered(k: Call, rois: Array, counts: Array | None) -> Array:
    """Return the image of each region from its LoD or from the number of regions of each image."""
    if counts is None:
        return region_images(k, rois, None)
    numbers = k.dev.download(counts).reshape(-1)
    return np.repeat(np.arange(numbers.size), numbers)


@op("prroi_pool", "X ROIs BatchRoINums?", "Out", _POOL, infer=_infer_pr, grad=True, lod="kernel")
def prroi_pool(k: Call, x: Array, rois: Array, counts: Array) -> Array:
    """Out = the mean (by integration) of the interpolated image over each cell of a grid over each region."""
    features, boxes = k.dev.download(x), k.dev.download(rois)
    out = np.zeros((boxes.shape[0], x.shape[1], k.attrs["pooled_height"], k.attrs["pooled_width"]), features.dtype)
    for n, (image, box) in enumerate(zip(_numbered(k, rois, counts), boxes)):
        rows, columns = _cells(k, box, *features.shape[2:])
        size = rows.width * columns.width
        if size > 0:
            out[n] = rows.matrix @ features[image] @ columns.matrix.T / size
    return k.dev.upload(out)


@gradient("prroi_pool", "X Out ROIs BatchRoINums Out@GRAD", "X@GRAD ROIs@GRAD")
def prroi_pool_grad(k: Call, x: Array, out: Array, rois: Array, counts: Array, dout: Array) -> KernelResult:
    features, pooled, boxes, d = (k.dev.download(v) for v in (x, out, rois, dout))
    dx, drois = np.zeros(x.shape, d.dtype), np.zeros(boxes.shape, d.dtype)
    for n, (image, box) in enumerate(zip(_numbered(k, rois, counts), boxes)):
        rows, columns = _cells(k, box, *features.shape[2:])
        size = rows.width * columns.width
        if size > 0:
            dx[image] += (rows.matrix.T @ d[n] @ columns.matrix / size).astype(d.dtype)
            drois[n] = _edges_grad(features[image], pooled[n], d[n], rows, columns) * k.attrs["spatial_scale"]
    return (
        k.dev.upload(dx) if k.wants("X@GRAD") else None,
        k.dev.upload(drois) if k.wants("ROIs@GRAD") else None,
    )


def _edges_grad(image: Array, pooled: Array, d: Array, rows: _Cells, columns: _Cells) -> Array:
    """Return the gradient of a region's left, top, right and bottom: each moves every cell edge by its share."""
    size = rows.width * columns.width
    along_x = rows.matrix @ image @ columns.edges.T  # the values along each vertical edge, by row
    along_y = rows.edges @ image @ columns.matrix.T
    left = (pooled * rows.width - along_x[:, :, :-1]) * d / size
    right = (along_x[:, :, 1:] - pooled * rows.width) * d / size
    top = (pooled * columns.width - along_y[:, :-1]) * d / size
    bottom = (along_y[:, 1:] - pooled * columns.width) * d / size
    near_x, near_y = columns.share, rows.share[:, None]
    return np.array(
        [
            (left * (1 - near_x[:-1]) + right * (1 - near_x[1:])).sum(),
            (top * (1 - near_y[:-1]) + bottom * (1 - near_y[1:])).sum(),
            (left * near_x[:-1] + right * near_x[1:]).sum(),
            (top * near_y[:-1] + bottom * near_y[1:]).sum(),
        ]
    )
