"""`fluid.contrib.slim`: the Compressor trains, quantises and distils, `quantization` rounds; nothing prunes."""

from fluidio.contrib.slim.compressor import Compressor

__all__ = ["Compressor"]
