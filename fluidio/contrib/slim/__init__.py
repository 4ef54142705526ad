"""`fluid.contrib.slim`: the Compressor (training, quantisation, distillation) and `quantization`; no pruning."""

from fluidio.contrib.slim.compressor import Compressor

__all__ = ["Compressor"]
