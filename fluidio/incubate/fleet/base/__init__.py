"""`fluid.incubate.fleet.base`: roles."""

from fluidio.incubate.fleet.base import role_maker

__all__ = ["role_maker"]
