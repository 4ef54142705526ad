"""Boxes for object detection: priors, anchors, overlaps, and boxes as offsets from priors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import op
from fluidio.ops.threads import thread_count
from fluidio.ops.vision.nms import compiled
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def expanded_ratios(ratios: Sequence[float], flip: bool) -> list[float]:
    """Return aspect ratios without repeats, starting with 1, and with their inverses if `flip`."""
    found = [1.0]
    for ratio in ratios:
        if all(abs(ratio - other) >= 1e-6 for other in found):
            found.append(float(ratio))
            if flip:
                found.append(1.0 / ratio)
    return found


def _half_sizes(attrs: dict[str, Any]) -> list[tuple[float, float]]:
    """Return half the widths and heights of the priors of one cell, in pixels and in Fluid's order."""
    halves = []
    ratios = expanded_ratios(attrs["aspect_ratios"], attrs["flip"])
    for index, size in enumerate(attrs["min_sizes"]):
        by_ratio = [(size * math.sqrt(r) / 2, size / math.sqrt(r) / 2) for r in ratios]
        largest = []
        if attrs["max_sizes"]:
            side = math.sqrt(size * attrs["max_sizes"][index]) / 2
            largest = [(side, side)]
        if attrs["min_max_aspect_ratios_order"]:
            halves += [by_ratio[0], *largest, *by_ratio[1:]]
        else:
            halves += [*by_ratio, *largest]
    return halves


def _infer_priors(c: InferContext, count: int, slots: tuple[str, str] = ("Boxes", "Variances")) -> None:
    height, width = c.shape("Input")[2:]
    shape: tuple[int, ...] = (height, width, count, 4)
    if c.attrs.get("flatten_to_2d"):
        shape = (-1, 4)
    for slot in slots:
        c.set(slot, shape, c.dtype("Input"), 0)


def _infer_prior_box(c: InferContext) -> None:
    a = c.attrs
    sizes, largest = a["min_sizes"], a["max_sizes"]
    c.check(
        not largest or len(largest) == len(sizes),
        f"max_sizes has {len(largest)} entries, but min_sizes has {len(sizes)}",
    )
    grows = all(most > least for least, most in zip(sizes, largest))
    c.check(grows, f"max_sizes {largest} must be larger than min_sizes {sizes}")
    _infer_priors(c, len(_half_sizes(a)))


def _centres(k: Call, feature: Array, image: Array) -> tuple[Any, Any, float, float]:
    """Return the centres of all cells in pixels, and the size of a cell."""
    height, width = feature.shape[2:]
    step_w, step_h = k.attrs["step_w"], k.attrs["step_h"]
    if not step_w or not step_h:  # Fluid: computes both if either is not given
        step_w, step_h = image.shape[3] / width, image.shape[2] / height
    xs = (np.arange(width) + k.attrs["offset"]) * step_w
    ys = (np.arange(height) + k.attrs["offset"]) * step_h
    return xs, ys, step_w, step_h


def _with_variances(k: Call, boxes: Array, dtype: npt.DTypeLike) -> tuple[Array, Array]:
    variances = np.broadcast_to(np.array(k.attrs["variances"], dtype), boxes.shape).copy()
    return k.dev.upload(boxes.astype(dtype)), k.dev.upload(variances)


@op(
    "prior_box",
    "Input Image",
    "Boxes Variances",
    {
        "min_sizes": [],
        "max_sizes": [],
        "aspect_ratios": [],
        "variances": [0.1, 0.1, 0.2, 0.2],
        "flip": True,
        "clip": True,
        "step_w": 0.0,
        "step_h": 0.0,
        "offset": 0.5,
        "min_max_aspect_ratios_order": False,
    },
    infer=_infer_prior_box,
    grad=False,
    lod="none",
)
def prior_box(k: Call, feature: Array, image: Array) -> KernelResult:
    """Boxes [H, W, priors, 4] = boxes of several sizes and shapes around each cell's centre, relative to Image."""
    xs, ys, _, _ = _centres(k, feature, image)
    halves = np.array(_half_sizes(k.attrs))
    boxes = np.empty((ys.size, xs.size, len(halves), 4))
    for side, sign in ((0, -1), (2, 1)):
        boxes[..., side] = (xs[None, :, None] + sign * halves[:, 0]) / image.shape[3]
        boxes[..., side + 1] = (ys[:, None, None] + sign * halves[:, 1]) / image.shape[2]
    if k.attrs["clip"]:
        np.clip(boxes, 0, 1, out=boxes)
    return _with_variances(k, boxes, feature.dtype)


def _infer_density(c: InferContext) -> None:
    a = c.attrs
    _infer_priors(c, sum(d * d for d in a["densities"]) * len(a["fixed_ratios"]))


@op(
    "density_prior_box",
    "Input Image",
    "Boxes Variances",
    {
        "variances": [0.1, 0.1, 0.2, 0.2],
        "clip": True,
        "flatten_to_2d": False,
        "step_w": 0.0,
        "step_h": 0.0,
        "offset": 0.5,
        "fixed_sizes": [],
        "fixed_ratios": [],
        "densities": [],
    },
    infer=_infer_density,
    grad=False,
    lod="none",
)
def density_prior_box(k: Call, feature: Array, image: Array) -> KernelResult:
    """Boxes = boxes of fixed sizes, several of them spread evenly over each cell."""
    a = k.attrs
    xs, ys, step_w, step_h = _centres(k, feature, image)
    step = int((step_w + step_h) * 0.5)
    shifts, halves = [], []
    for size, density in zip(a["fixed_sizes"], a["densities"]):
        shift = int(step / density)
        for ratio in a["fixed_ratios"]:
            for i in range(density):
                for j in range(density):
                    shifts.append((j * shift, i * shift, shift / 2))
                    halves.append((size * math.sqrt(ratio) / 2, size / math.sqrt(ratio) / 2))
    boxes = np.empty((ys.size, xs.size, len(shifts), 4), feature.dtype)
    moved, half = np.array(shifts).reshape(-1, 3), np.array(halves).reshape(-1, 2)
    for dim, (centres, size) in enumerate(((xs[None, :, None], image.shape[3]), (ys[:, None, None], image.shape[2]))):
        at = centres - step / 2 + moved[:, 2] + moved[:, dim]
        low, high = np.maximum((at - half[:, dim]) / size, 0), np.minimum((at + half[:, dim]) / size, 1)
        boxes[..., dim], boxes[..., dim + 2] = (np.clip(side, 0, 1) if a["clip"] else side for side in (low, high))
    return _with_variances(k, boxes.reshape(-1, 4) if a["flatten_to_2d"] else boxes, feature.dtype)


def _infer_anchors(c: InferContext) -> None:
    count = len(c.attrs["anchor_sizes"]) * len(c.attrs["aspect_ratios"])
    _infer_priors(c, count, ("Anchors", "Variances"))


@op(
    "anchor_generator",
    "Input",
    "Anchors Variances",
    {"anchor_sizes": [], "aspect_ratios": [], "variances": [0.1, 0.1, 0.2, 0.2], "stride": [16.0, 16.0], "offset": 0.5},
    infer=_infer_anchors,
    grad=False,
    lod="none",
)
def anchor_generator(k: Call, feature: Array) -> KernelResult:
    """Anchors [H, W, anchors, 4] = boxes in pixels around the centre of each cell."""
    a = k.attrs
    step_w, step_h = a["stride"]
    height, width = feature.shape[2:]
    sizes = []
    for ratio in a["aspect_ratios"]:
        base_w = math.floor(math.sqrt(step_w * step_h / ratio) + 0.5)
        base_h = math.floor(base_w * ratio + 0.5)
        sizes += [(s / step_w * base_w, s / step_h * base_h) for s in a["anchor_sizes"]]
    halves = (np.array(sizes) - 1) / 2
    xs = np.arange(width) * step_w + a["offset"] * (step_w - 1)
    ys = np.arange(height) * step_h + a["offset"] * (step_h - 1)
    boxes = np.empty((height, width, len(sizes), 4))
    for side, sign in ((0, -1), (2, 1)):
        boxes[..., side] = xs[None, :, None] + sign * halves[:, 0]
        boxes[..., side + 1] = ys[:, None, None] + sign * halves[:, 1]
    return _with_variances(k, boxes, feature.dtype)


def overlaps(xp: ArrayLibrary | ModuleType, x: Array, y: Array, normalized: bool) -> Array:
    """Return intersection over union of each box of X with each of Y."""
    found = _in_c(x, y, normalized, 0.0, 1e-12)
    if found is not None:
        return found
    shared, union = shared_and_union(xp, x, y, normalized)
    return shared / xp.maximum(union, 1e-12).astype(x.dtype, copy=False)


def _in_c(x: Array, y: Array, normalized: bool, tiny: float, least: float) -> Array | None:
    """Return the overlaps of finite boxes in single precision, else None."""
    for boxes in (x, y):
        if compiled is None or type(boxes) is not np.ndarray or boxes.dtype != np.float32 or boxes.shape[1:] != (4,):
            return None
        if not np.isfinite(boxes).all():
            return None
    out = np.empty((len(x), len(y)), np.float32)
    rows, across = np.ascontiguousarray(x), np.ascontiguousarray(y.T)
    compiled.overlaps(rows, across, out, 0.0 if normalized else 1.0, tiny, least, thread_count())
    return out


def shared_and_union(xp: ArrayLibrary | ModuleType, x: Array, y: Array, normalized: bool) -> tuple[Array, Array]:
    """Return the areas of intersection and union of each box of X with each of Y."""
    extra = 0 if normalized else 1
    across = xp.ascontiguousarray(y.T)

    def side(dim: int) -> Array:
        low = xp.maximum(x[:, dim, None], across[dim])
        high = xp.minimum(x[:, dim + 2, None], across[dim + 2])
        return xp.maximum(high - low + extra, 0)

    shared = side(0) * side(1)

    def area(b: Array) -> Array:
        return (b[:, 2] - b[:, 0] + extra) * (b[:, 3] - b[:, 1] + extra)

    return shared, area(x)[:, None] + area(y)[None, :] - shared


def _infer_iou(c: InferContext) -> None:
    for slot in ("X", "Y"):
        shape = c.shape(slot)
        c.check(len(shape) == 2 and shape[1] in (4, -1), f"{slot} must have shape [N, 4], got {list(shape)}")
    c.set("Out", (c.shape("X")[0], c.shape("Y")[0]), c.dtype("X"), c.input("X").lod_level)


@op("iou_similarity", "X Y", "Out", {"box_normalized": True}, infer=_infer_iou, grad=False)
def iou_similarity(k: Call, x: Array, y: Array) -> Array:
    """Out[i, j] = intersection over union of box i of X and box j of Y."""
    found = _in_c(x, y, k.attrs["box_normalized"], 1e-10, -math.inf)
    if found is not None:
        return found
    shared, union = shared_and_union(k.xp, x, y, k.attrs["box_normalized"])
    return shared / (union + x.dtype.type(1e-10))


def _infer_box_coder(c: InferContext) -> None:
    target, prior = c.shape("TargetBox"), c.shape("PriorBox")
    if c.attrs["code_type"] == "encode_center_size":
        c.set("OutputBox", (target[0], prior[0], 4), c.dtype("TargetBox"), c.input("TargetBox").lod_level)
    else:
        c.check(len(target) == 3, f"TargetBox must have 3 dims to be decoded, its shape is {list(target)}")
        c.set("OutputBox", target, c.dtype("TargetBox"), c.input("PriorBox").lod_level)


@op(
    "box_coder",
    "PriorBox PriorBoxVar? TargetBox",
    "OutputBox",
    {"code_type": "encode_center_size", "box_normalized": True, "axis": 0, "variance": []},
    infer=_infer_box_coder,
    grad=False,
    lod="kernel",
)
def box_coder(k: Call, prior: Array, prior_variance: Array | None, target: Array) -> Array:
    """OutputBox = boxes encoded as offsets from priors, or decoded from them."""
    xp, a = k.xp, k.attrs
    k.out_lods["OutputBox"] = k.lod("TargetBox" if a["code_type"] == "encode_center_size" else "PriorBox")
    extra = 0 if a["box_normalized"] else 1
    size = prior[:, 2:] - prior[:, :2] + extra
    centre = prior[:, :2] + size / 2
    if prior_variance is not None:
        variance = prior_variance
    else:
        variance = xp.asarray(np.array([a["variance"] or [1.0] * 4], prior.dtype))
    if a["code_type"] == "encode_center_size":
        target_size = target[:, 2:] - target[:, :2] + extra
        target_centre = (target[:, 2:] + target[:, :2]) / 2
        out = xp.empty((target.shape[0], prior.shape[0], 4), target.dtype)
        out[..., :2] = (target_centre[:, None] - centre[None]) / size[None]
        out[..., 2:] = xp.log(xp.abs(target_size[:, None] / size[None]))
        out /= variance[None]
        return out
    at = (None, slice(None)) if a["axis"] == 0 else (slice(None), None)
    moved = target * variance[at]
    new_centre = moved[..., :2] * size[at] + centre[at]
    half = xp.exp(moved[..., 2:]) * size[at] / 2
    return xp.concatenate([new_centre - half, new_centre + half - extra], axis=-1).astype(target.dtype, copy=False)


def _round(value: float) -> int:
    """Round halves up, as C does for positive numbers."""
    return math.floor(value + 0.5)


def _infer_box_clip(c: InferContext) -> None:
    c.same("Output", "Input")


@op("box_clip", "Input ImInfo", "Output", infer=_infer_box_clip, grad=False, lod="kernel")
def box_clip(k: Call, boxes: Array, info: Array) -> Array:
    """Output = boxes clipped to their image; ImInfo gives the height, width and scale for each sequence."""
    lod = k.lod("Input")
    k.out_lods["Output"] = lod
    starts = lod[-1] if lod else np.array([0, boxes.shape[0]])
    sizes = k.dev.download(info)
    out = boxes.copy()
    for i, (start, stop) in enumerate(pairwise(starts)):
        height, width, scale = (float(v) for v in sizes[i])
        for side, limit in ((0, _round(width / scale) - 1), (1, _round(height / scale) - 1)):
            out[start:stop, ..., side::2] = k.xp.maximum(k.xp.minimum(boxes[start:stop, ..., side::2], limit), 0)
    return out
