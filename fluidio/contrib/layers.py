"""`fluid.contrib.layers`: fused ops, recurrent layers over padded batches, layers for matching and CTR models."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio.contrib.basic_rnn import BasicGRUUnit, BasicLSTMUnit, basic_gru, basic_lstm
from fluidio.contrib.matching import (
    match_matrix_tensor,
    rank_attention,
    sequence_topk_avg_pooling,
    tdm_child,
    tdm_sampler,
    tree_conv,
    var_conv_2d,
)
from fluidio.contrib.pyramid_hash import search_pyramid_hash
from fluidio.contrib.small_layers import (
    ctr_metric_bundle,
    fused_embedding_seq_pool,
    multiclass_nms2,
    partial_concat,
    partial_sum,
    shuffle_batch,
)
from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = [
    "BasicGRUUnit",
    "BasicLSTMUnit",
    "basic_gru",
    "basic_lstm",
    "ctr_metric_bundle",
    "fused_elemwise_activation",
    "fused_embedding_seq_pool",
    "match_matrix_tensor",
    "multiclass_nms2",
    "partial_concat",
    "partial_sum",
    "rank_attention",
    "search_pyramid_hash",
    "sequence_topk_avg_pooling",
    "shuffle_batch",
    "tdm_child",
    "tdm_sampler",
    "tree_conv",
    "var_conv_2d",
]

_BINARY = ("elementwise_add", "elementwise_mul")
_UNARY = ("scale", "relu", "tanh", "sigmoid")


def fused_elemwise_activation(
    x: Variable,
    y: Variable,
    functor_list: Sequence[str],
    axis: int = -1,
    scale: float = 0.0,
    save_intermediate_out: bool = True,
) -> Variable:
    """Apply two functors: ["elementwise_add", "relu"] is x + relu(y), ["relu", "elementwise_add"] is relu(x + y)."""
    functors = functor_list.split(",") if isinstance(functor_list, str) else list(functor_list)
    if len(functors) != 2:
        raise ValueError(f"functor_list must be a list of two names, got {functor_list!r}")
    names = [name.strip() for name in functors]
    if sorted(name in _BINARY for name in names) != [False, True]:
        raise ValueError(f"one of the two functors must be elementwise_add or elementwise_mul, got {names}")
    for name in names:
        if name not in (*_BINARY, *_UNARY):
            raise ValueError(f"unknown functor {name!r}: use scale, relu, tanh or sigmoid")
    helper = LayerHelper("fused_elemwise_activation")
    out = helper.create_variable_for_type_inference(x.dtype)
    between = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="fused_elemwise_activation",
        inputs={"X": [x], "Y": [y]},
        outputs={"Out": [out], "IntermediateOut": [between]},
        attrs={
            "axis": axis,
            "scale": float(scale),
            "save_intermediate_out": save_intermediate_out,
            "functor_list": names,
        },
    )
    return out
