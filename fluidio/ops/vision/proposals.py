"""Proposed regions: generate_proposals, and distribution over the levels of a feature pyramid. On the host."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import op
from fluidio.ops.vision.nms import area, keep_apart
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__ = ["decode", "offsets"]

_LARGEST_LOG = math.log(1000.0 / 16.0)


def decode(anchors: Array, deltas: Array, variances: Array | None = None, largest: float = math.inf) -> Array:
    """Apply deltas to anchors, in whole pixels: a side of n pixels goes from 0 to n - 1."""
    kind = anchors.dtype.type
    size = anchors[:, 2:] - anchors[:, :2] + kind(1)
    centre = anchors[:, :2] + kind(0.5) * size
    moves = deltas if variances is None else variances * deltas
    middle = moves[:, :2] * size + centre
    half = np.exp(np.minimum(moves[:, 2:], kind(largest))) * size / kind(2)
    return np.concatenate([middle - half, middle + half - kind(1)], axis=1)


def offsets(counts: Any) -> Any:
    """Return the LoD level of sequences with these lengths."""
    return (np.concatenate([[0], np.cumsum(np.asarray(counts, np.int64))]).astype(np.int64),)


def _infer_generate(c: InferContext) -> None:
    c.set("RpnRois", (-1, 4), c.dtype("Anchors"))
    c.set("RpnRoiProbs", (-1, 1), c.dtype("Scores"))


def _of_image(
    attrs: dict[str, Any], scores: Array, deltas: Array, info: Array, anchors: Array, variances: Array
) -> tuple[Array, Array]:
    """Return the boxes and scores of one image after suppression."""
    order = np.argsort(-scores, kind="stable")
    if 0 < attrs["pre_nms_topN"] < order.size:
        order = order[: attrs["pre_nms_topN"]]
    boxes = decode(anchors[order], deltas[order], variances[order], _LARGEST_LOG)
    limit = np.array([info[1], info[0]] * 2, boxes.dtype) - 1
    boxes = np.maximum(np.minimum(boxes, limit), 0)
    good = _large_enough(boxes, info, attrs["min_size"])
    boxes, left = boxes[good], scores[order][good]
    if attrs["nms_thresh"] > 0:
        kept = keep_apart(boxes, attrs["nms_thresh"], attrs["eta"], False, attrs["post_nms_topN"])
        boxes, left = boxes[kept], left[kept]
    return boxes, left


def _large_enough(boxes: Array, info: Array, min_size: float) -> Array:
    """Return which boxes have at least min_size in the original image and their centre within the scaled one."""
    sides = boxes[:, 2:] - boxes[:, :2]
    original = sides / info[2] + 1
    centre = boxes[:, :2] + (sides + 1) / 2
    return (original >= max(min_size, 1.0)).all(axis=1) & (centre <= info[[1, 0]]).all(axis=1)


@op(
    "generate_proposals",
    "Scores BboxDeltas ImInfo Anchors Variances",
    "RpnRois RpnRoiProbs RpnRoisLod?",
    {"pre_nms_topN": 0, "post_nms_topN": 0, "nms_thresh": 0.0, "min_size": 0.0, "eta": 1.0},
    infer=_infer_generate,
    grad=False,
    lod="kernel",
)
def generate_proposals(
    k: Call, scores: Array, deltas: Array, info: Array, anchors: Array, variances: Array
) -> tuple[Array, ...]:
    """RpnRois, RpnRoiProbs = the best non-overlapping boxes of each image; RpnRoisLod = where each image ends."""
    s, d, i, a, v = (k.dev.download(x) for x in (scores, deltas, info, anchors, variances))
    a, v = a.reshape(-1, 4), v.reshape(-1, 4)
    per_cell = s.shape[1]
    found = []
    for n in range(s.shape[0]):
        moves = d[n].reshape(per_cell, 4, *d.shape[2:]).transpose(2, 3, 0, 1).reshape(-1, 4)
        found.append(_of_image(k.attrs, s[n].transpose(1, 2, 0).reshape(-1), moves, i[n], a, v))
    counts = [boxes.shape[0] for boxes, _ in found]
    k.out_lods["RpnRois"] = k.out_lods["RpnRoiProbs"] = offsets(counts)
    boxes = np.concatenate([boxes for boxes, _ in found])
    left = np.concatenate([left for _, left in found]).reshape(-1, 1)
    return k.dev.upload(boxes), k.dev.upload(left), k.dev.upload(np.cumsum(counts, dtype=np.int64))


def _infer_distribute(c: InferContext) -> None:
    for index in range(len(c.op.output("MultiFpnRois"))):
        c.set("MultiFpnRois", (-1, 4), c.dtype("FpnRois"), c.input("FpnRois").lod_level, index)
    c.set("RestoreIndex", (-1, 1), "int32")


def _images(k: Call, slot: str, rows: int) -> Array:
    """Return the image of each row."""
    lod = k.lod(slot)
    if not lod:
        raise EnforceNotMet(f"{slot} must be a LoDTensor in which the boxes of each image are one sequence")
    return np.repeat(np.arange(len(lod[-1]) - 1), np.diff(lod[-1]))


@op(
    "distribute_fpn_proposals",
    "FpnRois",
    "MultiFpnRois* RestoreIndex",
    {"min_level": 0, "max_level": 0, "refer_level": 0, "refer_scale": 0},
    infer=_infer_distribute,
    grad=False,
    lod="kernel",
)
def distribute_fpn_proposals(k: Call, rois: Array) -> KernelResult:
    """MultiFpnRois = the boxes of each level, divided by size; RestoreIndex = where each box went."""
    a, boxes = k.attrs, k.dev.download(rois)
    image = _images(k, "FpnRois", boxes.shape[0])
    images = len(k.lod("FpnRois")[-1]) - 1
    scale = np.sqrt(area(boxes, False).astype(boxes.dtype))
    level = np.floor(np.log2(scale / boxes.dtype.type(a["refer_scale"]) + boxes.dtype.type(1e-6)) + a["refer_level"])
    level = np.clip(level, a["min_level"], a["max_level"]).astype(np.int64)
    rows = [np.flatnonzero(level == n) for n in range(a["min_level"], a["max_level"] + 1)]
    k.out_lods["MultiFpnRois"] = [offsets(np.bincount(image[row], minlength=images)) for row in rows]
    restore = np.empty((boxes.shape[0], 1), np.int32)
    restore[np.concatenate(rows), 0] = np.arange(boxes.shape[0])
    return [k.dev.upload(boxes[row]) for row in rows], k.dev.upload(restore)


def _infer_collect(c: InferContext) -> None:
    c.set("FpnRois", (c.attrs["post_nms_topN"], 4), c.inputs("MultiLevelRois")[0].dtype, 1)


@op(
    "collect_fpn_proposals",
    "MultiLevelRois* MultiLevelScores*",
    "FpnRois",
    {"post_nms_topN": 0},
    infer=_infer_collect,
    grad=False,
    lod="kernel",
)
def collect_fpn_proposals(k: Call, rois: list[Array], scores: list[Array]) -> Array:
    """FpnRois = the boxes with the best scores among all levels, image by image.

    Fluid: boxes after an image without any were assigned to another image, and the LoD lacked images at the end that
    had no boxes left. Here every box stays with its image.
    """
    lods = k.lods["MultiLevelRois"]
    image = np.concatenate([np.repeat(np.arange(len(lod[-1]) - 1), np.diff(lod[-1])) for lod in lods])
    boxes = np.concatenate([k.dev.download(part).reshape(-1, 4) for part in rois])
    score = np.concatenate([k.dev.download(part).reshape(-1) for part in scores])
    best = np.argsort(-score, kind="stable")[: k.attrs["post_nms_topN"]]
    best = best[np.argsort(image[best], kind="stable")]
    k.out_lods["FpnRois"] = offsets(np.bincount(image[best], minlength=len(lods[0][-1]) - 1))
    return k.dev.upload(boxes[best])


def _infer_assign(c: InferContext) -> None:
    c.same("DecodeBox", "TargetBox")
    c.same("OutputAssignBox", "PriorBox")


@op(
    "box_decoder_and_assign",
    "PriorBox PriorBoxVar? TargetBox BoxScore",
    "DecodeBox OutputAssignBox",
    {"box_clip": 4.135},
    infer=_infer_assign,
    grad=False,
)
def box_decoder_and_assign(
    k: Call, prior: Array, variance: Array | None, target: Array, scores: Array
) -> tuple[Array, Array]:
    """DecodeBox = the box of every class; OutputAssignBox = the box of the best class that is not background."""
    p, t, s = (k.dev.download(x) for x in (prior, target, scores))
    rows, classes = s.shape
    weights = np.ones(4, p.dtype) if variance is None else k.dev.download(variance).reshape(-1)[:4]
    boxes = decode(np.repeat(p[:, :4], classes, axis=0), t.reshape(-1, 4), weights[None], k.attrs["box_clip"]).reshape(
        rows, classes, 4
    )
    assigned = p.copy()
    if classes > 1:
        best = s[:, 1:].argmax(axis=1) + 1
        chosen = s[np.arange(rows), best] > -1
        assigned[chosen] = boxes[np.arange(rows), best][chosen]
    return k.dev.upload(boxes.reshape(rows, 4 * classes)), k.dev.upload(assigned)
