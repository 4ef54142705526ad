"""Facts of 1.8.5 about op types that programs query through `fluid.core`; nothing here depends on them."""

from __future__ import annotations

__all__ = ["WITHOUT_GRAD_MAKER", "WITHOUT_KERNEL", "WRITES_IN_PLACE"]

WITHOUT_GRAD_MAKER = frozenset(
    [
        "attention_lstm",
        "beam_search",
        "c_comm_init",
        "c_comm_init_all",
        "c_reducescatter",
        "c_sync_calc_stream",
        "c_sync_comm_stream",
        "coalesce_tensor",
        "dequantize",
        "distributed_lookup_table",
        "fused_embedding_fc_lstm",
        "fusion_gru",
        "fusion_lstm",
        "fusion_repeated_fc_relu",
        "fusion_seqconv_eltadd_relu",
        "fusion_seqexpand_concat_fc",
        "fusion_seqpool_concat",
        "fusion_squared_mat_sub",
        "gather_tree",
        "get_tensor_from_selected_rows",
        "listen_and_serv",
        "load",
        "load_combine",
        "merge_ids",
        "merge_selected_rows",
        "push_box_sparse",
        "push_sparse",
        "push_sparse_v2",
        "quantize",
        "recv_save",
        "requantize",
        "save",
        "save_combine",
        "split_ids",
    ]
)
"""Forward ops that have no gradient maker, not even one that makes no ops."""

_FORWARD = """
    affine_channel assign bce_loss ceil clip elementwise_add elementwise_sub elu exp flatten flatten2 floor
    group_norm hard_sigmoid leaky_relu lod_reset reciprocal relu relu6 reshape reshape2 round rsqrt scale scatter
    sigmoid sigmoid_cross_entropy_with_logits soft_relu softmax softmax_with_cross_entropy sqrt square squeeze2
    sum tanh unsqueeze2
"""
_GRADIENTS = """
    abs acos affine_channel asin atan bce_loss brelu ceil clip cos elementwise_add elementwise_sub elu exp
    flatten2 flatten floor group_norm hard_shrink hard_sigmoid hard_swish leaky_relu lod_reset log1p log
    logsigmoid pow reciprocal relu6 relu reshape2 reshape round rsqrt scatter sigmoid_cross_entropy_with_logits
    sigmoid sin soft_relu softmax softmax_with_cross_entropy softplus softshrink softsign sqrt square squeeze2
    stanh swish tanh tanh_shrink thresholded_relu unsqueeze2
"""
_SECOND_GRADIENTS = """
    elementwise_add elementwise_div elementwise_mul elementwise_sub elu instance_norm leaky_relu relu reshape2
    sqrt square
"""

WRITES_IN_PLACE = frozenset(
    [
        *_FORWARD.split(),
        *(f"{name}_grad" for name in _GRADIENTS.split()),
        *(f"{name}_grad_grad" for name in _SECOND_GRADIENTS.split()),
    ]
)
"""Ops that may write an output over an input."""

_KERNELLESS = """
    array_to_lod_tensor beam_search_decode c_comm_init c_comm_init_all c_sync_calc_stream c_sync_comm_stream
    checkpoint_notify conditional_block conditional_block_infer create_double_buffer_reader create_py_reader
    delete_var fake_init feed fetch fetch_barrier fl_listen_and_serv get_places listen_and_serv lod_array_length
    lod_rank_table lod_tensor_to_array lookup_sparse_table max_sequence_len merge_lod_tensor
    merge_lod_tensor_infer prefetch print py_func read read_from_array recurrent recv reorder_lod_tensor_by_rank
    rnn_memory_helper select_input select_output send send_barrier shrink_rnn_memory split_lod_tensor
    tensor_array_to_tensor while write_to_array
"""

WITHOUT_KERNEL = frozenset(_KERNELLESS.split())
"""Ops without a device kernel, which every device supports."""
