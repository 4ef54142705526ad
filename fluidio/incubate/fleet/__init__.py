"""`fluid.incubate.fleet` with one worker."""

from fluidio.incubate.fleet import base, collective, parameter_server
from fluidio.incubate.fleet.single import DistributedOptimizer, DistributedStrategy, Fleet, fleet

__all__ = [
    "DistributedOptimizer",
    "DistributedStrategy",
    "Fleet",
    "base",
    "collective",
    "fleet",
    "parameter_server",
]
