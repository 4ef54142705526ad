"""`fluid.incubate.fleet.parameter_server.distribute_transpiler`."""

from fluidio.incubate.fleet.single import DistributedOptimizer as TranspilerOptimizer
from fluidio.incubate.fleet.single import fleet
from fluidio.transpiler import DistributeTranspilerConfig

__all__ = ["DistributeTranspilerConfig", "TranspilerOptimizer", "fleet"]
