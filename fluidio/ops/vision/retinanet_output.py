"""retinanet_detection_output: detections from the boxes of several levels. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.vision.nms import keep_apart
from fluidio.ops.vision.proposals import decode, offsets
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer(c: InferContext) -> None:
    c.set("Out", (c.inputs("BBoxes")[0].shape[1], 6), c.inputs("BBoxes")[0].dtype)


def _best(scores: Array, deltas: Array, anchors: Array, threshold: float, most: int) -> tuple[Array, Array, Array]:
    """Return boxes, classes and scores of a level's best predictions."""
    flat = scores.reshape(-1)
    candidates = np.flatnonzero(flat > np.float32(threshold))
    order = candidates[np.argsort(-flat[candidates], kind="stable")]
    if most > -1:
        order = order[:most]
    anchor, kind = np.divmod(order, scores.shape[1])
    return decode(anchors[anchor], deltas[anchor]), kind, flat[order]


def _within(boxes: Array, info: Array) -> Array:
    """Return the boxes in the original image, clipped to it."""
    sides = np.floor(info[[1, 0]] / info[2] + np.float32(0.5))
    limit = np.concatenate([sides, sides]) - 1
    return np.maximum(np.minimum(boxes / info[2], limit), 0)


def _of_image(attrs: dict[str, Any], levels: list[tuple[Any, Any, Any]], info: Array, classes: int) -> Array:
    boxes = _within(np.concatenate([level[0] for level in levels]), info)
    kinds = np.concatenate([level[1] for level in levels])
    scores = np.concatenate([level[2] for level in levels])
    picks = []
    for kind in range(classes):
        mine = np.flatnonzero(kinds == kind)
        mine = mine[np.argsort(-scores[mine], kind="stable")]
        picks.append(mine[keep_apart(boxes[mine], attrs["nms_threshold"], attrs["nms_eta"], False)])
    pick = np.concatenate(picks)
    pick = pick[np.argsort(-scores[pick], kind="stable")]
    if attrs["keep_top_k"] > -1:
        pick = pick[: attrs["keep_top_k"]]
    rows = np.concatenate([kinds[pick, None] + 1, scores[pick, None], boxes[pick]], axis=1)
    return rows.astype(boxes.dtype)


@op(
    "retinanet_detection_output",
    "BBoxes* Scores* Anchors* ImInfo",
    "Out",
    {"score_threshold": 0.0, "nms_top_k": 0, "nms_threshold": 0.0, "nms_eta": 1.0, "keep_top_k": 0},
    infer=_infer,
    grad=False,
    lod="kernel",
)
def retinanet_detection_output(
    k: Call, deltas: list[Array], scores: list[Array], anchors: list[Array], info: Array
) -> Array:
    """Out = rows [class, score, box] of the non-overlapping boxes of all levels; one sequence for each image."""
    d, s, a = ([k.dev.download(x) for x in group] for group in (deltas, scores, anchors))
    i = k.dev.download(info)
    found = []
    for n in range(i.shape[0]):
        levels = []
        for level in range(len(d)):
            # Fluid: the coarsest level takes part whatever its scores.
            threshold = k.attrs["score_threshold"] if level < len(d) - 1 else 0.0
            levels.append(_best(s[level][n], d[level][n], a[level], threshold, k.attrs["nms_top_k"]))
        found.append(_of_image(k.attrs, levels, i[n], s[0].shape[2]))
    k.out_lods["Out"] = offsets([rows.shape[0] for rows in found])
    return k.dev.upload(np.concatenate(found))
