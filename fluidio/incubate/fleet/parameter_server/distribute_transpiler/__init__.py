"""`fluid.incubate.fleet.parameter_server.distribute_transpiler`."""

from fluidio.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import (
    AsyncStrategy,
    DistributedStrategy,
    GeoStrategy,
    HalfAsyncStrategy,
    StrategyFactory,
    SyncStrategy,
    TrainerRuntimeConfig,
)
from fluidio.incubate.fleet.parameter_server.distribute_transpiler.transpiled import (
    DistributedTranspiler,
    TranspilerOptimizer,
    fleet,
)
from fluidio.transpiler import DistributeTranspilerConfig

__all__ = [
    "AsyncStrategy",
    "DistributeTranspilerConfig",
    "DistributedStrategy",
    "DistributedTranspiler",
    "GeoStrategy",
    "HalfAsyncStrategy",
    "StrategyFactory",
    "SyncStrategy",
    "TrainerRuntimeConfig",
    "TranspilerOptimizer",
    "fleet",
]
