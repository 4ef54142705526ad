"""The single-shot detector: its head and its loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers._create.tensors import cast, concat
from fluidio.layers._loss.losses import smooth_l1, softmax_with_cross_entropy
from fluidio.layers._math.reductions import reduce_sum
from fluidio.layers._shape.manipulate import flatten, reshape, shape, slice, transpose
from fluidio.layers._vision.conv import conv2d
from fluidio.layers._vision.detection import bipartite_match, box_coder, iou_similarity, prior_box, target_assign
from fluidio.program import Variable

__all__ = ["multi_box_head", "ssd_loss"]


def ssd_loss(
    location: Variable,
    confidence: Variable,
    gt_box: Variable,
    gt_label: Variable,
    prior_box: Variable,
    prior_box_var: object = None,
    background_label: int = 0,
    overlap_threshold: float = 0.5,
    neg_pos_ratio: float = 3.0,
    neg_overlap: float = 0.5,
    loc_loss_weight: float = 1.0,
    conf_loss_weight: float = 1.0,
    match_type: str = "per_prediction",
    mining_type: str = "max_negative",
    normalize: bool = True,
    sample_size: int | None = None,
) -> Variable:
    """The loss of SSD for each image: positions of matched priors, classes of those and of the hardest negatives."""
    if mining_type != "max_negative":
        raise ValueError(f"ssd_loss: mining_type must be 'max_negative', got {mining_type!r}")
    helper = LayerHelper("ssd_loss")
    confidence_shape = shape(confidence)

    matches, distance = bipartite_match(iou_similarity(x=gt_box, y=prior_box), match_type, overlap_threshold)

    labels = reshape(x=gt_label, shape=[*[0] * (len(gt_label.shape) - 1), -1, 1])
    labels.stop_gradient = True
    target, _ = target_assign(labels, matches, mismatch_value=background_label)
    rows = flatten(x=confidence, axis=2)
    target = flatten(x=cast(x=target, dtype="int64"), axis=2)
    target.stop_gradient = True
    class_loss = softmax_with_cross_entropy(rows, target)
    sizes = slice(confidence_shape, axes=[0], starts=[0], ends=[2])
    class_loss = reshape(x=class_loss, shape=[-1, 0], actual_shape=sizes)
    class_loss.stop_gradient = True
    negatives = helper.create_variable_for_type_inference("int32")
    updated = helper.create_variable_for_type_inference(matches.dtype)
    helper.append_op(
        type="mine_hard_examples",
        inputs={"ClsLoss": [class_loss], "MatchIndices": [matches], "MatchDist": [distance]},
        outputs={"NegIndices": [negatives], "UpdatedMatchIndices": [updated]},
        attrs={
            "neg_pos_ratio": neg_pos_ratio,
            "neg_dist_threshold": neg_overlap,
            "mining_type": mining_type,
            "sample_size": sample_size,
        },
    )

    encoded = box_coder(prior_box, prior_box_var, gt_box, code_type="encode_center_size")
    places, place_weight = target_assign(encoded, updated, mismatch_value=background_label)
    target, class_weight = target_assign(labels, updated, negatives, mismatch_value=background_label)

    target = cast(x=flatten(x=target, axis=2), dtype="int64")
    class_loss = softmax_with_cross_entropy(rows, target)
    for constant in (target, class_weight, places, place_weight):
        constant.stop_gradient = True
    weight = flatten(x=class_weight, axis=2)
    weight.stop_gradient = True
    class_loss = class_loss * weight
    predicted = flatten(x=location, axis=2)
    place_rows = flatten(x=places, axis=2)
    place_rows.stop_gradient = True
    place_loss = smooth_l1(predicted, place_rows)
    weight = flatten(x=place_weight, axis=2)
    weight.stop_gradient = True
    place_loss = place_loss * weight

    loss = class_loss * conf_loss_weight + place_loss * loc_loss_weight
    loss = reshape(x=loss, shape=[-1, 0], actual_shape=sizes)
    loss = reduce_sum(loss, dim=1, keep_dim=True)
    if normalize:
        loss = loss / reduce_sum(weight)
    return loss


def _sizes_by_ratio(count: int, base: float, min_ratio: float, max_ratio: float) -> tuple[list[float], list[float]]:
    """Return the layers' min_sizes and max_sizes: a small first one, then evenly from min_ratio to max_ratio."""
    step = math.floor((max_ratio - min_ratio) / (count - 2))
    ratios = [min_ratio + i * step for i in range(count - 1)] if step else [min_ratio] * (count - 1)
    smallest = [base * 0.10, *(base * r / 100.0 for r in ratios)]
    largest = [base * 0.20, *(base * (r + step) / 100.0 for r in ratios)]
    return smallest, largest


def multi_box_head(
    inputs: Sequence[Variable],
    image: Variable,
    base_size: int,
    num_classes: int,
    aspect_ratios: Sequence[Any],
    min_ratio: int | None = None,
    max_ratio: int | None = None,
    min_sizes: Any = None,
    max_sizes: Any = None,
    steps: Any = None,
    step_w: Any = None,
    step_h: Any = None,
    offset: float = 0.5,
    variance: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    flip: bool = True,
    clip: bool = False,
    kernel_size: int = 1,
    pad: int = 0,
    stride: int = 1,
    name: str | None = None,
    min_max_aspect_ratios_order: bool = False,
) -> tuple[Variable, Variable, Variable, Variable]:
    """Priors and predictions from several feature maps.

    Returns:
        offsets [N, priors, 4], scores [N, priors, num_classes], boxes [priors, 4] and variances [priors, 4].
    """
    if not isinstance(inputs, (list, tuple)):
        raise ValueError(f"multi_box_head: inputs must be a list or tuple of feature maps, got {type(inputs).__name__}")
    if min_sizes is None:
        if len(inputs) <= 2:
            raise ValueError("multi_box_head: with one or two feature maps, pass min_sizes and max_sizes")
        if min_ratio is None or max_ratio is None:
            raise ValueError("multi_box_head: pass min_ratio and max_ratio, or min_sizes and max_sizes")
        min_sizes, max_sizes = _sizes_by_ratio(len(inputs), base_size, min_ratio, max_ratio)
    if len(aspect_ratios) != len(inputs):
        raise ValueError(
            f"multi_box_head: aspect_ratios must have one entry for each of the {len(inputs)} feature maps, "
            f"got {len(aspect_ratios)}"
        )
    widths, heights = step_w or steps, step_h or steps
    for word, given in (("steps", widths), ("steps", heights)):
        if given is not None and len(given) != len(inputs):
            raise ValueError(
                f"multi_box_head: {word} must have one entry for each of the {len(inputs)} feature maps, got "
                f"{len(given)}"
            )

    places: list[Variable] = []
    classes: list[Variable] = []
    boxes: list[Variable] = []
    variances: list[Variable] = []
    for i, feature in enumerate(inputs):
        smallest = min_sizes[i] if isinstance(min_sizes[i], (list, tuple)) else [min_sizes[i]]
        largest = None
        if max_sizes is not None:
            largest = max_sizes[i] if isinstance(max_sizes[i], (list, tuple)) else [max_sizes[i]]
        ratios = aspect_ratios[i] if isinstance(aspect_ratios[i], (list, tuple)) else [aspect_ratios[i]]
        step = [widths[i] if widths else 0.0, heights[i] if heights else 0.0]
        box, var = prior_box(
            feature,
            image,
            smallest,
            largest,
            ratios,
            variance,
            flip,
            clip,
            step,
            offset,
            min_max_aspect_ratios_order=min_max_aspect_ratios_order,
        )
        boxes.append(box)
        variances.append(var)
        count = box.shape[2]
        for found, outputs in ((places, 4), (classes, num_classes)):
            conv = conv2d(feature, count * outputs, kernel_size, stride=stride, padding=pad)
            found.append(flatten(transpose(conv, perm=[0, 2, 3, 1]), axis=1))

    flat = [(flatten(box, axis=3), flatten(var, axis=3)) for box, var in zip(boxes, variances)]
    box = concat([b for b, _ in flat])
    var = concat([v for _, v in flat])
    box.stop_gradient = var.stop_gradient = True
    location = reshape(concat(places, axis=1), shape=[0, -1, 4])
    confidence = reshape(concat(classes, axis=1), shape=[0, -1, num_classes])
    return location, confidence, box, var
