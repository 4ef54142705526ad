"""Why a slot or an attribute of an op is in no stored case; docs/ops-compared.md prints the reason."""

from __future__ import annotations

__all__ = ["REASONS"]

_MEMORY = "memory of its own"
_MKLDNN = "MKL-DNN"
_GPU = "GPU"
_ONE_VALUE = "one value allowed"
_NO_TENSOR = "no tensor"
_DECIDED = "differs on purpose"
_SERVER = "servers"
_OPEN = "not drawn"

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
        "hierarchical_sigmoid": "W_Out",
        "match_matrix_tensor": "Tmp",
        "pyramid_hash": "DropPos",
        "sample_logits": "LabelsDim LogitsDim",
        "tdm_sampler": "Out",
        "var_conv_2d": "Col",
    },
    _MKLDNN: {
        "batch_norm": "fuse_with_relu",
        "conv2d": "Bias ResidualData",
        "conv2d_transpose": "Bias",
        "conv3d": "ResidualData",
        "depthwise_conv2d": "Bias ResidualData",
        "depthwise_conv2d_transpose": "Bias",
        "fc": "padding_weights",
        "inplace_abn": "fuse_with_relu",
        "matmul": "fused_reshape_Out fused_transpose_Out",
    },
    _GPU: {
        "batch_norm": "ReserveSpace",
        "inplace_abn": "ReserveSpace use_sync_bn",
    },
    _ONE_VALUE: {
        "data_norm": "data_layout",
        "equal_reduce": "axis",
        "fused_embedding_seq_pool": "combiner",
        "fusion_seqconv_eltadd_relu": "contextStride",
        "fusion_seqpool_concat": "axis",
        "fusion_seqpool_cvm_concat": "axis use_cvm",
        "sequence_conv": "contextStride",
        "truncated_gaussian_random": "dtype",
    },
    _NO_TENSOR: {
        "fake_init": "Out",
        "get_places": "Out",
        "lod_rank_table": "Out",
    },
    _DECIDED: {
        "matmul": "head_number",
    },
    _OPEN: {
        "im2sequence": "Y out_stride",
        "locality_aware_nms": "background_label nms_eta",
        "merge_lod_tensor": "level",
        "merge_lod_tensor_infer": "level",
    },
    _SERVER: {
        "lookup_sparse_table": "auto_grown_table padding_idx",
        "pyramid_hash": "black_list_len distribute_update_vars white_list_len",
    },
}

REASONS: dict[tuple[str, str], str] = {
    (op, name): reason for reason, ops in _TABLE.items() for op, names in ops.items() for name in names.split()
}
