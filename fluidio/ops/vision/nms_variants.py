"""Other kinds of suppression: matrix_nms lowers scores, locality_aware_nms merges neighbours first. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.vision.nms import compiled, jaccard, keep_apart
from fluidio.ops.vision.polygons import polygon_overlap, polygons_apart
from fluidio.ops.vision.proposals import offsets
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer(c: InferContext) -> None:
    boxes = c.shape("BBoxes")
    c.check(len(boxes) == 3, f"BBoxes must have shape [N, boxes, sides], got {list(boxes)}")
    level = 1 if c.op.type == "matrix_nms" else None
    c.set("Out", (boxes[1], boxes[2] + 2), c.dtype("BBoxes"), level)
    c.set("Index", (boxes[1], 1), "int64", level)


def _ordered(scores: Array, threshold: float, most: int) -> Array:
    candidates = np.flatnonzero(scores > np.float32(threshold))
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    return order[:most] if most > -1 else order


def _decayed(boxes: Array, scores: Array, attrs: dict[str, Any]) -> Array:
    """Return the scores, best first, lowered according to the overlaps with better boxes."""
    count = boxes.shape[0]
    if compiled is not None and boxes.dtype == scores.dtype == np.float32 and boxes.shape[1] == 4:
        factors, work = np.empty(count, np.float32), np.empty((2, count), np.float32)
        kind = attrs["normalized"], attrs["use_gaussian"], attrs["gaussian_sigma"]
        compiled.decay(np.ascontiguousarray(boxes), factors, work, *kind)
        return scores * factors
    table = np.stack([jaccard(box, boxes, attrs["normalized"]) for box in boxes])
    table = np.tril(table, -1)
    most = table.max(axis=1)
    if attrs["use_gaussian"]:
        decay = np.exp((most[None] ** 2 - table**2) * boxes.dtype.type(attrs["gaussian_sigma"]))
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            decay = (1 - table) / (1 - most[None])
    decay[np.triu_indices(count)] = 1
    return scores * decay.min(axis=1)


def _matrix(boxes: Array, scores: Array, attrs: dict[str, Any]) -> tuple[Array, Array]:
    """Return the detections of one image and the indices of their boxes."""
    kinds, values, picks = [], [], []
    for kind in range(scores.shape[0]):
        order = _ordered(scores[kind], attrs["score_threshold"], attrs["nms_top_k"])
        if kind == attrs["background_label"] or not order.size:
            continue
        lowered = _decayed(boxes[order], scores[kind][order], attrs)
        good = lowered > np.float32(attrs["post_threshold"])
        kinds.append(np.full(int(good.sum()), kind))
        values.append(lowered[good])
        picks.append(order[good])
    if not picks:
        return np.zeros((0, boxes.shape[1] + 2), boxes.dtype), np.zeros(0, np.int64)
    kind_of, value, pick = (np.concatenate(part) for part in (kinds, values, picks))
    best = np.argsort(-value, kind="stable")
    if attrs["keep_top_k"] > -1:
        best = best[: attrs["keep_top_k"]]
    rows = np.concatenate([kind_of[best, None], value[best, None], boxes[pick[best]]], axis=1)
    return rows.astype(boxes.dtype), pick[best]


@op(
    "matrix_nms",
    "BBoxes Scores",
    "Out Index?",
    {
        "background_label": 0,
        "score_threshold": 0.0,
        "post_threshold": 0.0,
        "nms_top_k": 0,
        "keep_top_k": 0,
        "normalized": True,
        "use_gaussian": False,
        "gaussian_sigma": 2.0,
    },
    infer=_infer,
    grad=False,
    lod="kernel",
)
def matrix_nms(k: Call, boxes: Array, scores: Array) -> tuple[Array, Array]:
    """Out = rows [label, score, box] with lower scores where better boxes overlap; Index = the boxes' indices."""
    b, s = k.dev.download(boxes), k.dev.download(scores)
    found = [_matrix(b[n], s[n], k.attrs) for n in range(b.shape[0])]
    k.out_lods["Out"] = k.out_lods["Index"] = offsets([rows.shape[0] for rows, _ in found])
    places = np.concatenate([pick + n * b.shape[1] for n, (_, pick) in enumerate(found)])
    rows = np.concatenate([rows for rows, _ in found])
    return k.dev.upload(rows), k.dev.upload(places.astype(np.int32).reshape(-1, 1))


def _overlap(a: Array, b: Array, normalized: bool) -> float:
    if a.size > 4:
        return polygon_overlap(a, b)
    return float(jaccard(a, b[None], normalized)[0])


def _merged(boxes: Array, scores: Array, attrs: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Merge each box with the previous one if they overlap; return boxes, scores and which boxes remain."""
    boxes, scores = np.ascontiguousarray(boxes).copy(), scores.copy()
    stands = np.zeros(scores.size, bool)
    if compiled is not None and boxes.dtype == scores.dtype == np.float32 and boxes.shape[1] == 4:
        compiled.merge(boxes, scores, stands, attrs["nms_threshold"], attrs["normalized"])
        return boxes, scores, stands
    last = 0
    for i in range(1, scores.size):
        if _overlap(boxes[i], boxes[last], attrs["normalized"]) > attrs["nms_threshold"]:
            total = scores[i] + scores[last]
            boxes[last] = (boxes[i] * scores[i] + boxes[last] * scores[last]) / total
            scores[last] = total
        else:
            stands[last] = True
            last = i
    stands[last] = True
    return boxes, scores, stands


def _local(boxes: Array, scores: Array, attrs: dict[str, Any]) -> Array:
    """Return the detections of one image."""
    found, values = [], []
    for kind in range(scores.shape[0]):
        if kind == attrs["background_label"]:
            continue
        joined, value, stands = _merged(boxes, scores[kind], attrs)
        order = _ordered(np.where(stands, value, -np.inf), attrs["score_threshold"], attrs["nms_top_k"])
        if boxes.shape[1] > 4:
            order = order[polygons_apart(joined[order], attrs)]
        else:
            order = order[keep_apart(joined[order], attrs["nms_threshold"], attrs["nms_eta"], attrs["normalized"])]
        found.append(np.concatenate([np.full((order.size, 1), kind), value[order, None], joined[order]], axis=1))
        values.append(value[order])
    rows = np.concatenate(found) if found else np.zeros((0, boxes.shape[1] + 2))
    if -1 < attrs["keep_top_k"] < rows.shape[0]:
        best = np.argsort(-np.concatenate(values), kind="stable")[: attrs["keep_top_k"]]
        rows = rows[best[np.argsort(rows[best, 0], kind="stable")]]
    return rows.astype(boxes.dtype)


@op(
    "locality_aware_nms",
    "BBoxes Scores",
    "Out",
    {
        "background_label": -1,
        "score_threshold": 0.0,
        "nms_top_k": 0,
        "nms_threshold": 0.3,
        "nms_eta": 1.0,
        "keep_top_k": 0,
        "normalized": True,
    },
    infer=_infer,
    grad=False,
    lod="kernel",
)
def locality_aware_nms(k: Call, boxes: Array, scores: Array) -> Array:
    """Out = rows [label, score, box] after merging overlapping neighbours in the list."""
    b, s = k.dev.download(boxes), k.dev.download(scores)
    found = [_local(b[n], s[n], k.attrs) for n in range(b.shape[0])]
    counts = [rows.shape[0] for rows in found]
    if not sum(counts):
        # Fluid: without detections, one row with a single -1.
        k.out_lods["Out"] = offsets([1] + [0] * (len(counts) - 1))
        return k.dev.upload(np.full((1, 1), -1, b.dtype))
    k.out_lods["Out"] = offsets(counts)
    return k.dev.upload(np.concatenate(found))
