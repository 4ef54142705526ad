"""The inference API of Fluid's C++ library (`fluid.core.create_paddle_predictor`) on the Executor."""

from fluidio.inference.config import AnalysisConfig, NativeConfig
from fluidio.inference.predictor import PaddlePredictor, create_paddle_predictor
from fluidio.inference.tensors import PaddleBuf, PaddleDType, PaddleTensor

__all__ = [
    "AnalysisConfig",
    "NativeConfig",
    "PaddleBuf",
    "PaddleDType",
    "PaddlePredictor",
    "PaddleTensor",
    "create_paddle_predictor",
]
