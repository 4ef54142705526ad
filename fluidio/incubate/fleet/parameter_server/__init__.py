"""`fluid.incubate.fleet.parameter_server`."""

from fluidio.incubate.fleet.parameter_server import distribute_transpiler

__all__ = ["distribute_transpiler"]
