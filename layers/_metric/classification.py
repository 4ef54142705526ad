"""Metrics computed inside the program."""

from __future__ import annotations

from typing import Any

from fluidio.era import era
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.layers._math.dense import topk
from fluidio.layers.arguments import warn_ignored
from fluidio.program import Variable

__all__ = ["accuracy", "auc", "mean_iou"]


def accuracy(
    input: Variable, label: Variable, k: int = 1, correct: Variable | None = None, total: Variable | None = None
) -> Variable:
    """The fraction of rows whose label is among the k largest entries."""
    helper = LayerHelper("accuracy")
    values, indices = topk(input, k=k)
    share = helper.create_variable_for_type_inference("float32")
    correct = correct or helper.create_variable_for_type_inference("int32")
    total = total or helper.create_variable_for_type_inference("int32")
    helper.append_op(
        type="accuracy",
        inputs={"Out": [values], "Indices": [indices], "Label": [label]},
        outputs={"Accuracy": [share], "Correct": [correct], "Total": [total]},
    )
    return share


def auc(
    input: Variable,
    label: Variable,
    curve: str = "ROC",
    num_thresholds: int = 2**12 - 1,
    topk: int = 1,
    slide_steps: int = 1,
) -> Any:
    """Area under the ROC curve of the last column of probabilities.

    Args:
        topk: no effect, as in Fluid.

    Returns:
        the area over all batches so far, the area over the last slide_steps batches (0: all), and the four variables
        that hold the counts.
    """
    if topk != 1:
        warn_ignored("auc", "topk")
    helper = LayerHelper("auc")
    whole = helper.create_variable_for_type_inference("float64")
    recent = helper.create_variable_for_type_inference("float64")
    buckets = num_thresholds + 1

    def counts(shape: list[int]) -> Variable:
        variable = helper.create_global_variable(persistable=True, dtype="int64", shape=shape)
        helper.set_variable_initializer(variable, Constant(value=0.0))
        return variable

    rows = slide_steps + 1
    recent_shape = [rows * buckets + 1] if era().auc_counts_batches else [rows, buckets]
    recent_stats = [counts(recent_shape), counts(recent_shape)]
    whole_stats = [counts([1, buckets]), counts([1, buckets])]
    for out, (positive, negative), slides in ((recent, recent_stats, slide_steps), (whole, whole_stats, 0)):
        helper.append_op(
            type="auc",
            inputs={"Predict": [input], "Label": [label], "StatPos": [positive], "StatNeg": [negative]},
            outputs={"AUC": [out], "StatPosOut": [positive], "StatNegOut": [negative]},
            attrs={"curve": curve, "num_thresholds": num_thresholds, "slide_steps": slides},
        )
    return whole, recent, [*recent_stats, *whole_stats]


def mean_iou(input: Variable, label: Variable, num_classes: int) -> tuple[Variable, Variable, Variable]:
    """Intersection over union averaged over classes, and the numbers of wrong and correct predictions by class."""
    helper = LayerHelper("mean_iou")
    mean = helper.create_variable_for_type_inference("float32")
    wrong = helper.create_variable_for_type_inference("int32")
    correct = helper.create_variable_for_type_inference("int32")
    helper.append_op(
        type="mean_iou",
        inputs={"Predictions": [input], "Labels": [label]},
        outputs={"OutMeanIou": [mean], "OutWrong": [wrong], "OutCorrect": [correct]},
        attrs={"num_classes": num_classes},
    )
    return mean, wrong, correct
