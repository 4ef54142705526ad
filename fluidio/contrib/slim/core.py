"""`fluid.contrib.slim.core`: where the Compressor stood."""

from fluidio.contrib.slim.compressor import Compressor

__all__ = ["Compressor"]
