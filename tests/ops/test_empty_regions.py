"""Detectors on images without objects and on batches without regions: all background, no rows, no failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.gradcheck import Ragged, run_op

INFO = np.array([[40.0, 40.0, 1.0], [40.0, 40.0, 2.0]], "float32")
BOX = np.array([[3, 3, 20, 20]], "float32")
ANCHORS = np.array([[2, 2, 18, 18], [5, 5, 9, 9], [20, 20, 39, 39]], "float32")


def _lengths(tensor: Any) -> list[int]:
    return list(tensor.recursive_sequence_lengths()[0])


@pytest.mark.parametrize("op", ["rpn_target_assign", "retinanet_target_assign"])
def test_an_image_without_objects_has_background_anchors_alone(op: str) -> None:
    one = np.zeros((1, 1), "int32")
    inputs = {"Anchor": ANCHORS, "GtBoxes": Ragged(BOX, [0, 1]), "IsCrowd": Ragged(one, [0, 1]), "ImInfo": INFO}
    if op == "retinanet_target_assign":
        inputs["GtLabels"] = Ragged(one + 1, [0, 1])
    slots = ["LocationIndex", "ScoreIndex", "TargetBBox", "TargetLabel", "BBoxInsideWeight"]
    slots += ["ForegroundNumber"] if op == "retinanet_target_assign" else []
    found = dict(zip(slots, run_op(op, inputs, slots, {"use_random": False} if op.startswith("rpn") else {})))
    assert _lengths(found["LocationIndex"])[0] == 0
    assert _lengths(found["ScoreIndex"])[0] == 3
    assert not np.array(found["TargetLabel"])[:3].any()


def test_an_image_without_objects_has_background_regions_alone() -> None:
    one = np.zeros((1, 1), "int32")
    inputs = {
        "RpnRois": Ragged(np.concatenate([ANCHORS, BOX]), [3, 1]),
        "GtClasses": Ragged(one + 2, [0, 1]),
        "IsCrowd": Ragged(one, [0, 1]),
        "GtBoxes": Ragged(BOX, [0, 1]),
        "ImInfo": INFO,
    }
    slots = ["Rois", "LabelsInt32", "BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"]
    attrs = {"class_nums": 3, "use_random": False, "bbox_reg_weights": [0.1, 0.1, 0.2, 0.2]}
    rois, labels, targets, *_ = run_op("generate_proposal_labels", inputs, slots, attrs)
    assert _lengths(rois)[0] == 3
    assert not np.array(labels)[:3].any()
    assert np.array(targets).shape[1] == 12


def test_regions_that_are_neither_leave_an_image_empty() -> None:
    one = np.zeros((1, 1), "int32")
    inputs = {
        "RpnRois": Ragged(ANCHORS[2:], [1]),
        "GtClasses": Ragged(one + 2, [1]),
        "IsCrowd": Ragged(one + 1, [1]),
        "GtBoxes": Ragged(BOX, [1]),
        "ImInfo": INFO[:1],
    }
    slots = ["Rois", "LabelsInt32", "BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"]
    attrs = {"class_nums": 3, "bg_thresh_lo": 0.3, "use_random": False, "bbox_reg_weights": [0.1, 0.1, 0.2, 0.2]}
    found = run_op("generate_proposal_labels", inputs, slots, attrs)
    assert [np.array(part).shape for part in found] == [(0, 4), (0, 1), (0, 12), (0, 12), (0, 12)]


def test_no_region_at_all_gives_no_row() -> None:
    none = np.zeros((0, 4), "float32")
    x = np.ones((1, 4, 5, 5), "float32")
    pool = {"pooled_height": 2, "pooled_width": 2, "spatial_scale": 1.0}
    (out,) = run_op("psroi_pool", {"X": x, "ROIs": Ragged(none, [0])}, ["Out"], {**pool, "output_channels": 1})
    assert np.array(out).shape == (0, 1, 2, 2)
    (out,) = run_op("prroi_pool", {"X": x, "ROIs": Ragged(none, [0])}, ["Out"], pool)
    assert np.array(out).shape == (0, 4, 2, 2)
    quads = Ragged(np.zeros((0, 8), "float32"), [0])
    attrs = {"transformed_height": 2, "transformed_width": 3}
    out, mask, _ = run_op(
        "roi_perspective_transform", {"X": x, "ROIs": quads}, ["Out", "Mask", "TransformMatrix"], attrs
    )
    assert (np.array(out).shape, np.array(mask).shape) == ((0, 4, 2, 3), (0, 1, 2, 3))
