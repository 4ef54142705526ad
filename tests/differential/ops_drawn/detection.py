"""Ops of detectors: boxes, priors, matching, non-maximum suppression, YOLO."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.draw import OpDraw, draws


def _boxes(d: OpDraw, lead: list[int], size: float = 1.0) -> Any:
    """Draw boxes, at times some that are turned inside out or empty, as networks predict them."""
    corner = d.floats([*lead, 2], 0.0, 0.6 * size)
    least = -0.15 if d.chance(0.2) else 0.1
    sides = d.floats([*lead, 2], least * size, 0.5 * size)
    if d.chance(0.1):  # points, two of them in one place
        sides[d.numpy.rand(*lead) < 0.5] = 0.0
        corner[...] = corner.flat[:2] if d.chance() else corner
    return np.concatenate([corner, corner + sides], -1).round(3).astype(d.float)


@draws("iou_similarity", grad=False)
def iou_similarity(d: OpDraw) -> None:
    lod = None
    n = d.size()
    if d.chance(0.4):
        lod, n = d.lod()
    d.put("X", _boxes(d, [n]), lod=lod)
    d.put("Y", _boxes(d, [d.size()]))
    d.attr("box_normalized", True, False)


@draws("box_clip", grad=False)
def box_clip(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    d.put("Input", d.floats([rows, 4], -5, 30), lod=lod)
    d.put("ImInfo", np.stack([[d.size(10, 20), d.size(10, 20), d.pick(1.0, 2.0, 1.5)] for _ in lod[0]]).astype(d.float))


@draws("box_coder", grad=False)
def box_coder(d: OpDraw) -> None:
    priors = d.size()
    kind = d.attr("code_type", "encode_center_size", "decode_center_size", always=True)
    d.put("PriorBox", _boxes(d, [priors]), fixed=True)
    way = d.rng.random()
    if way < 0.5:
        d.put("PriorBoxVar", d.floats([priors, 4], 0.1, 0.5), fixed=True)
    elif way < 0.75:
        d.attrs["variance"] = [0.1, 0.1, 0.2, 0.3]
    d.attr("box_normalized", True, False)
    if kind == "encode_center_size":
        d.put("TargetBox", _boxes(d, [d.size()]))
        return
    n = d.size()
    axis = d.attr("axis", 0, 1)
    d.put("TargetBox", d.floats([n, priors, 4] if axis == 0 else [priors, n, 4], -1, 1))


def _image_inputs(d: OpDraw) -> None:
    d.float = "float32"
    n = d.size(1, 2)
    d.put("Input", d.floats([n, d.size(1, 2), d.size(1, 3), d.size(1, 3)]))
    d.put("Image", d.floats([n, 3, d.size(8, 16), d.size(8, 16)]))


@draws("prior_box", grad=False)
def prior_box(d: OpDraw) -> None:
    _image_inputs(d)
    least = [float(d.size(2, 6)) for _ in range(d.size(1, 2))]
    d.attrs["min_sizes"] = least
    if d.chance():
        d.attrs["max_sizes"] = [size + d.size(1, 4) for size in least]
    d.attr("aspect_ratios", [1.0], [2.0], [1.0, 2.0, 3.0], always=True)
    d.attrs["variances"] = d.pick([0.1, 0.1, 0.2, 0.2], [0.3, 0.2, 0.1, 0.4])
    d.attr("flip", True, False, always=True)
    d.attr("clip", True, False, always=True)
    d.real("step_w", 0.0, 1.0, 5.0)
    d.real("step_h", 0.0, 1.0, 5.0)
    d.real("offset", 0.5, 0.0, 1.0)
    d.attr("min_max_aspect_ratios_order", False, True)


@draws("density_prior_box", grad=False)
def density_prior_box(d: OpDraw) -> None:
    _image_inputs(d)
    count = d.size(1, 2)
    d.attrs["fixed_sizes"] = [float(d.size(2, 6)) for _ in range(count)]
    d.attrs["densities"] = [d.size(1, 3) for _ in range(count)]
    d.attrs["fixed_ratios"] = d.pick([1.0], [1.0, 2.0])
    d.attrs["variances"] = d.pick([0.1, 0.1, 0.2, 0.2], [0.3, 0.2, 0.1, 0.4])
    d.attr("clip", True, False, always=True)
    d.attr("flatten_to_2d", False, True)
    d.real("step_w", 0.0, 1.0, 5.0)
    d.real("step_h", 0.0, 1.0, 5.0)
    d.real("offset", 0.5, 0.0, 1.0)


@draws("anchor_generator", grad=False)
def anchor_generator(d: OpDraw) -> None:
    d.float = "float32"
    d.put("Input", d.floats([d.size(1, 2), d.size(1, 2), d.size(1, 3), d.size(1, 3)]))
    d.attrs["anchor_sizes"] = [float(d.size(4, 40)) for _ in range(d.size(1, 2))]
    d.attrs["aspect_ratios"] = d.pick([1.0], [0.5, 1.0, 2.0])
    d.attrs["variances"] = d.pick([0.1, 0.1, 0.2, 0.2], [0.3, 0.2, 0.1, 0.4])
    d.attrs["stride"] = [float(d.size(2, 16)), float(d.size(2, 16))]
    d.real("offset", 0.5, 0.0, 1.0)


@draws("bipartite_match", grad=False)
def bipartite_match(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    d.put("DistMat", d.apart([rows, d.size(1, 5)], 0.05, 0.95), lod=lod)
    d.attr("match_type", "bipartite", "per_prediction")
    d.real("dist_threshold", 0.5, 0.1, 0.9)
    d.out_dtypes["ColToRowMatchIndices"] = "int32"


@draws("target_assign", grad=False)
def target_assign(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    n, priors = len(lod[0]), d.size(1, 4)
    mined = d.chance(0.4)
    width = 1 if mined else d.size(1, 4)  # beyond 1, the real one writes outside of OutWeight
    shape = d.pick([rows, 1, width], [rows, priors, width])
    d.put("X", d.floats(shape) if d.chance(0.7) else d.ids(shape, 9, dtype="int32"), lod=lod)
    d.put("MatchIndices", np.stack([d.ids([priors], size, -1, "int32") for size in lod[0]]))
    d.attr("mismatch_value", 0, 5)
    if mined:
        lengths = [d.rng.randint(0, priors) for _ in range(n)]
        lengths[0] = max(1, lengths[0])
        d.put("NegIndices", d.ids([sum(lengths), 1], priors, dtype="int32"), lod=[lengths])
    d.out_dtypes["OutWeight"] = "float32"


@draws("mine_hard_examples", grad=False)
def mine_hard_examples(d: OpDraw) -> None:
    n, priors = d.size(1, 3), d.size(2, 6)
    d.put("ClsLoss", d.apart([n, priors], 0.05, 0.95))
    mining = d.attr("mining_type", "max_negative", "hard_example")
    if mining == "hard_example" or d.chance(0.3):
        d.put("LocLoss", d.apart([n, priors], 0.05, 0.95))
    d.put("MatchIndices", d.ids([n, priors], 3, -1, "int32"))
    d.put("MatchDist", d.apart([n, priors], 0.05, 0.95))
    d.real("neg_pos_ratio", 1.0, 0.5, 3.0)
    d.real("neg_dist_threshold", 0.5, 0.2, 0.9)
    d.attrs["sample_size"] = d.size(1, 3) if mining == "hard_example" else d.pick(0, 2)
    d.out_dtypes.update(NegIndices="int32", UpdatedMatchIndices="int32")


def corners(d: OpDraw, shape: list[int], count: int) -> Any:
    """Draw polygons by their corners: convex and counter-clockwise, or in any order, so that edges cross."""
    angles = d.numpy.uniform(0, 6.28, [*shape, count])
    angles = np.sort(angles, axis=-1) if d.chance(0.7) else angles
    around = np.stack([np.cos(angles), np.sin(angles)], axis=-1) * d.numpy.uniform(1, 2, [*shape, 1, 1])
    points = d.numpy.uniform(0, 2, [*shape, 1, 2]) + around
    return np.round(points, 3).reshape(*shape, 2 * count).astype(d.float)


@draws("multiclass_nms", "multiclass_nms2", grad=False)
def multiclass_nms(d: OpDraw) -> None:
    n, boxes, classes = d.size(1, 2), d.size(1, 6), d.size(1, 3)
    kind = d.rng.random()
    if kind < 0.2:  # each class has boxes of its own, images are sequences
        lod, rows = d.lod(empty=False)
        d.put("BBoxes", _boxes(d, [rows, classes], 1.0), lod=lod)
        d.put("Scores", d.apart([rows, classes], 0.02, 0.98), lod=lod)
    else:
        found = corners(d, [n, boxes], d.pick(4, 8)) if kind < 0.4 else None
        d.put("BBoxes", _boxes(d, [n, boxes], d.pick(1.0, 20.0)) if found is None else found)
        d.put("Scores", d.apart([n, classes, boxes], 0.02, 0.98))
    d.attrs.update(
        background_label=d.pick(0, -1, 1),
        score_threshold=d.pick(0.01, 0.3, 0.6),
        nms_top_k=d.pick(-1, 2, 10),
        keep_top_k=d.pick(-1, 1, 3, 10),
    )
    d.real("nms_threshold", 0.3, 0.1, 0.9)
    d.attr("nms_eta", 1.0, 0.8)
    d.attr("normalized", True, False)
    if d.op == "multiclass_nms2":
        d.out("Index")
        d.out_dtypes["Index"] = "int32"


@draws("yolo_box", grad=False)
def yolo_box(d: OpDraw) -> None:
    n, classes, anchors = d.size(1, 2), d.size(1, 3), d.size(1, 2)
    size = d.size(1, 3)
    d.put("X", d.floats([n, anchors * (5 + classes), size, size]))
    d.put("ImgSize", d.ids([n, 2], 200, 50, "int32"))
    d.attrs.update(
        anchors=[d.size(5, 60) for _ in range(2 * anchors)],
        class_num=classes,
        conf_thresh=d.pick(0.01, 0.3, 0.6),
        downsample_ratio=d.pick(8, 16, 32),
    )
    d.attr("clip_bbox", True, False)
    d.attr("scale_x_y", 1.0, 1.2, 1.05)


@draws("yolov3_loss")
def yolov3_loss(d: OpDraw) -> None:
    n, classes, size, boxes = d.size(1, 2), d.size(1, 3), d.size(2, 3), d.size(1, 3)
    anchors = d.size(1, 3)
    mask = sorted(d.rng.sample(range(anchors), d.rng.randint(1, anchors)))
    d.put("X", d.floats([n, len(mask) * (5 + classes), size, size]))
    d.put("GTBox", d.floats([n, boxes, 4], 0.1, 0.6))
    d.put("GTLabel", d.ids([n, boxes], classes, dtype="int32"))
    if d.chance(0.4):
        d.put("GTScore", d.floats([n, boxes], 0.1, 1.0))
    d.no_grad("GTBox", "GTScore")
    d.attrs.update(
        anchors=[d.size(5, 60) for _ in range(2 * anchors)],
        anchor_mask=mask,
        class_num=classes,
        ignore_thresh=d.pick(0.7, 0.3),
        downsample_ratio=d.pick(8, 16, 32),
    )
    d.attr("use_label_smooth", True, False)
    d.attr("scale_x_y", 1.0, 1.2)
    d.out_dtypes["GTMatchMask"] = "int32"


@draws("detection_map", grad=False)
def detection_map(d: OpDraw) -> None:
    d.float = "float32"
    classes = d.size(2, 3)
    lod, rows = d.lod(empty=False)
    label_lod, label_rows = d.lod(empty=False, sequences=len(lod[0]))
    found = np.concatenate([d.ids([rows, 1], classes), d.apart([rows, 1], 0.1, 0.9), _boxes(d, [rows])], 1)
    difficult = d.chance()
    parts = [d.ids([label_rows, 1], classes)]
    if difficult:
        parts.append(d.ids([label_rows, 1], 2))
    d.put("DetectRes", found.astype("float32"), lod=lod)
    d.put("Label", np.concatenate([*parts, _boxes(d, [label_rows])], 1).astype("float32"), lod=label_lod)
    d.attrs["class_num"] = classes
    if d.chance(0.3):
        d.put("HasState", np.array([1], "int32"), fixed=True)
        d.put("PosCount", d.ids([classes, 1], 6, 2, "int32"), fixed=True)
        counts = [d.size(1, 2) for _ in range(classes)]
        scores, hits = d.apart([sum(counts)], 0.11, 0.89), d.ids([sum(counts)], 2)
        for slot, flags in (("TruePos", hits), ("FalsePos", 1 - hits)):
            d.put(slot, np.stack([scores, flags], 1).astype("float32"), lod=[counts])
    d.attr("background_label", 0, -1)
    d.real("overlap_threshold", 0.5, 0.1, 0.6)
    d.attr("evaluate_difficult", True, False)
    d.attr("ap_type", "integral", "11point")
    d.out_dtypes["AccumPosCount"] = "int32"
