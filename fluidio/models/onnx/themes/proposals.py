"""The boxes proposed by a region proposal network."""

from __future__ import annotations

import math

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.sequences import offsets_from_lengths
from fluidio.models.onnx.table import maps

__all__: list[str] = []

_NEVER, _ANY = -3e38, np.float32(-2e38)


@maps("generate_proposals")
def generate_proposals(
    k: Op, scores: Value, deltas: Value, info: Value, anchors: Value, variances: Value
) -> tuple[Value, Value, Value]:
    if float(k.attr("eta")) < 1.0 or float(k.attr("nms_thresh")) <= 0:
        k.refuse("nms_thresh must be above 0 and eta 1: ONNX has one threshold")
    g = k.g
    count = k.dims("Scores")[1]
    if count < 0:
        k.refuse("the number of anchors of a cell is not known")
    flat = g.reshape(k("Transpose", scores, perm=[0, 2, 3, 1]), [0, -1])  # [images, boxes]
    apart = g.reshape(deltas, [0, count, 4, g.dim(deltas, 2), g.dim(deltas, 3)])
    moves = g.reshape(k("Transpose", apart, perm=[0, 3, 4, 1, 2]), [g.rows(scores), -1, 4])
    moves = k("Mul", moves, g.unsqueeze(g.reshape(variances, [-1, 4]), 0))
    boxes = _inside(k, _decoded(k, moves, g.unsqueeze(g.reshape(anchors, [-1, 4]), 0)), info)
    left = k("Where", _large_enough(k, boxes, info), _best(k, flat), g.value(_NEVER, flat))
    most = int(k.attr("post_nms_topN"))
    limit = g.constant(np.array([most])) if most > 0 else g.dim(flat, 1)
    corners = g.cast(k("Add", boxes, np.array([0, 0, 1, 1], boxes.dtype)), np.float32)
    chances = g.unsqueeze(g.cast(left, np.float32), 1)
    thresholds = np.asarray([k.attr("nms_thresh")], np.float32), np.asarray([_ANY])
    picked = g("NonMaxSuppression", corners, chances, limit, *thresholds, dtype=np.int64, rank=2)
    cells = k("Gather", picked, np.array([0, 2]), axis=1)
    images = g.squeeze(g.slice(picked, 1, 0, 1), 1)
    zeros = g.filled(g.rows(scores), 0, np.int64)
    ones = g.filled(g.shape(images), 1, np.int64)
    counts = k("ScatterElements", zeros, images, ones, axis=0, reduction="add", rank=1)
    lod = offsets_from_lengths(g, counts)
    k.out_lods["RpnRois"] = k.out_lods["RpnRoiProbs"] = (lod,)
    rois = k("GatherND", boxes, cells, rank=2)
    return rois, g.unsqueeze(k("GatherND", left, cells, rank=1), 1), g.slice(lod, 0, 1, 2**62)


def _best(k: Op, flat: Value) -> Value:
    """Return the scores, with -3e38 for all but the pre_nms_topN best of each image."""
    top = int(k.attr("pre_nms_topN"))
    if top <= 0:
        return flat
    count = k("Min", k.g.dim(flat, 1), top)
    best, place = k.g.node("TopK", flat, count, dtypes=[None, None], axis=1, largest=1, sorted=1)
    room = k.g.filled(k.g.shape(flat), _NEVER, flat.dtype)
    return k("ScatterElements", room, place, best, axis=1, rank=2)


def _pair(k: Op, boxes: Value, start: int) -> Value:
    return k.g.slice(boxes, -1, start, start + 2)


def _decoded(k: Op, moves: Value, anchors: Value) -> Value:
    size = k("Add", k("Sub", _pair(k, anchors, 2), _pair(k, anchors, 0)), 1.0)
    centre = k("Add", _pair(k, anchors, 0), k("Mul", size, 0.5))
    middle = k("Add", k("Mul", _pair(k, moves, 0), size), centre)
    grown = k("Exp", k("Min", _pair(k, moves, 2), math.log(1000.0 / 16.0)))
    half = k("Div", k("Mul", grown, size), 2.0)
    return k("Concat", k("Sub", middle, half), k("Sub", k("Add", middle, half), 1.0), axis=2)


def _sizes(k: Op, info: Value) -> Value:
    """Return the width and height of each image as [images, 1, 2]."""
    return k.g.unsqueeze(k("Gather", info, np.array([1, 0]), axis=1), 1)


def _inside(k: Op, boxes: Value, info: Value) -> Value:
    limit = k("Sub", _sizes(k, info), 1.0)
    return k("Max", k("Min", boxes, k("Concat", limit, limit, axis=2)), 0.0)


def _large_enough(k: Op, boxes: Value, info: Value) -> Value:
    """Return which boxes have at least min_size in the original image and their centre within the scaled one."""
    sides = k("Sub", _pair(k, boxes, 2), _pair(k, boxes, 0))
    scale = k.g.unsqueeze(k.g.slice(info, 1, 2, 3), 1)
    original = k("Add", k("Div", sides, scale), 1.0)
    centre = k("Add", _pair(k, boxes, 0), k("Div", k("Add", sides, 1.0), 2.0))
    fits = k(
        "And",
        k("GreaterOrEqual", original, max(float(k.attr("min_size")), 1.0)),
        k("LessOrEqual", centre, _sizes(k, info)),
    )
    both = k("ReduceMin", k.g.cast(fits, np.int32), np.array([2]), keepdims=0)
    return k.g.cast(both, np.bool_)
