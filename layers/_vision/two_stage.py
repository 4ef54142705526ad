"""Layers of two-stage detectors and of RetinaNet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fluidio.dtypes import DTypeLike
from fluidio.layer_helper import LayerHelper
from fluidio.layers._shape.lookup import gather
from fluidio.layers._shape.manipulate import reshape
from fluidio.layers.arguments import as_list, check_part, check_variable, warn_ignored
from fluidio.program import Variable

__all__ = [
    "box_decoder_and_assign",
    "collect_fpn_proposals",
    "distribute_fpn_proposals",
    "generate_mask_labels",
    "generate_proposal_labels",
    "generate_proposals",
    "retinanet_detection_output",
    "retinanet_target_assign",
    "rpn_target_assign",
]

_WEIGHTS = (0.1, 0.1, 0.2, 0.2)


def _outputs(helper: LayerHelper, slots: Mapping[str, DTypeLike], stop: bool = True) -> dict[str, Variable]:
    """Create a variable for each output slot, in order."""
    found = {slot: helper.create_variable_for_type_inference(dtype) for slot, dtype in slots.items()}
    for variable in found.values():
        variable.stop_gradient = stop
    return found


def _append(helper: LayerHelper, op_type: str, inputs: dict[str, Any], outputs: dict[str, Any], attrs: object) -> None:
    def listed(slots: dict[str, Any]) -> dict[str, Any]:
        return {slot: value if isinstance(value, list) else [value] for slot, value in slots.items()}

    helper.append_op(type=op_type, inputs=listed(inputs), outputs=listed(outputs), attrs=attrs)


def generate_proposals(
    scores: Variable,
    bbox_deltas: Variable,
    im_info: Variable,
    anchors: Variable,
    variances: Variable,
    pre_nms_top_n: int = 6000,
    post_nms_top_n: int = 1000,
    nms_thresh: float = 0.5,
    min_size: float = 0.1,
    eta: float = 1.0,
    name: str | None = None,
    return_rois_num: bool = False,
) -> tuple[Variable, ...]:
    """The best non-overlapping boxes of each image, and their scores: (rois, scores[, number per image])."""
    helper = LayerHelper("generate_proposals", name=name)
    check_variable("generate_proposals", "scores", scores)
    outs = _outputs(helper, {"RpnRois": bbox_deltas.dtype, "RpnRoiProbs": scores.dtype, "RpnRoisLod": "int32"})
    inputs = {"Scores": scores, "BboxDeltas": bbox_deltas, "ImInfo": im_info, "Anchors": anchors}
    attrs = {
        "pre_nms_topN": pre_nms_top_n,
        "post_nms_topN": post_nms_top_n,
        "nms_thresh": nms_thresh,
        "min_size": min_size,
        "eta": eta,
    }
    _append(helper, "generate_proposals", {**inputs, "Variances": variances}, outs, attrs)
    found = (outs["RpnRois"], outs["RpnRoiProbs"], outs["RpnRoisLod"])
    return found if return_rois_num else found[:2]


def rpn_target_assign(
    bbox_pred: Variable,
    cls_logits: Variable,
    anchor_box: Variable,
    anchor_var: Variable,
    gt_boxes: Variable,
    is_crowd: Variable,
    im_info: Variable,
    rpn_batch_size_per_im: int = 256,
    rpn_straddle_thresh: float = 0.0,
    rpn_fg_fraction: float = 0.5,
    rpn_positive_overlap: float = 0.7,
    rpn_negative_overlap: float = 0.3,
    use_random: bool = True,
) -> tuple[Variable, Variable, Variable, Variable, Variable]:
    """The predictions of sampled anchors and their targets: (scores, boxes, labels, targets, inside weights).

    `anchor_var` has no effect, as in Fluid.
    """
    check_variable("rpn_target_assign", "anchor_var", anchor_var)
    helper = LayerHelper("rpn_target_assign")
    outs = _target_outputs(helper, anchor_box)
    inputs = {"Anchor": anchor_box, "GtBoxes": gt_boxes, "IsCrowd": is_crowd, "ImInfo": im_info}
    attrs = {
        "rpn_batch_size_per_im": rpn_batch_size_per_im,
        "rpn_straddle_thresh": rpn_straddle_thresh,
        "rpn_positive_overlap": rpn_positive_overlap,
        "rpn_negative_overlap": rpn_negative_overlap,
        "rpn_fg_fraction": rpn_fg_fraction,
        "use_random": use_random,
    }
    _append(helper, "rpn_target_assign", inputs, outs, attrs)
    scores, boxes = _chosen(cls_logits, 1, bbox_pred, outs)
    return scores, boxes, outs["TargetLabel"], outs["TargetBBox"], outs["BBoxInsideWeight"]


def _target_outputs(helper: LayerHelper, anchor: Variable, **more: DTypeLike) -> dict[str, Variable]:
    check_variable(helper.layer_type, "anchor_box", anchor)
    slots: dict[str, DTypeLike] = dict.fromkeys(("LocationIndex", "ScoreIndex", "TargetLabel"), "int32")
    slots |= dict.fromkeys(("TargetBBox", "BBoxInsideWeight"), anchor.dtype)
    return _outputs(helper, {**slots, **more})


def _chosen(logits: Variable, classes: int, boxes: Variable, outs: dict[str, Variable]) -> tuple[Variable, Variable]:
    """Return the predictions of the sampled anchors."""
    flat = reshape(logits, shape=(-1, classes))
    flat_boxes = reshape(boxes, shape=(-1, 4))
    return gather(flat, outs["ScoreIndex"]), gather(flat_boxes, outs["LocationIndex"])


def retinanet_target_assign(
    bbox_pred: Variable,
    cls_logits: Variable,
    anchor_box: Variable,
    anchor_var: Variable,
    gt_boxes: Variable,
    gt_labels: Variable,
    is_crowd: Variable,
    im_info: Variable,
    num_classes: int = 1,
    positive_overlap: float = 0.5,
    negative_overlap: float = 0.4,
) -> tuple[Variable, Variable, Variable, Variable, Variable, Variable]:
    """The predictions of anchors, their targets, and one plus the number of anchors that are not background.

    `anchor_var` has no effect, as in Fluid.
    """
    check_variable("retinanet_target_assign", "anchor_var", anchor_var)
    helper = LayerHelper("retinanet_target_assign")
    outs = _target_outputs(helper, anchor_box, ForegroundNumber="int32")
    inputs = {"Anchor": anchor_box, "GtBoxes": gt_boxes, "GtLabels": gt_labels, "IsCrowd": is_crowd, "ImInfo": im_info}
    attrs = {"positive_overlap": positive_overlap, "negative_overlap": negative_overlap}
    _append(helper, "retinanet_target_assign", inputs, outs, attrs)
    scores, boxes = _chosen(cls_logits, num_classes, bbox_pred, outs)
    weights, number = outs["BBoxInsideWeight"], outs["ForegroundNumber"]
    return scores, boxes, outs["TargetLabel"], outs["TargetBBox"], weights, number


def generate_proposal_labels(
    rpn_rois: Variable,
    gt_classes: Variable,
    is_crowd: Variable,
    gt_boxes: Variable,
    im_info: Variable,
    batch_size_per_im: int = 256,
    fg_fraction: float = 0.25,
    fg_thresh: float = 0.25,
    bg_thresh_hi: float = 0.5,
    bg_thresh_lo: float = 0.0,
    bbox_reg_weights: Sequence[float] = _WEIGHTS,
    class_nums: int | None = None,
    use_random: bool = True,
    is_cls_agnostic: bool = False,
    is_cascade_rcnn: bool = False,
) -> tuple[Variable, ...]:
    """Sampled regions, their classes, and the box to predict for each class, with inside and outside weights."""
    helper = LayerHelper("generate_proposal_labels")
    check_variable("generate_proposal_labels", "rpn_rois", rpn_rois)
    kind = check_variable("generate_proposal_labels", "gt_boxes", gt_boxes).dtype
    slots: dict[str, DTypeLike] = {"Rois": rpn_rois.dtype, "LabelsInt32": gt_classes.dtype}
    slots |= dict.fromkeys(("BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"), kind)
    outs = _outputs(helper, slots)
    inputs = {"RpnRois": rpn_rois, "GtClasses": gt_classes, "IsCrowd": is_crowd, "GtBoxes": gt_boxes, "ImInfo": im_info}
    attrs = {
        "batch_size_per_im": batch_size_per_im,
        "fg_fraction": fg_fraction,
        "fg_thresh": fg_thresh,
        "bg_thresh_hi": bg_thresh_hi,
        "bg_thresh_lo": bg_thresh_lo,
        "bbox_reg_weights": as_list(bbox_reg_weights),
        "class_nums": class_nums,
        "use_random": use_random,
        "is_cls_agnostic": is_cls_agnostic,
        "is_cascade_rcnn": is_cascade_rcnn,
    }
    _append(helper, "generate_proposal_labels", inputs, outs, attrs)
    return tuple(outs.values())


def generate_mask_labels(
    im_info: Variable,
    gt_classes: Variable,
    is_crowd: Variable,
    gt_segms: Variable,
    rois: Variable,
    labels_int32: Variable,
    num_classes: int,
    resolution: int,
) -> tuple[Variable, Variable, Variable]:
    """Regions that show objects, their indices among the regions, and the mask to predict for each class."""
    helper = LayerHelper("generate_mask_labels")
    check_variable("generate_mask_labels", "rois", rois)
    outs = _outputs(
        helper, {"MaskRois": rois.dtype, "RoiHasMaskInt32": gt_classes.dtype, "MaskInt32": gt_classes.dtype}
    )
    inputs = {"ImInfo": im_info, "GtClasses": gt_classes, "IsCrowd": is_crowd, "GtSegms": gt_segms, "Rois": rois}
    attrs = {"num_classes": num_classes, "resolution": resolution}
    _append(helper, "generate_mask_labels", {**inputs, "LabelsInt32": labels_int32}, outs, attrs)
    return outs["MaskRois"], outs["RoiHasMaskInt32"], outs["MaskInt32"]


def distribute_fpn_proposals(
    fpn_rois: Variable, min_level: int, max_level: int, refer_level: int, refer_scale: int, name: str | None = None
) -> tuple[list[Variable], Variable]:
    """Boxes divided by size among the levels of a pyramid, and where each one went."""
    if max_level < min_level:
        raise ValueError(f"distribute_fpn_proposals: max_level ({max_level}) is below min_level ({min_level})")
    helper = LayerHelper("distribute_fpn_proposals", name=name)
    dtype = check_variable("distribute_fpn_proposals", "fpn_rois", fpn_rois).dtype
    rois = [helper.create_variable_for_type_inference(dtype) for _ in range(max_level - min_level + 1)]
    restore = helper.create_variable_for_type_inference("int32")
    attrs = {"min_level": min_level, "max_level": max_level, "refer_level": refer_level, "refer_scale": refer_scale}
    outputs = {"MultiFpnRois": rois, "RestoreIndex": restore}
    _append(helper, "distribute_fpn_proposals", {"FpnRois": fpn_rois}, outputs, attrs)
    return rois, restore


def collect_fpn_proposals(
    multi_rois: Sequence[Variable],
    multi_scores: Sequence[Variable],
    min_level: int,
    max_level: int,
    post_nms_top_n: int,
    name: str | None = None,
) -> Variable:
    """The boxes with the best scores among all levels, image by image."""
    levels = max_level - min_level + 1
    helper = LayerHelper("collect_fpn_proposals", name=name)
    rois = [check_part("collect_fpn_proposals", "multi_rois", v) for v in multi_rois][:levels]
    scores = [check_part("collect_fpn_proposals", "multi_scores", v) for v in multi_scores][:levels]
    outs = _outputs(helper, {"FpnRois": rois[0].dtype})
    inputs = {"MultiLevelRois": rois, "MultiLevelScores": scores}
    _append(helper, "collect_fpn_proposals", inputs, outs, {"post_nms_topN": post_nms_top_n})
    return outs["FpnRois"]


def box_decoder_and_assign(
    prior_box: Variable,
    prior_box_var: Variable,
    target_box: Variable,
    box_score: Variable,
    box_clip: float,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """The box of every class, and the box of the best class."""
    helper = LayerHelper("box_decoder_and_assign", name=name)
    dtype = check_variable("box_decoder_and_assign", "prior_box", prior_box).dtype
    outs = _outputs(helper, {"DecodeBox": dtype, "OutputAssignBox": dtype}, stop=False)
    inputs = {"PriorBox": prior_box, "PriorBoxVar": prior_box_var, "TargetBox": target_box, "BoxScore": box_score}
    _append(helper, "box_decoder_and_assign", inputs, outs, {"box_clip": box_clip})
    return outs["DecodeBox"], outs["OutputAssignBox"]


def retinanet_detection_output(
    bboxes: Sequence[Variable],
    scores: Sequence[Variable],
    anchors: Sequence[Variable],
    im_info: Variable,
    score_threshold: float = 0.05,
    nms_top_k: int = 1000,
    keep_top_k: int = 100,
    nms_threshold: float = 0.3,
    nms_eta: float = 1.0,
) -> Variable:
    """Rows [class, score, box] of the non-overlapping boxes of all levels; one sequence for each image.

    Fluid: nms_eta has no effect; a warning says so.
    """
    if nms_eta != 1.0:
        warn_ignored("retinanet_detection_output", "nms_eta")
    helper = LayerHelper("retinanet_detection_output")
    levels = [check_part("retinanet_detection_output", "bboxes", v) for v in bboxes]
    outs = _outputs(helper, {"Out": levels[0].dtype})
    inputs = {"BBoxes": levels, "Scores": list(scores), "Anchors": list(anchors), "ImInfo": im_info}
    attrs = {
        "score_threshold": score_threshold,
        "nms_top_k": nms_top_k,
        "nms_threshold": nms_threshold,
        "keep_top_k": keep_top_k,
        "nms_eta": 1.0,
    }
    _append(helper, "retinanet_detection_output", inputs, outs, attrs)
    return outs["Out"]
