"""`fluid.contrib.slim`: the Compressor trains and evaluates, `quantization` makes whole numbers; nothing prunes."""

from fluidio.contrib.slim.compressor import Compressor

__all__ = ["Compressor"]
