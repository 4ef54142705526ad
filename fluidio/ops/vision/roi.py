"""Pool regions of feature maps: roi_pool, roi_align."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.threads import share, thread_count
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _regions as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

aligned: Any
try:
    from fluidio.ops.compiled import _align as aligned
except ImportError:
    aligned = None

__all__ = ["region_images"]

_NEAR = 1e5  # pixels; within them, C counts samples
_FAR = 1e9  # pixels; what lies beyond is as far outside
_WORTH_A_THREAD = 1 << 13
"""Cells below which another thread costs more than it saves."""


def _infer(c: InferContext) -> None:
    x, rois = c.shape("X"), c.shape("ROIs")
    c.check(len(x) == 4, f"X must have 4 dims, its shape is {list(x)}")
    c.check(len(rois) == 2 and rois[1] in (4, -1), f"ROIs must have shape [N, 4], got {list(rois)}")
    for name in ("pooled_height", "pooled_width", "spatial_scale"):
        c.check(c.attrs[name] > 0, f"{name} must be above 0, got {c.attrs[name]}")
    shape = (rois[0], x[1], c.attrs["pooled_height"], c.attrs["pooled_width"])
    c.set("Out", shape, c.dtype("X"), 0)
    c.set("Argmax", shape, lod_level=0)  # Fluid: the layer declares int32, the op produces int64


def region_images(k: Call, rois: Array, lengths: Array | None) -> Array:
    """Return the image of each region, from the LoD of the regions or a tensor of offsets."""
    lod = k.lod("ROIs")
    if lengths is not None:
        ends = k.dev.download(lengths).reshape(-1)
    elif lod:
        ends = lod[-1]
    else:
        raise EnforceNotMet("ROIs must be a LoDTensor in which the regions of each image are one sequence")
    return np.repeat(np.arange(ends.size - 1), np.diff(ends))


_POOL = {"spatial_scale": 1.0, "pooled_height": 1, "pooled_width": 1}


@op("roi_pool", "X ROIs RoisLod?", "Out Argmax?", _POOL, infer=_infer, grad=True, lod="kernel")
def roi_pool(k: Call, x: Array, rois: Array, lengths: Array) -> tuple[Array, Array]:
    """Out = the largest element of each cell of a grid over each region; Argmax = its position. On the host."""
    a, features, boxes = k.attrs, np.ascontiguousarray(k.dev.download(x)), k.dev.download(rois)
    rows, columns = a["pooled_height"], a["pooled_width"]
    corners = np.clip(np.nan_to_num(boxes.astype(np.float64)), -_FAR, _FAR) * a["spatial_scale"]
    corners = np.copysign(np.floor(np.abs(corners) + 0.5), corners)
    down = _edges(corners[:, 1], corners[:, 3], rows, features.shape[2])
    across = _edges(corners[:, 0], corners[:, 2], columns, features.shape[3])
    edges = np.concatenate([down, across], axis=1)
    images = region_images(k, rois, lengths)[: len(boxes)]
    out = np.zeros((len(boxes), features.shape[1], rows, columns), features.dtype)
    where = np.full(out.shape, -1, np.int64)
    if compiled is not None and features.dtype == np.float32:
        some, sizes = slice(len(images)), (*features.shape, rows, columns)
        arrays = features, images, edges[some], out[some], where[some], sizes
        least = -(-_WORTH_A_THREAD // max(features.shape[1] * rows * columns, 1))
        share(len(images), least, lambda begin, end: compiled.pool(*arrays, begin, end))
    else:
        for n, image in enumerate(images):
            _pool_cells(features[image], down[n].reshape(-1, 2), across[n].reshape(-1, 2), out[n], where[n])
    return k.dev.upload(out), k.dev.upload(where)


def _edges(start: Array, stop: Array, cells: int, size: int) -> Array:
    """Return the first pixel of each cell along one side, and the one after its last, for each region."""
    cell = np.maximum(stop - start + 1, 1)[:, None] / cells
    low = start[:, None] + np.floor(np.arange(cells) * cell)
    high = start[:, None] + np.ceil(np.arange(1, cells + 1) * cell)
    return np.clip(np.stack([low, high], axis=2), 0, size).astype(np.int64).reshape(len(start), -1)


def _pool_cells(planes: Array, down: Array, across: Array, out: Array, where: Array) -> None:
    """Fill the cells of one region."""
    width = planes.shape[2]
    for i, (y0, y1) in enumerate(down):
        for j, (x0, x1) in enumerate(across):
            if y1 <= y0 or x1 <= x0:
                continue
            window = planes[:, y0:y1, x0:x1].reshape(len(planes), -1)
            lowest = np.finfo(window.dtype).min
            window = np.where(window > lowest, window, lowest)  # Fluid: a NaN is never larger
            best = window.argmax(axis=1)
            largest = window[np.arange(len(planes)), best]
            out[:, i, j] = largest
            place = (y0 + best // (x1 - x0)) * width + x0 + best % (x1 - x0)
            where[:, i, j] = np.where(largest > lowest, place, -1)


@gradient("roi_pool", "X ROIs RoisLod Argmax Out@GRAD", "X@GRAD")
def roi_pool_grad(k: Call, x: Array, rois: Array, lengths: Array, where: Array, dout: Array) -> Array:
    places, d = k.dev.download(where), k.dev.download(dout)
    images, channels, height, width = x.shape
    dx = np.zeros((images, channels, height * width), d.dtype)
    image = region_images(k, rois, lengths)[:, None, None, None]
    found = places >= 0
    index = np.broadcast_arrays(image, np.arange(channels)[None, :, None, None], places)
    np.add.at(dx, tuple(part[found] for part in index), d[found])
    return k.dev.upload(dx.reshape(x.shape))


class _Samples:
    """The sample positions of one region's cells, as matrices over the window of pixels it touches."""

    def __init__(self, attrs: dict[str, Any], box: Array, height: int, width: int, dtype: npt.DTypeLike) -> None:
        rows, columns = attrs["pooled_height"], attrs["pooled_width"]
        left, top, right, bottom = (float(v) * attrs["spatial_scale"] for v in box)
        region_h, region_w = max(bottom - top, 1.0), max(right - left, 1.0)
        ratio = attrs["sampling_ratio"]
        count_h = ratio if ratio > 0 else math.ceil(region_h / rows)
        count_w = ratio if ratio > 0 else math.ceil(region_w / columns)
        self.rows, down = _weights(top, region_h / rows, rows, count_h, height, dtype)
        self.columns, across = _weights(left, region_w / columns, columns, count_w, width, dtype)
        self.window = (slice(None), down, across)


def _weights(start: float, cell: float, cells: int, count: int, size: int, dtype: npt.DTypeLike) -> tuple[Any, slice]:
    """Return the matrix [cells, pixels] that averages `count` samples in each cell along one side, and the pixels."""
    places = start + (np.arange(cells)[:, None] + (np.arange(count) + 0.5)[None, :] / count) * cell
    inside = (places >= -1.0) & (places <= size)
    places = np.clip(np.nan_to_num(places), 0, size)
    low = np.minimum(places.astype(np.int64), size - 1)
    part = np.where(low >= size - 1, 0.0, places - low)
    high = np.minimum(low + 1, size - 1)
    first, last = int(low[0, 0]), int(high[-1, -1])  # positions are ascending
    width = last + 1 - first
    at = np.arange(cells)[:, None] * width - first
    share = inside / count
    matrix = np.bincount((at + low).reshape(-1), ((1 - part) * share).reshape(-1), cells * width)
    matrix += np.bincount((at + high).reshape(-1), (part * share).reshape(-1), cells * width)
    return matrix.reshape(cells, width).astype(dtype), slice(first, last + 1)


def _in_c(k: Call, x: Array, images: Array, boxes: Array, out: Array, spreads: bool) -> bool:
    """Fill `out`, or add its gradients to X; return False if C cannot."""
    if aligned is None or not x.dtype == out.dtype == np.float32 or not x.size or len(images) != len(boxes):
        return False
    corners = boxes.astype(np.float64) * k.attrs["spatial_scale"]
    if not (np.abs(corners) < _NEAR).all():
        return False
    sizes, image = (*x.shape, *out.shape[2:]), np.ascontiguousarray(images, np.int64)
    # X is written only if gradients are spread.
    target = x if x.flags.c_contiguous and x.flags.writeable else np.array(x, order="C")
    aligned.align(target, image, corners, out, sizes, k.attrs["sampling_ratio"], spreads, thread_count())
    return True


@op("roi_align", "X ROIs RoisLod?", "Out", {**_POOL, "sampling_ratio": -1}, infer=_infer, grad=True, lod="kernel")
def roi_align(k: Call, x: Array, rois: Array, lengths: Array) -> Array:
    """Out = the mean of samples between pixels in each cell of a grid over each region. On the host."""
    features, boxes = k.dev.download(x), k.dev.download(rois)
    images = region_images(k, rois, lengths)
    out = np.empty((boxes.shape[0], x.shape[1], k.attrs["pooled_height"], k.attrs["pooled_width"]), features.dtype)
    if _in_c(k, features, images, boxes, out, False):
        return k.dev.upload(out)
    for n, (image, box) in enumerate(zip(images, boxes)):
        s = _Samples(k.attrs, box, features.shape[2], features.shape[3], features.dtype)
        out[n] = s.rows @ features[image][s.window] @ s.columns.T
    return k.dev.upload(out)


@gradient("roi_align", "X ROIs RoisLod Out@GRAD", "X@GRAD")
def roi_align_grad(k: Call, x: Array, rois: Array, lengths: Array, dout: Array) -> Array:
    boxes, d = k.dev.download(rois), k.dev.download(dout)
    images, dx = region_images(k, rois, lengths), np.zeros(x.shape, d.dtype)
    if _in_c(k, dx, images, boxes, np.require(d, requirements=["C", "W"]), True):
        return k.dev.upload(dx)
    for n, (image, box) in enumerate(zip(images, boxes)):
        s = _Samples(k.attrs, box, x.shape[2], x.shape[3], d.dtype)
        dx[image][s.window] += s.rows.T @ d[n] @ s.columns
    return k.dev.upload(dx)
