"""Losses."""

from __future__ import annotations

from typing import Any

from fluidio.dtypes import DTypeLike
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable, warn_like_fluid
from fluidio.param_attr import AttrLike
from fluidio.program import Variable
from fluidio.program.op_def import RIGHT_GRADIENT_ATTR

__all__ = [
    "bpr_loss",
    "center_loss",
    "cross_entropy",
    "dice_loss",
    "huber_loss",
    "kldiv_loss",
    "label_smooth",
    "log_loss",
    "margin_rank_loss",
    "mse_loss",
    "npair_loss",
    "rank_loss",
    "sigmoid_cross_entropy_with_logits",
    "sigmoid_focal_loss",
    "smooth_l1",
    "softmax_with_cross_entropy",
    "square_error_cost",
    "teacher_student_sigmoid_loss",
]


def cross_entropy(input: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100) -> Variable:
    """The loss of predicted probabilities: -log p[label] for each row.

    Args:
        soft_label: labels are distributions over the classes.
        ignore_index: rows with this label have zero loss.
    """
    inputs = {
        "X": [check_variable("cross_entropy", "input", input)],
        "Label": [check_variable("cross_entropy", "label", label)],
    }
    if soft_label:
        helper = LayerHelper("cross_entropy")
        out = helper.create_variable_for_type_inference(input.dtype)
        attrs = {"soft_label": True, "ignore_index": ignore_index}
        helper.append_op(type="cross_entropy", inputs=inputs, outputs={"Y": [out]}, attrs=attrs)
        return out
    helper = LayerHelper("cross_entropy2")
    out = helper.create_variable_for_type_inference(input.dtype)
    x_shape = helper.create_variable_for_type_inference(input.dtype)
    match = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="cross_entropy2",
        inputs=inputs,
        outputs={"Y": [out], "MatchX": [match], "XShape": [x_shape]},
        attrs={"ignore_index": ignore_index},
    )
    return out


def softmax_with_cross_entropy(
    logits: Variable,
    label: Variable,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
    *,
    right_gradient: bool = False,
) -> Any:
    """Cross entropy of softmax(logits), in one op; with return_softmax also the probabilities.

    Fluid: on the CPU, logits of ignored labels have a gradient; `right_gradient` zeroes it.
    """
    check_variable("softmax_with_cross_entropy", "logits", logits)
    helper = LayerHelper("softmax_with_cross_entropy")
    softmax = helper.create_variable_for_type_inference(logits.dtype)
    loss = helper.create_variable_for_type_inference(logits.dtype)
    helper.append_op(
        type="softmax_with_cross_entropy",
        inputs={"Logits": [logits], "Label": label},
        outputs={"Softmax": [softmax], "Loss": [loss]},
        attrs={
            "soft_label": soft_label,
            "ignore_index": ignore_index,
            "numeric_stable_mode": numeric_stable_mode,
            "axis": axis,
            **({RIGHT_GRADIENT_ATTR: True} if right_gradient else {}),
        },
    )
    return (loss, softmax) if return_softmax else loss


def sigmoid_cross_entropy_with_logits(
    x: Variable, label: Variable, ignore_index: int = -100, name: str | None = None, normalize: bool = False
) -> Variable:
    """Cross entropy of sigmoid(x), element by element; normalize divides by the number of elements not ignored."""
    helper = LayerHelper("sigmoid_cross_entropy_with_logits", name=name)
    out = helper.create_variable_for_type_inference(check_variable(helper.layer_type, "x", x).dtype)
    helper.append_op(
        type="sigmoid_cross_entropy_with_logits",
        inputs={"X": [x], "Label": label},
        outputs={"Out": [out]},
        attrs={"ignore_index": ignore_index, "normalize": normalize},
    )
    return out


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """Squared difference of every element."""
    helper = LayerHelper("square_error_cost")
    difference = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="elementwise_sub", inputs={"X": [input], "Y": [label]}, outputs={"Out": [difference]})
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="square", inputs={"X": [difference]}, outputs={"Out": [out]})
    return out


def mse_loss(input: Variable, label: Variable) -> Variable:
    """Mean of squared differences."""
    from fluidio.layers._math.reductions import reduce_mean

    return reduce_mean(square_error_cost(input, label))


def smooth_l1(
    x: Variable,
    y: Variable,
    inside_weight: Variable | None = None,
    outside_weight: Variable | None = None,
    sigma: float | None = None,
) -> Variable:
    """The sum over each row of a loss that is quadratic near zero and linear far from it."""
    helper = LayerHelper("smooth_l1_loss")
    diff = helper.create_variable_for_type_inference(x.dtype)
    loss = helper.create_variable_for_type_inference(x.dtype)
    inputs: dict[str, Any] = {"X": [x], "Y": [y]}
    if inside_weight is not None:
        inputs["InsideWeight"] = inside_weight
    if outside_weight is not None:
        inputs["OutsideWeight"] = outside_weight
        if inside_weight is None:
            warn_like_fluid("smooth_l1", "outside_weight without inside_weight is ignored; pass ones as inside_weight")
    helper.append_op(
        type="smooth_l1_loss",
        inputs=inputs,
        outputs={"Diff": [diff], "Out": [loss]},
        attrs={"sigma": 1.0 if sigma is None else sigma},
    )
    return loss


def huber_loss(input: Variable, label: Variable, delta: float) -> Variable:
    """Quadratic within delta, linear outside."""
    helper = LayerHelper("huber_loss")
    residual = helper.create_variable_for_type_inference(input.dtype)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="huber_loss",
        inputs={"X": [input], "Y": [label]},
        outputs={"Residual": [residual], "Out": [out]},
        attrs={"delta": delta},
    )
    return out


def log_loss(input: Variable, label: Variable, epsilon: float = 1e-4, name: str | None = None) -> Variable:
    """-label * log(p + epsilon) - (1 - label) * log(1 - p + epsilon)."""
    helper = LayerHelper("log_loss", name=name)
    loss = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="log_loss",
        inputs={"Predicted": [input], "Labels": [label]},
        outputs={"Loss": [loss]},
        attrs={"epsilon": epsilon},
    )
    return loss


def kldiv_loss(x: Variable, target: Variable, reduction: str = "mean", name: str | None = None) -> Variable:
    """Kullback-Leibler divergence of log probabilities x from a target: "none", "batchmean", "mean" or "sum"."""
    helper = LayerHelper("kldiv_loss", name=name)
    loss = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="kldiv_loss",
        inputs={"X": [x], "Target": [target]},
        outputs={"Loss": [loss]},
        attrs={"reduction": reduction},
    )
    return loss


def rank_loss(label: Variable, left: Variable, right: Variable, name: str | None = None) -> Variable:
    """log(1 + exp(left - right)) - label * (left - right)."""
    helper = LayerHelper("rank_loss", name=name)
    out = helper.create_variable_for_type_inference("float32")
    inputs = {"Label": [label], "Left": [left], "Right": [right]}
    helper.append_op(type="rank_loss", inputs=inputs, outputs={"Out": [out]})
    return out


def margin_rank_loss(
    label: Variable, left: Variable, right: Variable, margin: float = 0.1, name: str | None = None
) -> Variable:
    """max(0, margin - label * (left - right))."""
    helper = LayerHelper("margin_rank_loss", name=name)
    for word, value in (("label", label), ("left", left), ("right", right)):
        check_variable("margin_rank_loss", word, value)
    out = helper.create_variable_for_type_inference(left.dtype)
    active = helper.create_variable_for_type_inference(left.dtype)
    helper.append_op(
        type="margin_rank_loss",
        inputs={"Label": [label], "X1": [left], "X2": right},
        outputs={"Out": [out], "Activated": [active]},
        attrs={"margin": margin},
    )
    return out


def bpr_loss(input: Variable, label: Variable, name: str | None = None) -> Variable:
    """Bayesian personalised ranking: by how much the label's score exceeds the others."""
    helper = LayerHelper("bpr_loss", name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="bpr_loss", inputs={"X": [input], "Label": [label]}, outputs={"Y": [out]})
    return out


def label_smooth(
    label: Variable,
    prior_dist: Variable | None = None,
    epsilon: float = 0.1,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Variable:
    """(1 - epsilon) * label + epsilon * prior_dist (uniform by default).

    As in Fluid, the label is marked as a constant and gets no gradient.
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"label_smooth: epsilon must lie between 0 and 1, got {epsilon}")
    helper = LayerHelper("label_smooth", name=name)
    label.stop_gradient = True
    out = helper.create_variable_for_type_inference(dtype)
    inputs: dict[str, Any] = {"X": [label]}
    if prior_dist is not None:
        inputs["PriorDist"] = [prior_dist]
    helper.append_op(type="label_smooth", inputs=inputs, outputs={"Out": [out]}, attrs={"epsilon": float(epsilon)})
    return out


def dice_loss(input: Variable, label: Variable, epsilon: float = 1e-05, name: str | None = None) -> Variable:
    """One minus twice the overlap of probabilities and labels divided by their sum, averaged over examples."""
    from fluidio.layers._math.reductions import reduce_mean, reduce_sum
    from fluidio.layers._shape.lookup import one_hot

    hot = one_hot(label, depth=input.shape[-1])
    dims = list(range(1, len(input.shape)))
    overlap = reduce_sum(input * hot, dim=dims)
    whole = reduce_sum(input, dim=dims) + reduce_sum(hot, dim=dims)
    return reduce_mean(1 - overlap * 2 / (whole + epsilon))


def npair_loss(anchor: Variable, positive: Variable, labels: Variable, l2_reg: float = 0.002) -> Variable:
    """N-pair loss of two batches of embeddings whose rows match by label."""
    from fluidio.layers._math.dense import matmul
    from fluidio.layers._math.elementwise import equal, square
    from fluidio.layers._math.reductions import reduce_mean, reduce_sum
    from fluidio.layers._shape.manipulate import expand, reshape, transpose

    batch = labels.shape[0]
    column = reshape(labels, shape=[batch, 1], inplace=True)
    table = expand(column, expand_times=[1, batch])
    same = equal(table, transpose(table, perm=[1, 0])).astype("float32")
    share = same / reduce_sum(same, dim=1, keep_dim=True)
    lengths = reduce_mean(reduce_sum(square(anchor), 1)) + reduce_mean(reduce_sum(square(positive), 1))
    penalty = lengths * 0.25 * l2_reg
    similar = matmul(anchor, positive, transpose_x=False, transpose_y=True)
    entropy = softmax_with_cross_entropy(logits=similar, label=share, soft_label=True)
    return penalty + reduce_mean(reduce_sum(share * entropy, 0))


def center_loss(
    input: Variable, label: Variable, num_classes: int, alpha: Any, param_attr: AttrLike, update_center: bool = True
) -> Variable:
    """Half the squared distance of each row from the centre of its class; centres move at rate alpha."""
    from fluidio.initializer import Constant

    helper = LayerHelper("center_loss", param_attr=param_attr)
    centers = helper.create_parameter(helper.param_attr, [num_classes, input.shape[1]], input.dtype)
    centers.stop_gradient = True
    if isinstance(alpha, Variable):
        rate = alpha
    else:
        rate = helper.create_variable(
            name="centerloss_alpha",
            shape=[1],
            dtype="float32",
            persistable=True,
            stop_gradient=True,
            initializer=Constant(float(alpha)),
        )
    diff = helper.create_variable_for_type_inference(input.dtype)
    loss = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="center_loss",
        inputs={"X": [input], "Label": [label], "Centers": [centers], "CenterUpdateRate": [rate]},
        outputs={"SampleCenterDiff": [diff], "Loss": [loss], "CentersOut": [centers]},
        attrs={"cluster_num": num_classes, "need_update": update_center},
    )
    return loss


def sigmoid_focal_loss(
    x: Variable, label: Variable, fg_num: Variable, gamma: float = 2.0, alpha: float = 0.25
) -> Variable:
    """Cross entropy of sigmoid(x) that gives easy examples little weight; label 0 is the background."""
    helper = LayerHelper("sigmoid_focal_loss")
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="sigmoid_focal_loss",
        inputs={"X": [x], "Label": [label], "FgNum": [fg_num]},
        outputs={"Out": [out]},
        attrs={"gamma": gamma, "alpha": alpha},
    )
    return out


def teacher_student_sigmoid_loss(
    input: Variable, label: Variable, soft_max_up_bound: float = 15.0, soft_max_lower_bound: float = -15.0
) -> Variable:
    """Cross entropy of clicks plus that of a teacher's scores, both encoded in one label."""
    helper = LayerHelper("teacher_student_sigmoid_loss")
    out = helper.create_variable(dtype=input.dtype)
    helper.append_op(
        type="teacher_student_sigmoid_loss",
        inputs={"X": [input], "Label": [label]},
        outputs={"Y": [out]},
        attrs={"soft_max_lower_bound": float(soft_max_lower_bound), "soft_max_up_bound": float(soft_max_up_bound)},
    )
    return out
