"""Position-sensitive and deformable pooling of regions, and other kinds of suppression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fluidio.initializer import Normal
from fluidio.layer_helper import LayerHelper
from fluidio.layers._vision.conv import group_count
from fluidio.layers.arguments import check_variable, per_dim
from fluidio.param_attr import AttrLike
from fluidio.program import Variable
from fluidio.program.arguments import Attrs, Sizes

__all__ = [
    "deformable_conv",
    "deformable_roi_pooling",
    "locality_aware_nms",
    "matrix_nms",
    "polygon_box_transform",
    "prroi_pool",
    "psroi_pool",
    "roi_perspective_transform",
]


def polygon_box_transform(input: Variable, name: str | None = None) -> Variable:
    """Positions of corners from their distances: 4 times the column or row, minus the input."""
    helper = LayerHelper("polygon_box_transform", name=name)
    out = helper.create_variable_for_type_inference(check_variable("polygon_box_transform", "input", input).dtype)
    helper.append_op(type="polygon_box_transform", inputs={"Input": [input]}, outputs={"Output": [out]})
    return out


def _whole(layer: str, name: str, value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{layer}: {name} must be an int, got {type(value).__name__}")
    return value


def _pool_attrs(layer: str, scale: float | Variable, height: object, width: object) -> dict[str, Any]:
    if not isinstance(scale, float):
        raise TypeError(f"{layer}: spatial_scale must be a float, got {type(scale).__name__}")
    rows, columns = _whole(layer, "pooled_height", height), _whole(layer, "pooled_width", width)
    return {"spatial_scale": scale, "pooled_height": rows, "pooled_width": columns}


def psroi_pool(
    input: Variable,
    rois: Variable,
    output_channels: int,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    name: str | None = None,
) -> Variable:
    """The mean of each cell of a grid over each region; each cell has its own channels."""
    helper = LayerHelper("psroi_pool", name=name)
    attrs = _pool_attrs("psroi_pool", spatial_scale, pooled_height, pooled_width)
    attrs["output_channels"] = _whole("psroi_pool", "output_channels", output_channels)
    out = helper.create_variable_for_type_inference(check_variable("psroi_pool", "input", input).dtype)
    inputs = {"X": input, "ROIs": rois}
    helper.append_op(type="psroi_pool", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def prroi_pool(
    input: Variable,
    rois: Variable,
    spatial_scale: float = 1.0,
    pooled_height: int = 1,
    pooled_width: int = 1,
    batch_roi_nums: Variable | None = None,
    name: str | None = None,
) -> Variable:
    """The mean of the interpolated image over each cell of a grid over each region; regions get gradients too."""
    helper = LayerHelper("prroi_pool", name=name)
    attrs = _pool_attrs("prroi_pool", spatial_scale, pooled_height, pooled_width)
    out = helper.create_variable_for_type_inference(check_variable("prroi_pool", "input", input).dtype)
    inputs = {"X": input, "ROIs": rois}
    if batch_roi_nums is not None:
        inputs["BatchRoINums"] = batch_roi_nums
    helper.append_op(type="prroi_pool", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def roi_perspective_transform(
    input: Variable,
    rois: Variable,
    transformed_height: int,
    transformed_width: int,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> tuple[Variable, Variable, Variable]:
    """Each quadrilateral region warped to a rectangle, a mask of its pixels, and the matrix used."""
    helper = LayerHelper("roi_perspective_transform", name=name)
    dtype = check_variable("roi_perspective_transform", "input", input).dtype
    out, mask, matrix, index, weights = (
        helper.create_variable_for_type_inference(kind) for kind in (dtype, "int32", dtype, "int32", dtype)
    )
    helper.append_op(
        type="roi_perspective_transform",
        inputs={"X": [input], "ROIs": [rois]},
        outputs={
            "Out": [out],
            "Out2InIdx": [index],
            "Out2InWeights": [weights],
            "Mask": [mask],
            "TransformMatrix": [matrix],
        },
        attrs={
            "transformed_height": transformed_height,
            "transformed_width": transformed_width,
            "spatial_scale": spatial_scale,
        },
    )
    return out, mask, matrix


def deformable_conv(
    input: Variable,
    offset: Variable,
    mask: Variable | None,
    num_filters: int,
    filter_size: Sizes,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int | None = None,
    deformable_groups: int | None = None,
    im2col_step: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    modulated: bool = True,
    name: str | None = None,
) -> Variable:
    """A convolution that reads each sample at a position shifted by offset and, with `modulated`, times mask.

    Fluid: on the CPU 1.8.5 mixed up or dropped images with an im2col_step above 1; here every step gives the result
    of step 1.
    """
    dtype = check_variable("deformable_conv", "input", input).dtype
    check_variable("deformable_conv", "offset", offset)
    helper = LayerHelper("deformable_conv", name=name, param_attr=param_attr, bias_attr=bias_attr)
    channels, parts = input.shape[1], group_count("deformable_conv", groups)
    if channels % parts:
        raise ValueError(f"deformable_conv: the {channels} channels cannot be divided into {parts} groups")
    kernel = per_dim(filter_size, 2, "filter_size")
    spread = Normal(0.0, math.sqrt(2.0 / (kernel[0] * kernel[1] * channels)), 0)
    shape = [num_filters, channels // parts, *kernel]
    weight = helper.create_parameter(helper.param_attr, shape, dtype, default_initializer=spread)
    out = helper.create_variable_for_type_inference(dtype)
    inputs: dict[str, Any] = {"Input": [input], "Filter": [weight], "Offset": [offset]}
    if modulated:
        inputs["Mask"] = mask
    helper.append_op(
        type="deformable_conv" if modulated else "deformable_conv_v1",
        inputs=inputs,
        outputs={"Output": [out]},
        attrs={
            "strides": per_dim(stride, 2, "stride"),
            "paddings": per_dim(padding, 2, "padding"),
            "dilations": per_dim(dilation, 2, "dilation"),
            "groups": parts,
            "deformable_groups": deformable_groups or 1,
            "im2col_step": im2col_step or 64,
        },
    )
    return helper.append_bias_op(out, dim_start=1, dim_end=2)


def deformable_roi_pooling(
    input: Variable,
    rois: Variable,
    trans: Variable,
    no_trans: bool = False,
    spatial_scale: float = 1.0,
    group_size: Sequence[int] = (1, 1),
    pooled_height: int = 1,
    pooled_width: int = 1,
    part_size: Sequence[int] | None = None,
    sample_per_part: int = 1,
    trans_std: float = 0.1,
    position_sensitive: bool = False,
    name: str | None = None,
) -> Variable:
    """The mean of samples in each cell, shifted by trans, of a grid over each region."""
    helper = LayerHelper("deformable_psroi_pooling", name=name)
    dtype = check_variable("deformable_roi_pooling", "input", input).dtype
    cells = group_size[0] * group_size[1] if position_sensitive else 1
    out = helper.create_variable_for_type_inference(dtype)
    count = helper.create_variable_for_type_inference("int32")
    helper.append_op(
        type="deformable_psroi_pooling",
        inputs={"Input": [input], "ROIs": [rois], "Trans": [trans]},
        outputs={"Output": [out], "TopCount": [count]},
        attrs={
            "no_trans": no_trans,
            "spatial_scale": spatial_scale,
            "output_dim": input.shape[1] // cells,
            "group_size": list(group_size),
            "pooled_height": pooled_height,
            "pooled_width": pooled_width,
            "part_size": list(part_size or (pooled_height, pooled_width)),
            "sample_per_part": sample_per_part,
            "trans_std": trans_std,
        },
    )
    return out


def _suppressed(op_type: str, bboxes: Variable, scores: Variable, attrs: Attrs, name: str | None) -> Any:
    helper = LayerHelper(op_type, name=name)
    out = helper.create_variable_for_type_inference(check_variable(op_type, "bboxes", bboxes).dtype)
    outputs = {"Out": [out]}
    if op_type == "matrix_nms":
        outputs["Index"] = [helper.create_variable_for_type_inference("int64")]
    inputs = {"BBoxes": [bboxes], "Scores": [check_variable(op_type, "scores", scores)]}
    helper.append_op(type=op_type, inputs=inputs, outputs=outputs, attrs=attrs)
    out.stop_gradient = True
    return [variable for (variable,) in outputs.values()]


def matrix_nms(
    bboxes: Variable,
    scores: Variable,
    score_threshold: float,
    post_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    use_gaussian: bool = False,
    gaussian_sigma: float = 2.0,
    background_label: int = 0,
    normalized: bool = True,
    return_index: bool = False,
    name: str | None = None,
) -> Any:
    """Rows [label, score, box] with lower scores where better boxes overlap; with return_index also their indices."""
    attrs = {
        "score_threshold": score_threshold,
        "post_threshold": post_threshold,
        "nms_top_k": nms_top_k,
        "keep_top_k": keep_top_k,
        "use_gaussian": use_gaussian,
        "gaussian_sigma": gaussian_sigma,
        "background_label": background_label,
        "normalized": normalized,
    }
    out, index = _suppressed("matrix_nms", bboxes, scores, attrs, name)
    return (out, index) if return_index else out


def locality_aware_nms(
    bboxes: Variable,
    scores: Variable,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    nms_threshold: float = 0.3,
    normalized: bool = True,
    nms_eta: float = 1.0,
    background_label: int = -1,
    name: str | None = None,
) -> Variable:
    """Rows [label, score, box] after merging overlapping neighbours in the list; scores of one class."""
    shape = check_variable("locality_aware_nms", "scores", scores).shape
    if len(shape) != 3 or shape[1] != 1:
        raise ValueError(f"locality_aware_nms: scores must have shape [N, 1, M], got {list(shape)}")
    attrs = {
        "background_label": background_label,
        "score_threshold": score_threshold,
        "nms_top_k": nms_top_k,
        "nms_threshold": nms_threshold,
        "nms_eta": nms_eta,
        "keep_top_k": keep_top_k,
        "normalized": normalized,
    }
    (out,) = _suppressed("locality_aware_nms", bboxes, scores, attrs, name)
    found: Variable = out
    return found
