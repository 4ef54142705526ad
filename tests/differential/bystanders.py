"""Attributes for other devices, libraries and processes: drawn at times, to see that they change nothing on one CPU."""

from __future__ import annotations

import random
from typing import Any

from tests.differential.protos import proto

__all__ = ["add_bystanders"]

# attribute -> a value off its default, and the ops that read or ignore it
_TABLE: dict[str, tuple[Any, str]] = {
    "auto_grown_table": (False, "lookup_sparse_table"),
    "data_layout": ("NHWC", "data_norm"),
    "distribute_update_vars": ("w", "pyramid_hash"),
    "fuse_with_relu": (True, "batch_norm inplace_abn"),
    "fused_reshape_Out": ([0, 1], "matmul"),
    "fused_transpose_Out": ([1, 0], "matmul"),
    "grad_inplace": (True, "fused_embedding_seq_pool"),
    "is_distributed": (True, "lookup_table lookup_table_v2"),
    "is_test": (True, "conv2d conv2d_transpose conv3d depthwise_conv2d depthwise_conv2d_transpose pool2d softmax"),
    "min_row_size_to_use_multithread": (7, "adam"),
    "padding_idx": (1, "lookup_sparse_table lookup_table_dequant"),
    "seed": (5, "sample_logits tdm_sampler"),
    "startup_seed": (5, "shuffle_batch"),
    "sync_stats": (True, "data_norm"),
    "use_sync_bn": (True, "inplace_abn"),
    "x_data_format": ("NCHW", "elementwise_"),
    "y_data_format": ("NCHW", "elementwise_"),
}


def add_bystanders(op: str, attrs: dict[str, Any], rng: random.Random) -> None:
    """Set some of the op's bystanders, each in a third of the cases."""
    for name in proto(op)["attrs"]:
        value, ops = _TABLE.get(name, (None, ""))
        listed = any(op == word or (word.endswith("_") and op.startswith(word)) for word in ops.split())
        if listed and name not in attrs and rng.random() < 0.33:
            attrs[name] = value
