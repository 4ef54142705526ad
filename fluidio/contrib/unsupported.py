"""Names of `fluid.contrib` that are not built: calling them says what to do instead."""

from __future__ import annotations

from typing import Any

from fluidio.errors import not_supported

__all__ = ["HDFSClient"]

_DECODER = "layers.BeamSearchDecoder with layers.dynamic_decode, or layers.DynamicRNN"
_OWN = "write it in Python with layers.py_func, forward and backward"
_HDFS = "copy the files with `hadoop fs -get`, or read them through fsspec"

INSTEAD = {
    "BasicGRUUnit": "layers.GRUCell, or contrib.layers.basic_gru",
    "BasicLSTMUnit": "layers.LSTMCell, or contrib.layers.basic_lstm",
    "BeamSearchDecoder": _DECODER,
    "InitState": _DECODER,
    "StateCell": _DECODER,
    "TrainingDecoder": _DECODER,
    "convert_dist_to_sparse_program": "there are no parameter servers; train in one process",
    "ctr_metric_bundle": "fluid.metrics, or sums in the program with layers.reduce_sum",
    "extend_with_decoupled_weight_decay": "regularization=fluid.regularizer.L2Decay(...) of an optimizer",
    "fused_embedding_seq_pool": "layers.embedding followed by layers.sequence_pool",
    "load_persistables_for_increment": "fluid.io.load_persistables",
    "load_persistables_for_inference": "fluid.io.load_persistables",
    "match_matrix_tensor": _OWN,
    "multi_download": _HDFS,
    "multi_upload": _HDFS,
    "multiclass_nms2": "layers.multiclass_nms",
    "partial_concat": "layers.concat of parts taken with layers.slice",
    "partial_sum": "layers.sum of parts taken with layers.slice",
    "rank_attention": _OWN,
    "search_pyramid_hash": _OWN,
    "sequence_topk_avg_pooling": _OWN,
    "shuffle_batch": "fluid.io.shuffle in the reader",
    "tdm_child": _OWN,
    "tdm_sampler": _OWN,
    "tree_conv": _OWN,
    "utils": _HDFS,
    "var_conv_2d": _OWN,
}
"""What to use for a name that `fluid.contrib` does not have."""


class HDFSClient:
    """HDFS is not supported."""

    def __init__(self, *args: Any, **options: Any) -> None:
        not_supported("fluid.contrib.HDFSClient", _HDFS)
