"""`contrib.QuantizeTranspiler`: training stays in float32."""

from __future__ import annotations

import warnings
from typing import Any

from fluidio.errors import not_supported
from fluidio.program import Program

__all__ = ["QuantizeTranspiler"]


class QuantizeTranspiler:
    """Leave programs in float32.

    Fluid: ops that imitate the rounding of int8 were put into the program, so that the network learnt to live with
    it. Here training and inference stay in float32, with a warning; only `convert_to_int8` raises.
    """

    def __init__(
        self,
        weight_bits: int = 8,
        activation_bits: int = 8,
        activation_quantize_type: str = "abs_max",
        weight_quantize_type: str = "abs_max",
        window_size: int = 10000,
        moving_rate: float = 0.9,
    ) -> None:
        for name, kind in (("activation", activation_quantize_type), ("weight", weight_quantize_type)):
            if kind not in ("abs_max", "range_abs_max", "moving_average_abs_max", "channel_wise_abs_max"):
                raise ValueError(f"Unknown {name}_quantize_type: {kind!r}")
        self.weight_bits = weight_bits
        self.activation_bits = activation_bits

    def training_transpile(self, program: Program | None = None, startup_program: Program | None = None) -> None:
        """Warn that the program is trained as it is."""
        warnings.warn("QuantizeTranspiler: the program is trained in float32, without rounding to int8", stacklevel=2)

    def freeze_program(self, program: Program, place: Any, scope: Any = None) -> None:
        """Leave the program as it is."""

    def convert_to_int8(self, program: Program, place: Any, scope: Any = None) -> None:
        not_supported("QuantizeTranspiler.convert_to_int8", "save the float32 model and quantise it with another tool")
