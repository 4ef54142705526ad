"""`fluid.incubate.fleet`: training on many machines under one interface."""

from fluidio.incubate.fleet import base, collective, parameter_server

__all__ = ["base", "collective", "parameter_server"]
