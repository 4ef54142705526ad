"""Fluid's modules and names, and where each of them is in fluidio."""

from fluidio.names.find import find
from fluidio.names.table import FluidModule, has_module, key_of, module, modules

__all__ = ["FluidModule", "find", "has_module", "key_of", "module", "modules"]
