"""Non-maximum suppression over many classes."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.sequences import offsets_from_lengths
from fluidio.models.onnx.table import maps

__all__: list[str] = []

_NEVER = np.float32(-3e38)


@maps("multiclass_nms")
def multiclass_nms(k: Op, boxes: Value, scores: Value) -> Value:
    return _detected(k, boxes, scores)[0]


@maps("multiclass_nms2")
def multiclass_nms2(k: Op, boxes: Value, scores: Value) -> tuple[Value, Value]:
    return _detected(k, boxes, scores)


def _detected(k: Op, boxes: Value, scores: Value) -> tuple[Value, Value]:
    """Return the rows [label, score, box] and the indices of their boxes, with one sequence for each image."""
    if k.rank(scores) != 3:
        k.refuse("a set of boxes for each class (Scores of two dims) is not mapped")
    if k.dims("BBoxes")[-1:] not in ((4,), (-1,)):
        k.refuse("the suppression of boxes given by their corners is not mapped")
    if float(k.attr("nms_eta")) < 1.0:
        k.refuse("nms_eta below 1 changes the threshold on the way; ONNX has one threshold")
    best, place = _best_of_each_image(k, boxes, scores)
    count = k.g.dim(boxes, 1)
    label, box = k("Div", place, count), k("Mod", place, count)
    found = k("Greater", best, float(_NEVER))
    label, box, best, found = _by_label(k, label, box, best, found)
    lod = offsets_from_lengths(k.g, k("ReduceSum", k.g.cast(found, np.int64), np.array([1]), keepdims=0))
    cells = k("Transpose", k("NonZero", found), perm=[1, 0])
    image = k.g.slice(cells, 1, 0, 1)
    chosen = k.g.unsqueeze(k("GatherND", box, cells, rank=1), 1)
    corners = k("GatherND", boxes, k("Concat", image, chosen, axis=1), rank=2)
    head = [k.g.unsqueeze(k("GatherND", each, cells, rank=1), 1) for each in (k.g.cast(label, boxes.dtype), best)]
    rows = k("Concat", *head, corners, axis=1)
    numbers = k.g.cast(k("Add", k("Mul", image, count), chosen), np.int32)
    if int(k.attr("keep_top_k")) == 0:
        k.out_lods["Out"] = k.out_lods["Index"] = (lod,)
        return rows, numbers
    return _or_nothing(k, rows, numbers, lod)


def _best_of_each_image(k: Op, boxes: Value, scores: Value) -> tuple[Value, Value]:
    """Return the scores and positions (label * boxes + box) that each image keeps, best first, padded with -3e38."""
    g = k.g
    allowed = _candidates(k, scores)
    corners = boxes
    if not k.attr("normalized"):
        corners = k("Add", boxes, np.array([0, 0, 1, 1], boxes.dtype))  # whole pixels, including the last one
    count = g.dim(boxes, 1)
    narrow = g.cast(corners, np.float32), g.cast(allowed, np.float32)
    picked = g(
        "NonMaxSuppression",
        *narrow,
        count,
        np.asarray([k.attr("nms_threshold")], np.float32),
        np.asarray([k.attr("score_threshold")], np.float32),
        dtype=np.int64,
        rank=2,
    )
    kept_scores = k("GatherND", allowed, picked, rank=1)
    shape = g.shape(scores)
    room = g.filled(shape, float(_NEVER), scores.dtype)
    dense = k("ScatterND", room, picked, kept_scores, rank=3)
    flat = k("Flatten", dense, axis=1, rank=2)
    most = g.dim(flat, 1)
    limit = int(k.attr("keep_top_k"))
    if limit > -1:
        most = k("Min", most, limit)
    best, place = g.node("TopK", flat, most, dtypes=[None, None], axis=1, largest=1, sorted=1)
    return best, place


def _candidates(k: Op, scores: Value) -> Value:
    """Return the scores, with -3e38 for the background and for all but the nms_top_k best of each class."""
    g = k.g
    out = scores
    top = int(k.attr("nms_top_k"))
    if top > -1:
        count = k("Min", g.dim(scores, 2), top)
        best, place = g.node("TopK", scores, count, dtypes=[None, None], axis=2, largest=1, sorted=1)
        room = g.filled(g.shape(scores), float(_NEVER), scores.dtype)
        out = k("ScatterElements", room, place, best, axis=2, rank=3)
    background = int(k.attr("background_label"))
    if background >= 0:
        classes = g.reshape(g.arange(g.dim(scores, 1)), [1, -1, 1])
        out = k("Where", k("Equal", classes, background), k.g.value(float(_NEVER), scores), out, rank=3)
    return out


def _by_label(k: Op, label: Value, box: Value, best: Value, found: Value) -> tuple[Value, Value, Value, Value]:
    """Sort everything by label, and by score within a label."""
    width = k.g.dim(label, 1)
    rank = k.g.unsqueeze(k.g.arange(width), 0)
    key = k("Add", k("Mul", label, width), rank)
    _, order = k.g.node("TopK", key, width, dtypes=[None, None], axis=1, largest=0, sorted=1)
    taken = [k("GatherElements", each, order, axis=1) for each in (label, box, best)]
    flags = k.g.cast(k("GatherElements", k.g.cast(found, np.int32), order, axis=1), np.bool_)
    return taken[0], taken[1], taken[2], flags


def _or_nothing(k: Op, rows: Value, numbers: Value, lod: Value) -> tuple[Value, Value]:
    """Return the rows; without detections, one row with a single -1, as in Fluid."""
    g = k.g
    some, none = g.child(), g.child()
    empty = [
        g.constant(np.full((1, 1), -1, rows.dtype)),
        g.constant(np.full((1, 1), -1, np.int32)),
        g.constant(np.array([0, 1], np.int64)),
    ]
    outputs = g.node(
        "If",
        g("Greater", g.scalar(g.rows(rows)), 0),
        dtypes=[rows.dtype, np.int32, np.int64],
        ranks=[2, 2, 1],
        then_branch=some.body("found", [], [rows, numbers, lod]),
        else_branch=none.body("nothing", [], empty),
    )
    k.out_lods["Out"] = k.out_lods["Index"] = (outputs[2],)
    return outputs[0], outputs[1]
