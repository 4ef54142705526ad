"""Ops of two-stage detectors and deformable convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.draw import OpDraw, draws
from tests.differential.ops_drawn.detection import corners


def _rois(d: OpDraw, rows: int, size: float) -> Any:
    """Draw boxes, at times some that leave the image, are empty or turned inside out, as networks predict them."""
    corner = d.floats([rows, 2], d.pick(0, 0, 0, -size / 3), size / 2)
    least = d.pick(0.5, 0.5, 0.5, 0.5, -size / 8)
    sides = d.floats([rows, 2], least, size / d.pick(2, 2, 2, 1))
    if d.chance(0.1):
        sides[d.numpy.rand(rows) < 0.5] = 0.0
        corner[...] = corner[:1] if d.chance() else corner
    return np.concatenate([corner, corner + sides], 1).astype(d.float)


@draws("prroi_pool", "psroi_pool")
def roi(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False, most=2)
    size, high, wide, channels = d.size(4, 7), d.size(1, 2), d.size(1, 2), d.size(1, 2)
    depth = channels * high * wide if d.op == "psroi_pool" else channels
    d.put("X", d.floats([len(lod[0]), depth, size, size]), fixed=True)
    if d.op == "prroi_pool" and d.chance(0.3):
        d.put("ROIs", _rois(d, rows, size), fixed=True)
        d.put("BatchRoINums", np.array(lod[0], "int64"), fixed=True)
    else:
        d.put("ROIs", _rois(d, rows, size), lod=lod)
    d.no_grad("ROIs")
    d.attrs.update(pooled_height=high, pooled_width=wide)
    d.real("spatial_scale", 1.0, 0.4, 1.2)
    if d.op == "psroi_pool":
        d.attrs["output_channels"] = channels


@draws("deformable_conv", "deformable_conv_v1")
def deformable_conv(d: OpDraw) -> None:
    n, groups, parts = d.size(1, 2), d.pick(1, 1, 2), d.pick(1, 2)
    channels, kernel, size = groups * parts, d.size(1, 3), d.size(4, 5)
    stride, pad, dilation = d.size(1, 2), d.size(0, 1), d.pick(1, 1, 2) if size > 2 * kernel else 1
    out = (size + 2 * pad - (dilation * (kernel - 1) + 1)) // stride + 1
    d.put("Input", d.floats([n, channels, size, size]), fixed=True)
    d.put("Offset", d.floats([n, 2 * parts * kernel * kernel, out, out], -1, 1), fixed=True)
    if d.op == "deformable_conv":
        d.put("Mask", d.floats([n, parts * kernel * kernel, out, out], 0, 1), fixed=True)
    d.put("Filter", d.floats([groups * d.size(1, 2), channels // groups, kernel, kernel]), fixed=True)
    d.attrs.update(strides=[stride] * 2, paddings=[pad] * 2, dilations=[dilation] * 2, groups=groups)
    d.attrs.update(deformable_groups=parts, im2col_step=d.pick(1, n))


@draws("box_decoder_and_assign", grad=False)
def box_decoder_and_assign(d: OpDraw) -> None:
    rows, classes = d.size(), d.size(1, 3)
    d.put("PriorBox", _rois(d, rows, 20))
    d.put("PriorBoxVar", d.floats([4], 0.1, 0.3), fixed=True)
    d.put("TargetBox", d.floats([rows, 4 * classes], -1, 1))
    d.put("BoxScore", d.rows([rows, classes]))
    d.attrs["box_clip"] = d.pick(4.135, 1.0)


@draws("distribute_fpn_proposals", grad=False)
def distribute_fpn_proposals(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False)
    d.put("FpnRois", _rois(d, rows, d.pick(50, 400)), lod=lod)
    low = 2
    high = d.size(3, 5)
    d.attrs.update(min_level=low, max_level=high, refer_level=d.size(low, high), refer_scale=d.pick(56, 224))
    d.out("MultiFpnRois", high - low + 1)
    d.out_dtypes["RestoreIndex"] = "int32"


@draws("collect_fpn_proposals", grad=False)
def collect_fpn_proposals(d: OpDraw) -> None:
    levels, images = d.size(1, 3), d.size(1, 2)
    scores = d.numpy.permutation(np.linspace(0.05, 0.95, 40))
    used = 0
    for _ in range(levels):
        lod, rows = d.lod(empty=False, sequences=images)
        d.put("MultiLevelRois", _rois(d, rows, 50), lod=lod)
        d.put("MultiLevelScores", scores[used : used + rows].reshape(-1, 1).astype(d.float), lod=lod)
        used += rows
    d.attrs["post_nms_topN"] = d.size(1, 6)


@draws("generate_proposals", grad=False)
def generate_proposals(d: OpDraw) -> None:
    n, anchors, size = d.size(1, 2), d.size(1, 3), d.size(1, 3)
    d.put("Scores", d.apart([n, anchors, size, size], 0.02, 0.98))
    d.put("BboxDeltas", d.floats([n, 4 * anchors, size, size], -0.5, 0.5))
    d.put("ImInfo", np.stack([[d.size(20, 40), d.size(20, 40), d.pick(1.0, 2.0)] for _ in range(n)]).astype(d.float))
    boxes = _rois(d, size * size * anchors, 30).reshape(size, size, anchors, 4)
    d.put("Anchors", boxes, fixed=True)
    d.put("Variances", d.floats([size, size, anchors, 4], 0.5, 1.0), fixed=True)
    d.attrs.update(pre_nms_topN=d.pick(3, 20), post_nms_topN=d.pick(2, 10), nms_thresh=d.pick(0.3, 0.7))
    d.attrs.update(min_size=d.pick(0.1, 4.0), eta=d.pick(1.0, 1.0, 0.9))


@draws("matrix_nms", "locality_aware_nms", grad=False)
def nms(d: OpDraw) -> None:
    n, boxes = d.size(1, 2) if d.op == "matrix_nms" else 1, d.size(1, 6)
    classes = d.size(1, 3) if d.op == "matrix_nms" else 1
    if d.op == "locality_aware_nms" and d.chance(0.4):
        d.put("BBoxes", corners(d, [n, boxes], d.pick(4, 8)))
    else:
        d.put("BBoxes", _rois(d, n * boxes, d.pick(1.0, 20.0)).reshape(n, boxes, 4))
    d.put("Scores", d.apart([n, classes, boxes], 0.02, 0.98))
    d.attrs.update(
        background_label=d.pick(0, -1),
        score_threshold=d.pick(0.01, 0.3),
        nms_top_k=d.pick(-1, 2, 10),
        keep_top_k=d.pick(-1, 1, 10),
        normalized=d.chance(),
    )
    if d.op == "matrix_nms":
        d.attrs.update(post_threshold=d.pick(0.0, 0.2), use_gaussian=d.chance(), gaussian_sigma=d.pick(2.0, 0.5))
        d.out_dtypes["Index"] = "int32"
    else:
        d.attrs.update(nms_threshold=d.pick(0.3, 0.6), nms_eta=d.pick(1.0, 0.9))
