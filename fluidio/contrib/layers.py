"""`fluid.contrib.layers`: fused ops, as the ops they fuse, and recurrent layers over padded batches."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio import layers
from fluidio.contrib.basic_rnn import BasicGRUUnit, BasicLSTMUnit, basic_gru, basic_lstm
from fluidio.contrib.matching import (
    match_matrix_tensor,
    sequence_topk_avg_pooling,
    tdm_child,
    tdm_sampler,
    tree_conv,
    var_conv_2d,
)
from fluidio.contrib.small_layers import (
    ctr_metric_bundle,
    fused_embedding_seq_pool,
    multiclass_nms2,
    partial_concat,
    partial_sum,
    shuffle_batch,
)
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
    "sequence_topk_avg_pooling",
    "shuffle_batch",
    "tdm_child",
    "tdm_sampler",
    "tree_conv",
    "var_conv_2d",
]

_BINARY = {"elementwise_add": layers.elementwise_add, "elementwise_mul": layers.elementwise_mul}


def fused_elemwise_activation(
    x: Variable, y: Variable, functor_list: Sequence[str], axis: int = -1, scale: float = 0.0,
    save_intermediate_out: bool = True,
) -> Variable:  # fmt: skip
    """Apply two functors: ["elementwise_add", "relu"] is x + relu(y), ["relu", "elementwise_add"] is relu(x + y).

    Fluid: one fused op; here the two ops behind it, with the same numbers.
    """
    functors = functor_list.split(",") if isinstance(functor_list, str) else list(functor_list)
    if len(functors) != 2:
        raise ValueError(f"functor_list should be a list of str, and the length should be 2, got {functor_list!r}")
    first, second = (name.strip() for name in functors)
    if first in _BINARY:
        return _BINARY[first](x, _unary(second, y, scale), axis=axis)
    if second in _BINARY:
        return _unary(first, _BINARY[second](x, y, axis=axis), scale)
    raise ValueError(f"one of the two functors must be elementwise_add or elementwise_mul, got {functors}")


def _unary(name: str, x: Variable, factor: float) -> Variable:
    if name == "scale":
        return layers.scale(x, scale=factor)
    if name not in ("relu", "tanh", "sigmoid"):
        raise ValueError(f"functor {name!r}: use scale, relu, tanh or sigmoid")
    out: Variable = getattr(layers, name)(x)
    return out
