"""Layers of Fluid 1.8 that are not here, each with the nearest thing that works."""

from __future__ import annotations

__all__ = []

_RPN = "two-stage detectors are not here; layers.ssd_loss, layers.yolov3_loss and layers.detection_output work"
_NMS = "layers.multiclass_nms suppresses boxes"
_ROI = "layers.roi_pool and layers.roi_align cut out regions"
_SPARSE = "sparse gradients become dense where they are used: fetch the gradient, or build with is_sparse=False"
_MASK = "multiply by a mask of zeros and ones made with NumPy: x * layers.assign(mask)"
_OWN = "write it in Python with layers.py_func, forward and backward"

INSTEAD = {
    "Variable": "it is fluid.framework.Variable",
    "addcmul": "x + value * layers.elementwise_mul(y, z)",
    "addmm": "alpha * layers.matmul(x, y) + beta * input",
    "allclose": "layers.reduce_all(layers.less_equal(layers.abs(x - y), atol + rtol * layers.abs(y)))",
    "box_decoder_and_assign": _RPN,
    "clamp": "layers.clip",
    "collect_fpn_proposals": _RPN,
    "continuous_value_model": _OWN,
    "convert_to_list": "it is layers.utils.convert_to_list",
    "cross": "products of columns taken with layers.slice, joined with layers.concat",
    "deformable_conv": "layers.conv2d",
    "deformable_roi_pooling": _ROI,
    "diag_embed": "layers.diag for one row",
    "dist": "layers.sqrt(layers.reduce_sum(layers.square(x - y)))",
    "distribute_fpn_proposals": _RPN,
    "dot": "layers.reduce_sum(x * y, dim=-1)",
    "elementwise_add_with_weight": "no Fluid had it; layers.elementwise_add of the input times layers.create_parameter",
    "elementwise_equal": "layers.equal",
    "filter_by_instag": "filter the samples in the reader",
    "flip": "layers.reverse",
    "full": "layers.fill_constant",
    "full_like": "layers.zeros_like(x) + value",
    "generate_mask_labels": _RPN,
    "generate_proposal_labels": _RPN,
    "generate_proposals": _RPN,
    "get_tensor_from_selected_rows": _SPARSE,
    "hash": "hash the ids in the reader",
    "index_sample": "layers.gather_nd",
    "index_select": "layers.gather along the first dim",
    "inplace_abn": "layers.batch_norm with act",
    "interpolate": "layers.image_resize",
    "kron": "layers.elementwise_mul of the two, each repeated with layers.expand",
    "locality_aware_nms": _NMS,
    "matrix_nms": _NMS,
    "merge_selected_rows": _SPARSE,
    "meshgrid": "layers.expand",
    "nonzero": "layers.where",
    "polygon_box_transform": _OWN,
    "prroi_pool": _ROI,
    "psroi_pool": _ROI,
    "randint": "layers.cast(layers.uniform_random(shape, min=low, max=high), 'int64')",
    "randn": "layers.gaussian_random",
    "randperm": "feed a permutation made with NumPy",
    "retinanet_detection_output": _RPN,
    "retinanet_target_assign": _RPN,
    "roi_perspective_transform": _ROI,
    "roi_pool_3d": _ROI,
    "roll": "layers.concat of two parts taken with layers.slice",
    "rpn_target_assign": _RPN,
    "sampled_softmax_with_cross_entropy": "layers.nce or layers.hsigmoid; layers.softmax_with_cross_entropy is exact",
    "similarity_focus": _OWN,
    "softmax_cross_entropy_with_logits": "no Fluid had it; layers.softmax_with_cross_entropy",
    "t": "layers.transpose(x, perm=[1, 0])",
    "trace": "layers.reduce_sum(x * layers.eye(n))",
    "tril": _MASK,
    "triu": _MASK,
}
"""What to use for a name that `fluid.layers` does not have."""
