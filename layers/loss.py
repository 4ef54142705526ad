"""Losses."""

from __future__ import annotations

from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = ["cross_entropy", "square_error_cost"]


def cross_entropy(input: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100) -> Variable:
    """Loss of probabilities against labels: -log p[label] for each row."""
    helper = LayerHelper("cross_entropy", **locals())
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="cross_entropy",
        inputs={"X": [input], "Label": [label]},
        outputs={"Y": [out]},
        attrs={"soft_label": soft_label, "ignore_index": ignore_index},
    )
    return out


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """Squared difference of every element."""
    helper = LayerHelper("square_error_cost", **locals())
    difference = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="elementwise_sub", inputs={"X": [input], "Y": [label]}, outputs={"Out": [difference]})
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="square", inputs={"X": [difference]}, outputs={"Out": [out]})
    return out
