"""`fluid.contrib`: the Trainer of 2018, statistics of programs, and what stood beside the core."""

from fluidio.contrib import layers, mixed_precision, reader, slim
from fluidio.contrib.checkpoint import CheckpointConfig
from fluidio.contrib.events import BeginEpochEvent, BeginStepEvent, EndEpochEvent, EndStepEvent
from fluidio.contrib.inferencer import Inferencer
from fluidio.contrib.layers import basic_gru, basic_lstm, fused_elemwise_activation
from fluidio.contrib.quantize import QuantizeTranspiler
from fluidio.contrib.reader import distributed_batch_reader
from fluidio.contrib.slim import Compressor
from fluidio.contrib.statistics import memory_usage, op_freq_statistic
from fluidio.contrib.trainer import Trainer
from fluidio.contrib.unsupported import HDFSClient

__all__ = [
    "BeginEpochEvent",
    "BeginStepEvent",
    "CheckpointConfig",
    "Compressor",
    "EndEpochEvent",
    "EndStepEvent",
    "HDFSClient",
    "Inferencer",
    "QuantizeTranspiler",
    "Trainer",
    "basic_gru",
    "basic_lstm",
    "distributed_batch_reader",
    "fused_elemwise_activation",
    "layers",
    "memory_usage",
    "mixed_precision",
    "op_freq_statistic",
    "reader",
    "slim",
]
