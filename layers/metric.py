"""Metrics computed inside the program."""

from __future__ import annotations

from fluidio.layer_helper import LayerHelper
from fluidio.layers.nn import topk
from fluidio.program import Variable

__all__ = ["accuracy"]


def accuracy(
    input: Variable, label: Variable, k: int = 1, correct: Variable | None = None, total: Variable | None = None
) -> Variable:
    """Share of rows whose label is among the k largest entries."""
    helper = LayerHelper("accuracy", **locals())
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
