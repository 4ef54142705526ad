"""Softmax over the true classes and a few sampled ones."""

from __future__ import annotations

from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable
from fluidio.program import Variable

__all__ = ["sampled_softmax_with_cross_entropy"]


def sampled_softmax_with_cross_entropy(
    logits: Variable,
    label: Variable,
    num_samples: int,
    num_true: int = 1,
    remove_accidental_hits: bool = True,
    use_customized_samples: bool = False,
    customized_samples: Variable | None = None,
    customized_probabilities: Variable | None = None,
    seed: int = 0,
) -> Variable:
    """Cross entropy over the true classes and num_samples sampled ones only; low class numbers are likelier."""
    kind = check_variable("sampled_softmax_with_cross_entropy", "logits", logits).dtype
    helper = LayerHelper("sample_logits")
    inputs: dict[str, Any] = {"Logits": [logits], "Labels": [check_variable("sample_logits", "label", label)]}
    if use_customized_samples:
        if customized_samples is None or customized_probabilities is None:
            raise ValueError("use_customized_samples needs customized_samples and customized_probabilities")
        samples, chance = customized_samples, customized_probabilities
        inputs |= {"CustomizedSamples": [samples], "CustomizedProbabilities": [chance]}
    else:
        samples = helper.create_variable_for_type_inference("int64")
        chance = helper.create_variable_for_type_inference(kind)
    sampled, place, hot, logits_dim, labels_dim = (
        helper.create_variable_for_type_inference(dtype) for dtype in (kind, "int64", "float32", kind, label.type)
    )
    helper.append_op(
        type="sample_logits",
        inputs=inputs,
        outputs={
            "Samples": [samples],
            "Probabilities": [chance],
            "SampledLabels": [place],
            "SampledLogits": [sampled],
            "LogitsDim": [logits_dim],
            "LabelsDim": [labels_dim],
        },
        attrs={
            "use_customized_samples": use_customized_samples,
            "uniq": True,
            "remove_accidental_hits": remove_accidental_hits,
            "num_samples": num_samples,
            "seed": seed,
        },
    )
    loss = helper.create_variable_for_type_inference(kind)
    softmax = helper.create_variable_for_type_inference(kind)
    attrs = {"depth": num_samples + 1}
    helper.append_op(type="one_hot", inputs={"X": [place]}, outputs={"Out": [hot]}, attrs=attrs)
    helper.append_op(
        type="softmax_with_cross_entropy",
        inputs={"Logits": [sampled], "Label": [hot]},
        outputs={"Softmax": [softmax], "Loss": [loss]},
        attrs={"soft_label": True, "ignore_index": 0, "numeric_stable_mode": False},
    )
    averaged: Variable = loss / num_true
    return averaged
