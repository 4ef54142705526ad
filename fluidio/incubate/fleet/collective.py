"""`fluid.incubate.fleet.collective`."""

from fluidio.incubate.fleet.single import DistributedOptimizer, DistributedStrategy, fleet

CollectiveOptimizer = DistributedOptimizer

__all__ = ["CollectiveOptimizer", "DistributedStrategy", "fleet"]
