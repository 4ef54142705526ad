"""`fluid.transpiler`: rewrite programs for clusters; Fluid's memory optimisations, which have no effect here."""

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
