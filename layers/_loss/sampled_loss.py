"""Losses over many classes: noise-contrastive estimation and hierarchical sigmoid."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.initializer import NumpyArrayInitializer
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import warn_like_fluid
from fluidio.ops.random.samplers import alias_tables
from fluidio.param_attr import AttrLike, ParamAttr
from fluidio.program import Variable

__all__ = ["hsigmoid", "nce"]

_SAMPLERS = {"uniform": 0, "log_uniform": 1, "custom_dist": 2}


def nce(
    input: Variable,
    label: Variable,
    num_total_classes: int,
    sample_weight: Variable | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    num_neg_samples: int | None = None,
    name: str | None = None,
    sampler: str = "uniform",
    custom_dist: Any = None,
    seed: int = 0,
    is_sparse: bool = False,
) -> Variable:
    """Return the loss of distinguishing the label from randomly drawn classes, divided by their number."""
    if sampler not in _SAMPLERS:
        raise ValueError(f"nce: unknown sampler {sampler!r}: use one of {', '.join(_SAMPLERS)}")
    helper = LayerHelper("nce", **locals())
    width = input.shape[1]
    weight = helper.create_parameter(helper.param_attr, [num_total_classes, width], input.dtype)
    inputs: dict[str, Any] = {"Input": input, "Label": label, "Weight": weight}
    if helper.bias_attr is not False:
        inputs["Bias"] = helper.create_parameter(helper.bias_attr, [num_total_classes, 1], input.dtype, is_bias=True)
    if sampler == "custom_dist":
        if custom_dist is None or len(custom_dist) != num_total_classes:
            raise ValueError(f"nce: custom_dist must hold one probability for each of the {num_total_classes} classes")
        alias, chance = alias_tables(custom_dist)
        for slot, values, kind in (
            ("CustomDistProbs", custom_dist, "float32"),
            ("CustomDistAlias", alias, "int32"),
            ("CustomDistAliasProbs", chance, "float32"),
        ):
            fill = NumpyArrayInitializer(np.asarray(values, kind))
            inputs[slot] = helper.create_parameter(
                attr=ParamAttr(),
                shape=[num_total_classes],
                dtype=kind,
                default_initializer=fill,
                stop_gradient=True,
            )
    if sample_weight is not None:
        inputs["SampleWeight"] = sample_weight
    negative = 10 if num_neg_samples is None else int(num_neg_samples)
    cost = helper.create_variable_for_type_inference(input.dtype)
    logits = helper.create_variable_for_type_inference(input.dtype)
    labels = helper.create_variable_for_type_inference(label.dtype)
    helper.append_op(
        type="nce",
        inputs=inputs,
        outputs={"Cost": cost, "SampleLogits": logits, "SampleLabels": labels},
        attrs={
            "num_total_classes": int(num_total_classes),
            "num_neg_samples": negative,
            "seed": seed,
            "sampler": _SAMPLERS[sampler],
            "is_sparse": is_sparse,
            "remote_prefetch": is_sparse,
        },
    )
    return cost / (negative + 1)


def hsigmoid(
    input: Variable,
    label: Variable,
    num_classes: int,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    name: str | None = None,
    path_table: Variable | None = None,
    path_code: Variable | None = None,
    is_custom: bool = False,
    is_sparse: bool = False,
) -> Variable:
    """Return the loss along the path to the label in a tree of classes; a complete binary tree by default."""
    helper = LayerHelper("hierarchical_sigmoid", **locals())
    if is_custom and (path_table is None or path_code is None):
        raise ValueError("hsigmoid: a custom tree (is_custom=True) needs both path_table and path_code")
    if not is_custom and (path_table is not None or path_code is not None):
        raise ValueError(
            "hsigmoid: path_table and path_code describe a custom tree: pass is_custom=True as well, or leave them out"
        )
    if num_classes is None or (not is_custom and num_classes < 2):
        raise ValueError(f"hsigmoid: num_classes must be at least 2, got {num_classes}")
    if is_sparse and not is_custom:
        warn_like_fluid("hsigmoid", "only the gradient of a custom tree can be sparse: it is dense here")
        is_sparse = False
    rows = num_classes if is_custom else num_classes - 1
    weight = helper.create_parameter(helper.param_attr, [rows, input.shape[1]], input.dtype)
    inputs: dict[str, Any] = {"X": input, "W": weight, "Label": label}
    if is_custom:
        inputs["PathTable"], inputs["PathCode"] = path_table, path_code
    if helper.bias_attr is not False:
        inputs["Bias"] = helper.create_parameter(helper.bias_attr, [rows, 1], input.dtype, is_bias=True)
    out = helper.create_variable_for_type_inference(input.dtype)
    pre_out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="hierarchical_sigmoid",
        inputs=inputs,
        outputs={"Out": out, "PreOut": pre_out, "W_Out": weight},
        attrs={"num_classes": num_classes, "is_sparse": is_sparse, "remote_prefetch": is_sparse},
    )
    return out
