"""Non-maximum suppression. On the host."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.sequence.ragged import last_level
from fluidio.ops.vision.nms import keep_apart
from fluidio.ops.vision.polygons import polygons_apart
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS: dict[str, Any] = {
    "background_label": 0,
    "score_threshold": 0.0,
    "nms_top_k": -1,
    "keep_top_k": -1,
    "nms_threshold": 0.3,
    "nms_eta": 1.0,
    "normalized": True,
}


def suppress(boxes: Array, scores: Array, attrs: dict[str, Any]) -> Array:
    """Return the indices of the boxes of one class that are kept, best first."""
    candidates = np.flatnonzero(scores > attrs["score_threshold"])
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    if attrs["nms_top_k"] > -1:
        order = order[: attrs["nms_top_k"]]
    if boxes.shape[1] > 4:
        return order[polygons_apart(boxes[order], attrs)]
    return order[keep_apart(boxes[order], attrs["nms_threshold"], attrs["nms_eta"], attrs["normalized"])]


def _of_image(boxes: Array, scores: Array, attrs: dict[str, Any]) -> tuple[Array, Array]:
    """Return the detections [label, score, box] of one image and the indices of their boxes, class by class.

    Boxes are [n, size] for all classes or [n, classes, size], scores [classes, n]; the size is 4, or that of corners.
    """
    wide = (boxes.shape[0], scores.shape[0], boxes.shape[-1])
    by_class = boxes if boxes.ndim == 3 else np.broadcast_to(boxes[:, None], wide)
    labels, picks = [], []
    for label in range(scores.shape[0]):
        if label != attrs["background_label"]:
            kept = suppress(by_class[:, label], scores[label], attrs)
            labels.append(np.full(kept.size, label))
            picks.append(kept)
    label_of = np.concatenate(labels) if labels else np.zeros(0, np.int64)
    pick = np.concatenate(picks) if picks else np.zeros(0, np.int64)
    if -1 < attrs["keep_top_k"] < pick.size:
        best = np.argsort(-scores[label_of, pick], kind="stable")[: attrs["keep_top_k"]]
        best = best[np.argsort(label_of[best], kind="stable")]
        label_of, pick = label_of[best], pick[best]
    if boxes.ndim == 3:
        order = np.lexsort((pick, label_of))  # Fluid: by index if each class has its own boxes
        label_of, pick = label_of[order], pick[order]
    rows = np.concatenate([label_of[:, None], scores[label_of, pick][:, None], by_class[pick, label_of]], axis=1)
    return rows.astype(boxes.dtype), pick


def _infer(c: InferContext) -> None:
    boxes, scores = c.shape("BBoxes"), c.shape("Scores")
    if len(scores) == 2 and len(boxes) == 3:  # boxes by class, images by LoD
        c.check(
            all(a == b or -1 in (a, b) for a, b in zip(boxes[1:], (scores[1], 4))),
            f"for Scores {list(scores)}, BBoxes must have shape [{scores[0]}, {scores[1]}, 4]; got {list(boxes)}",
        )
        c.set("Out", (-1, 6), c.dtype("BBoxes"), 1)
        c.set("Index", (-1, 1), VarType.INT64, 1)
        return
    c.check(len(scores) == 3, f"Scores must have shape [N, classes, boxes], got {list(scores)}")
    right = len(boxes) == 3 and boxes[2] in (4, 8, 16, 24, 32, -1)
    c.check(
        right,
        f"BBoxes must have shape [N, boxes, sides] with 4 sides, or 8, 16, 24 or 32 for corners; got {list(boxes)}",
    )
    c.check(
        boxes[1] == scores[-1] or min(boxes[1], scores[-1]) < 0,
        f"BBoxes holds {boxes[1]} boxes, but Scores is for {scores[-1]}",
    )
    c.set("Out", (boxes[1], boxes[2] + 2), c.dtype("BBoxes"), 1)
    c.set("Index", (boxes[1], 1), VarType.INT64, 1)  # Fluid: the indices are int32 nevertheless


def _images(k: Call, boxes: Array, scores: Array) -> tuple[list[tuple[Any, Any]], list[int]]:
    """Return the boxes and scores [classes, n] of each image, and the index of its first box."""
    if boxes.ndim == 3 and scores.ndim == 3:
        return list(zip(boxes, scores)), [i * boxes.shape[1] for i in range(boxes.shape[0])]
    if boxes.ndim != 3 or scores.ndim != 2:
        raise EnforceNotMet(
            f"Scores must have 3 dims, or 2 beside BBoxes of 3; got BBoxes {list(boxes.shape)} and Scores "
            f"{list(scores.shape)}"
        )
    # Fluid: the LoD of the boxes defines the images, whatever that of the scores; it crashes without one.
    ends = last_level(k, "BBoxes" if k.lod("BBoxes") else "Scores", boxes.shape[0]).tolist()
    pairs = list(itertools.pairwise(ends))
    classes = boxes.shape[1]
    return [(boxes[a:b], scores[a:b].T) for a, b in pairs], [a * classes for a, _ in pairs]


def _detect(k: Call, boxes: Array, scores: Array) -> tuple[Array, Array]:
    b, s = k.dev.download(boxes), k.dev.download(scores)
    images, starts = _images(k, b, s)
    found = [_of_image(*image, k.attrs) for image in images]
    counts = [rows.shape[0] for rows, _ in found]
    if not sum(counts):
        # Fluid: without detections, one row with a single -1.
        k.out_lods["Out"] = k.out_lods["Index"] = (np.array([0, 1], np.int64),)
        return np.full((1, 1), -1, b.dtype), np.full((1, 1), -1, np.int32)
    k.out_lods["Out"] = k.out_lods["Index"] = (np.cumsum([0, *counts]).astype(np.int64),)
    if s.ndim == 2:  # Fluid: the index of the box among those of all classes
        found = [(rows, pick * b.shape[1] + rows[:, 0].astype(np.int64)) for rows, pick in found]
    places = [pick + start for start, (_, pick) in zip(starts, found)]
    rows = np.concatenate([rows for rows, _ in found])
    return rows, np.concatenate(places).astype(np.int32).reshape(-1, 1)


@op("multiclass_nms", "BBoxes Scores", "Out", _ATTRS, infer=_infer, grad=False, lod="kernel")
def multiclass_nms(k: Call, boxes: Array, scores: Array) -> Array:
    """Out = rows [label, score, box] of the boxes that survive suppression; one sequence for each image."""
    return k.dev.upload(_detect(k, boxes, scores)[0])


@op("multiclass_nms2", "BBoxes Scores", "Out Index?", _ATTRS, infer=_infer, grad=False, lod="kernel")
def multiclass_nms2(k: Call, boxes: Array, scores: Array) -> tuple[Array, Array]:
    """Out, Index = like multiclass_nms, and the index of each box over all images; no rows without detections."""
    rows, places = _detect(k, boxes, scores)
    if rows.shape[1] == 1:
        images = len(_images(k, boxes, scores)[1])
        k.out_lods["Out"] = k.out_lods["Index"] = (np.zeros(images + 1, np.int64),)
        rows, places = np.zeros((0, boxes.shape[-1] + 2), rows.dtype), np.zeros((0, 1), places.dtype)
    return k.dev.upload(rows), k.dev.upload(places)
