"""`fluid.contrib.slim.core`: the module that held the Compressor."""

from fluidio.contrib.slim.compressor import Compressor

__all__ = ["Compressor"]
