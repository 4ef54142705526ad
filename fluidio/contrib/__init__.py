"""`fluid.contrib`: the Trainer of 2018, program statistics, and other modules outside Fluid's core."""

from fluidio.contrib import decoder, extend_optimizer, layers, mixed_precision, reader, slim
from fluidio.contrib.checkpoint import CheckpointConfig
from fluidio.contrib.decoder import BeamSearchDecoder, InitState, StateCell, TrainingDecoder
from fluidio.contrib.events import BeginEpochEvent, BeginStepEvent, EndEpochEvent, EndStepEvent
from fluidio.contrib.extend_optimizer import extend_with_decoupled_weight_decay
from fluidio.contrib.inferencer import Inferencer
from fluidio.contrib.layers import (
    BasicGRUUnit,
    BasicLSTMUnit,
    basic_gru,
    basic_lstm,
    ctr_metric_bundle,
    fused_elemwise_activation,
    fused_embedding_seq_pool,
    match_matrix_tensor,
    multiclass_nms2,
    partial_concat,
    partial_sum,
    rank_attention,
    search_pyramid_hash,
    sequence_topk_avg_pooling,
    shuffle_batch,
    tdm_child,
    tdm_sampler,
    tree_conv,
    var_conv_2d,
)
from fluidio.contrib.quantize import QuantizeTranspiler
from fluidio.contrib.reader import distributed_batch_reader
from fluidio.contrib.slim import Compressor
from fluidio.contrib.statistics import memory_usage, op_freq_statistic
from fluidio.contrib.trainer import Trainer
from fluidio.contrib.unsupported import HDFSClient

__all__ = [
    "BasicGRUUnit",
    "BasicLSTMUnit",
    "BeamSearchDecoder",
    "BeginEpochEvent",
    "BeginStepEvent",
    "CheckpointConfig",
    "Compressor",
    "EndEpochEvent",
    "EndStepEvent",
    "HDFSClient",
    "Inferencer",
    "InitState",
    "QuantizeTranspiler",
    "StateCell",
    "Trainer",
    "TrainingDecoder",
    "basic_gru",
    "basic_lstm",
    "ctr_metric_bundle",
    "decoder",
    "distributed_batch_reader",
    "extend_optimizer",
    "extend_with_decoupled_weight_decay",
    "fused_elemwise_activation",
    "fused_embedding_seq_pool",
    "layers",
    "match_matrix_tensor",
    "memory_usage",
    "mixed_precision",
    "multiclass_nms2",
    "op_freq_statistic",
    "partial_concat",
    "partial_sum",
    "rank_attention",
    "reader",
    "search_pyramid_hash",
    "sequence_topk_avg_pooling",
    "shuffle_batch",
    "slim",
    "tdm_child",
    "tdm_sampler",
    "tree_conv",
    "var_conv_2d",
]
