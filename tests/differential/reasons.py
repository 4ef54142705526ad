"""Why a slot or an attribute of an op is in no stored case; docs/ops-compared.md prints the reason."""

from __future__ import annotations

__all__ = ["REASONS"]

_MEMORY = "memory of its own"
_MKLDNN = "MKL-DNN"
_GPU = "GPU"
_ONE_VALUE = "one value allowed"
_NO_TENSOR = "no tensor"
_EMPTY = "left empty"
_NO_EFFECT = "no effect"
_DECIDED = "differs on purpose"

# reason -> op -> names
_TABLE: dict[str, dict[str, str]] = {
    _MEMORY: {
        "attention_lstm": "AttentionFCOut LSTMOUT LSTMX",
        "coalesce_tensor": "FusedOutput",
        "fake_quantize_range_abs_max": "OutScales",
        "fused_embedding_fc_lstm": "BatchedCell BatchedHidden BatchedInput ReorderedC0 ReorderedH0 XX",
        "fusion_gru": "BatchedInput BatchedOut ReorderedH0 XX",
        "fusion_lstm": "BatchedCell BatchedHidden BatchedInput CheckedCell ReorderedC0 ReorderedH0 XX",
        "fusion_seqconv_eltadd_relu": "ColMat",
        "fusion_seqexpand_concat_fc": "FCOut",
        "match_matrix_tensor": "Tmp",
        "pyramid_hash": "DropPos",
        "tdm_sampler": "Out",
        "var_conv_2d": "Col",
    },
    _MKLDNN: {
        "conv2d": "Bias ResidualData",
        "conv2d_transpose": "Bias",
        "conv3d": "ResidualData",
        "depthwise_conv2d": "Bias ResidualData",
        "depthwise_conv2d_transpose": "Bias",
        "fc": "padding_weights",
    },
    _GPU: {
        "batch_norm": "ReserveSpace",
        "inplace_abn": "ReserveSpace",
    },
    _ONE_VALUE: {
        "fused_embedding_seq_pool": "combiner",
        "fusion_seqconv_eltadd_relu": "contextStride",
        "fusion_seqpool_concat": "axis",
        "fusion_seqpool_cvm_concat": "axis use_cvm",
        "sequence_conv": "contextStride",
        "sequence_softmax": "data_format",
        "softmax": "data_format",
        "transpose": "data_format",
        "transpose2": "data_format",
        "truncated_gaussian_random": "dtype",
    },
    _EMPTY: {
        "hierarchical_sigmoid": "W_Out",
        "sample_logits": "LabelsDim LogitsDim",
    },
    _NO_EFFECT: {
        "equal_reduce": "axis",
    },
    _NO_TENSOR: {
        "fake_init": "Out",
        "get_places": "Out",
        "lod_rank_table": "Out",
    },
    _DECIDED: {
        "matmul": "head_number",
    },
}

REASONS: dict[tuple[str, str], str] = {
    (op, name): reason for reason, ops in _TABLE.items() for op, names in ops.items() for name in names.split()
}
