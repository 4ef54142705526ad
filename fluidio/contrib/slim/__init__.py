"""`fluid.contrib.slim`: the Compressor (quantisation, distillation), pruners, controllers and `quantization`."""

from fluidio.contrib.slim.compressor import Compressor

__all__ = ["Compressor"]
