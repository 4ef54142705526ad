"""YOLO: boxes from features, and the loss of version 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable
from fluidio.program import Variable

__all__ = ["yolo_box", "yolov3_loss"]


def yolo_box(
    x: Variable,
    img_size: Variable,
    anchors: Sequence[int],
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
) -> tuple[Variable, Variable]:
    """Boxes in pixels and scores by class, decoded from YOLO's features."""
    helper = LayerHelper("yolo_box", name=name)
    boxes = helper.create_variable_for_type_inference(x.dtype)
    scores = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="yolo_box",
        inputs={"X": [x], "ImgSize": [img_size]},
        outputs={"Boxes": [boxes], "Scores": [scores]},
        attrs={
            "anchors": list(anchors),
            "class_num": class_num,
            "conf_thresh": conf_thresh,
            "downsample_ratio": downsample_ratio,
            "clip_bbox": clip_bbox,
            "scale_x_y": scale_x_y,
        },
    )
    return boxes, scores


def yolov3_loss(
    x: Variable,
    gt_box: Variable,
    gt_label: Variable,
    anchors: Sequence[int],
    anchor_mask: Sequence[int],
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    gt_score: Variable | None = None,
    use_label_smooth: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
) -> Variable:
    """The loss of YOLO version 3 for each image; true boxes are (centre x, centre y, width, height) in [0, 1]."""
    for word, value in (("x", x), ("gt_box", gt_box), ("gt_label", gt_label)):
        check_variable("yolov3_loss", word, value)
    helper = LayerHelper("yolov3_loss", name=name)
    loss = helper.create_variable_for_type_inference(x.dtype)
    objects = helper.create_variable_for_type_inference("int32")
    match = helper.create_variable_for_type_inference("int32")
    inputs: dict[str, Any] = {"X": [x], "GTBox": [gt_box], "GTLabel": [gt_label]}
    if gt_score is not None:
        inputs["GTScore"] = [gt_score]
    helper.append_op(
        type="yolov3_loss",
        inputs=inputs,
        outputs={"Loss": [loss], "ObjectnessMask": [objects], "GTMatchMask": [match]},
        attrs={
            "anchors": list(anchors),
            "anchor_mask": list(anchor_mask),
            "class_num": class_num,
            "ignore_thresh": ignore_thresh,
            "downsample_ratio": downsample_ratio,
            "use_label_smooth": use_label_smooth,
            "scale_x_y": scale_x_y,
        },
    )
    return loss
