"""`fluid.transpiler`: what rewrote programs for clusters and for memory, as far as one machine needs it."""

from fluidio.transpiler.dispatcher import HashName, RoundRobin
from fluidio.transpiler.distribute import DistributeTranspiler, DistributeTranspilerConfig
from fluidio.transpiler.passes import InferenceTranspiler, memory_optimize, release_memory

__all__ = [
    "DistributeTranspiler",
    "DistributeTranspilerConfig",
    "HashName",
    "InferenceTranspiler",
    "RoundRobin",
    "memory_optimize",
    "release_memory",
]
