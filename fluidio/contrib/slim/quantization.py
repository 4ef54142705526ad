"""`fluid.contrib.slim.quantization`: integer models, by training with simulated rounding or from trained models."""

from fluidio.contrib.slim.activations import AddQuantDequantPass, OutScaleForInferencePass, OutScaleForTrainingPass
from fluidio.contrib.slim.passes import (
    ConvertToInt8Pass,
    QuantizationFreezePass,
    QuantizationTransformPass,
    TransformForMobilePass,
)
from fluidio.contrib.slim.post_training import PostTrainingQuantization
from fluidio.contrib.slim.strategies import QuantizationStrategy
from fluidio.contrib.slim.weight_quantization import WeightQuantization

__all__ = [
    "AddQuantDequantPass",
    "ConvertToInt8Pass",
    "OutScaleForInferencePass",
    "OutScaleForTrainingPass",
    "PostTrainingQuantization",
    "QuantizationFreezePass",
    "QuantizationStrategy",
    "QuantizationTransformPass",
    "TransformForMobilePass",
    "WeightQuantization",
]
