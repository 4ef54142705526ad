"""Layers of Fluid 1.8 that are not here, each with the nearest thing that works: a layer that comes needs no line."""

from __future__ import annotations

__all__ = ["MISSING_LAYERS"]

_RPN = "two-stage detectors are not here; layers.ssd_loss, layers.yolov3_loss and layers.detection_output work"
_NMS = "layers.multiclass_nms suppresses boxes"
_ROI = "layers.roi_pool and layers.roi_align cut out regions"
_SPARSE = "sparse gradients become dense where they are used: fetch the gradient, or build with is_sparse=False"
_OWN = "write it in Python with layers.py_func, forward and backward"

MISSING_LAYERS = {
    "box_decoder_and_assign": _RPN,
    "collect_fpn_proposals": _RPN,
    "deformable_conv": "layers.conv2d",
    "deformable_roi_pooling": _ROI,
    "distribute_fpn_proposals": _RPN,
    "elementwise_add_with_weight": "no Fluid had it; layers.elementwise_add of the input times layers.create_parameter",
    "generate_mask_labels": _RPN,
    "generate_proposal_labels": _RPN,
    "generate_proposals": _RPN,
    "get_tensor_from_selected_rows": _SPARSE,
    "inplace_abn": "layers.batch_norm with act",
    "locality_aware_nms": _NMS,
    "matrix_nms": _NMS,
    "merge_selected_rows": _SPARSE,
    "polygon_box_transform": _OWN,
    "prroi_pool": _ROI,
    "psroi_pool": _ROI,
    "retinanet_detection_output": _RPN,
    "retinanet_target_assign": _RPN,
    "roi_perspective_transform": _ROI,
    "roi_pool_3d": _ROI,
    "rpn_target_assign": _RPN,
    "sampled_softmax_with_cross_entropy": "layers.nce or layers.hsigmoid; layers.softmax_with_cross_entropy is exact",
    "softmax_cross_entropy_with_logits": "no Fluid had it; layers.softmax_with_cross_entropy",
}
"""What to use for a name that `fluid.layers` does not have."""
