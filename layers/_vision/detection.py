"""Layers for object detection: priors, matching, losses, suppression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable, warn_ignored
from fluidio.program import Variable

__all__ = [
    "anchor_generator",
    "bipartite_match",
    "box_clip",
    "box_coder",
    "density_prior_box",
    "detection_map",
    "detection_output",
    "iou_similarity",
    "multiclass_nms",
    "prior_box",
    "target_assign",
]

_VARIANCE = (0.1, 0.1, 0.2, 0.2)


def _floats(values: Any) -> list[float]:
    if values is None:
        return []
    return [float(v) for v in values] if isinstance(values, (list, tuple)) else [float(values)]


def _boxes(op_type: str, inputs: dict[str, Any], slots: tuple[str, str], attrs: dict[str, Any], name: Any) -> Any:
    helper = LayerHelper(op_type, name=name)
    dtype = inputs["Input"][0].dtype
    boxes = helper.create_variable_for_type_inference(dtype)
    variances = helper.create_variable_for_type_inference(dtype)
    helper.append_op(type=op_type, inputs=inputs, outputs=dict(zip(slots, ([boxes], [variances]))), attrs=attrs)
    boxes.stop_gradient = variances.stop_gradient = True
    return boxes, variances


def prior_box(
    input: Variable,
    image: Variable,
    min_sizes: Any,
    max_sizes: Any = None,
    aspect_ratios: Any = (1.0,),
    variance: Sequence[float] = _VARIANCE,
    flip: bool = False,
    clip: bool = False,
    steps: Sequence[float] = (0.0, 0.0),
    offset: float = 0.5,
    name: str | None = None,
    min_max_aspect_ratios_order: bool = False,
) -> tuple[Variable, Variable]:
    """Boxes of several sizes and shapes around each cell of a feature map, and their variances: [H, W, priors, 4]."""
    if len(steps) != 2:
        raise ValueError(f"prior_box: steps must be a list or tuple (step_width, step_height), got {steps!r}")
    attrs = {
        "min_sizes": _floats(min_sizes),
        "aspect_ratios": _floats(aspect_ratios),
        "variances": _floats(variance),
        "flip": flip,
        "clip": clip,
        "step_w": float(steps[0]),
        "step_h": float(steps[1]),
        "offset": offset,
        "min_max_aspect_ratios_order": min_max_aspect_ratios_order,
    }
    largest = _floats(max_sizes)
    if largest and largest[0] > 0:
        attrs["max_sizes"] = largest
    inputs = {"Input": [check_variable("prior_box", "input", input)], "Image": image}
    found: tuple[Variable, Variable] = _boxes("prior_box", inputs, ("Boxes", "Variances"), attrs, name)
    return found


def density_prior_box(
    input: Variable,
    image: Variable,
    densities: Any = None,
    fixed_sizes: Any = None,
    fixed_ratios: Any = None,
    variance: Sequence[float] = _VARIANCE,
    clip: bool = False,
    steps: Sequence[float] = (0.0, 0.0),
    offset: float = 0.5,
    flatten_to_2d: bool = False,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Boxes of fixed sizes, several of them spread over each cell."""
    if len(densities) != len(fixed_sizes):
        raise ValueError(
            f"density_prior_box: densities and fixed_sizes must have the same length, got {len(densities)} "
            f"and {len(fixed_sizes)}"
        )
    attrs = {
        "variances": _floats(variance),
        "clip": clip,
        "step_w": float(steps[0]),
        "step_h": float(steps[1]),
        "offset": offset,
        "densities": [int(d) for d in densities],
        "fixed_sizes": _floats(fixed_sizes),
        "fixed_ratios": _floats(fixed_ratios),
        "flatten_to_2d": flatten_to_2d,
    }
    inputs = {"Input": [input], "Image": image}
    found: tuple[Variable, Variable] = _boxes("density_prior_box", inputs, ("Boxes", "Variances"), attrs, name)
    return found


def anchor_generator(
    input: Variable,
    anchor_sizes: Any = None,
    aspect_ratios: Any = None,
    variance: Sequence[float] = _VARIANCE,
    stride: Any = None,
    offset: float = 0.5,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Boxes in pixels around each cell of a feature map, and their variances: [H, W, anchors, 4]."""
    if not isinstance(stride, (list, tuple)) or len(stride) != 2:
        raise ValueError(
            f"anchor_generator: stride must be a list or tuple (stride_width, stride_height), got {stride!r}"
        )
    attrs = {
        "anchor_sizes": _floats(anchor_sizes),
        "aspect_ratios": _floats(aspect_ratios),
        "variances": _floats(variance),
        "stride": _floats(stride),
        "offset": offset,
    }
    found: tuple[Variable, Variable] = _boxes(
        "anchor_generator",
        {"Input": [check_variable("anchor_generator", "input", input)]},
        ("Anchors", "Variances"),
        attrs,
        name,
    )
    return found


def iou_similarity(x: Variable, y: Variable, box_normalized: bool = True, name: str | None = None) -> Variable:
    """Intersection over union of each box of x with each of y."""
    helper = LayerHelper("iou_similarity", name=name)
    out = helper.create_variable_for_type_inference(x.dtype)
    inputs = {"X": [x], "Y": y}
    attrs = {"box_normalized": box_normalized}
    helper.append_op(type="iou_similarity", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def box_coder(
    prior_box: Variable,
    prior_box_var: object,
    target_box: Variable,
    code_type: str = "encode_center_size",
    box_normalized: bool = True,
    name: str | None = None,
    axis: int = 0,
) -> Variable:
    """Boxes encoded as offsets from priors or, with code_type "decode_center_size", decoded from them."""
    helper = LayerHelper("box_coder", name=name)
    out = helper.create_variable_for_type_inference(prior_box.dtype)
    inputs: dict[str, Any] = {"PriorBox": [prior_box], "TargetBox": target_box}
    attrs: dict[str, Any] = {"code_type": code_type, "box_normalized": box_normalized, "axis": axis}
    if isinstance(prior_box_var, Variable):
        inputs["PriorBoxVar"] = [prior_box_var]
    elif isinstance(prior_box_var, (list, tuple)):
        attrs["variance"] = _floats(prior_box_var)
    elif prior_box_var is not None:
        raise TypeError(
            f"box_coder: prior_box_var must be a Variable, a list or None, got {type(prior_box_var).__name__}"
        )
    helper.append_op(type="box_coder", inputs=inputs, outputs={"OutputBox": [out]}, attrs=attrs)
    return out


def box_clip(input: Variable, im_info: Variable, name: str | None = None) -> Variable:
    """Boxes clipped to their image; im_info gives the height, width and scale of each image."""
    helper = LayerHelper("box_clip", name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="box_clip", inputs={"Input": [input], "ImInfo": [im_info]}, outputs={"Output": [out]})
    return out


def bipartite_match(
    dist_matrix: Variable, match_type: str | None = None, dist_threshold: float | None = None, name: str | None = None
) -> tuple[Variable, Variable]:
    """For each column, the row it is matched with (-1: none), and their distance."""
    helper = LayerHelper("bipartite_match", name=name)
    indices = helper.create_variable_for_type_inference("int32")
    distance = helper.create_variable_for_type_inference(dist_matrix.dtype)
    helper.append_op(
        type="bipartite_match",
        inputs={"DistMat": [dist_matrix]},
        outputs={"ColToRowMatchIndices": [indices], "ColToRowMatchDist": [distance]},
        attrs={"match_type": match_type, "dist_threshold": dist_threshold},
    )
    return indices, distance


def target_assign(
    input: Variable,
    matched_indices: Variable,
    negative_indices: Variable | None = None,
    mismatch_value: object = None,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """For each prediction, its matched target or mismatch_value, and a weight that says whether it counts."""
    helper = LayerHelper("target_assign", name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    weight = helper.create_variable_for_type_inference("float32")
    inputs: dict[str, Any] = {"X": [input], "MatchIndices": matched_indices}
    if negative_indices is not None:
        inputs["NegIndices"] = [negative_indices]
    helper.append_op(
        type="target_assign",
        inputs=inputs,
        outputs={"Out": [out], "OutWeight": [weight]},
        attrs={"mismatch_value": mismatch_value},
    )
    return out, weight


def multiclass_nms(
    bboxes: Variable,
    scores: Variable,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    nms_threshold: float = 0.3,
    normalized: bool = True,
    nms_eta: float = 1.0,
    background_label: int = 0,
    name: str | None = None,
) -> Variable:
    """Rows [label, score, box] of the boxes that survive suppression; one sequence for each image."""
    helper = LayerHelper("multiclass_nms", name=name)
    attrs = _nms_attrs(score_threshold, nms_top_k, keep_top_k, nms_threshold, normalized, nms_eta, background_label)
    out = helper.create_variable_for_type_inference(bboxes.dtype)
    inputs = {"BBoxes": [bboxes], "Scores": [scores]}
    helper.append_op(type="multiclass_nms", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = True
    return out


def _nms_attrs(
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    nms_threshold: float,
    normalized: bool,
    nms_eta: float,
    background_label: int,
) -> dict[str, Any]:
    return {
        "background_label": background_label,
        "score_threshold": score_threshold,
        "nms_top_k": nms_top_k,
        "nms_threshold": nms_threshold,
        "nms_eta": nms_eta,
        "keep_top_k": keep_top_k,
        "normalized": normalized,
    }


def detection_output(
    loc: Variable,
    scores: Variable,
    prior_box: Variable,
    prior_box_var: Variable,
    background_label: int = 0,
    nms_threshold: float = 0.3,
    nms_top_k: int = 400,
    keep_top_k: int = 200,
    score_threshold: float = 0.01,
    nms_eta: float = 1.0,
    return_index: bool = False,
) -> Any:
    """Detections of SSD: offsets decoded, scores through softmax, overlapping boxes suppressed.

    Fluid: nms_eta has no effect; a warning says so.
    """
    from fluidio.layers._math.dense import softmax
    from fluidio.layers._shape.manipulate import transpose

    helper = LayerHelper("detection_output")
    decoded = box_coder(prior_box, prior_box_var, loc, code_type="decode_center_size")
    by_class = transpose(softmax(scores), perm=[0, 2, 1])
    by_class.stop_gradient = True
    out = helper.create_variable_for_type_inference(decoded.dtype)
    if nms_eta != 1.0:
        warn_ignored("detection_output", "nms_eta")
    attrs = _nms_attrs(score_threshold, nms_top_k, keep_top_k, nms_threshold, True, 1.0, background_label)
    inputs = {"BBoxes": [decoded], "Scores": [by_class]}
    outputs: dict[str, Any] = {"Out": [out]}
    index = None
    if return_index:
        index = helper.create_variable_for_type_inference("int32")
        outputs["Index"] = [index]
        index.stop_gradient = True
    helper.append_op(
        type="multiclass_nms2" if return_index else "multiclass_nms", inputs=inputs, outputs=outputs, attrs=attrs
    )
    out.stop_gradient = True
    return (out, index) if return_index else out


def detection_map(
    detect_res: Variable,
    label: Variable,
    class_num: int | None,
    background_label: int = 0,
    overlap_threshold: float = 0.3,
    evaluate_difficult: bool = True,
    has_state: Variable | None = None,
    input_states: Sequence[Variable] | None = None,
    out_states: Sequence[Variable] | None = None,
    ap_version: str = "integral",
) -> Variable:
    """Mean average precision of detections [label, score, box] against ground truth [label, (difficult,) box].

    Args:
        input_states, out_states: counts of positives, true positives and false positives to start from and to write.
        ap_version: "integral" or "11point".
    """
    helper = LayerHelper("detection_map")
    out = helper.create_variable_for_type_inference("float32")
    states = list(out_states or [])
    if not states:
        states = [helper.create_variable_for_type_inference(t) for t in ("int32", "float32", "float32")]
    inputs: dict[str, Any] = {"DetectRes": [detect_res], "Label": [label]}
    if has_state is not None:
        inputs["HasState"] = [has_state]
    if input_states is not None:
        inputs.update(zip(("PosCount", "TruePos", "FalsePos"), ([state] for state in input_states)))
    helper.append_op(
        type="detection_map",
        inputs=inputs,
        outputs={"MAP": [out], "AccumPosCount": [states[0]], "AccumTruePos": [states[1]], "AccumFalsePos": [states[2]]},
        attrs={
            "overlap_threshold": overlap_threshold,
            "evaluate_difficult": evaluate_difficult,
            "ap_type": ap_version,
            "class_num": class_num,
            "background_label": background_label,
        },
    )
    return out
