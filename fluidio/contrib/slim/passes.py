"""Passes over weights: training with simulated int8, and the resulting models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.contrib.int8 import QUANTIZABLE, Quantization, freeze, insert, store_int8
from fluidio.dtypes import to_numpy
from fluidio.errors import not_supported
from fluidio.places import CPUPlace, PlaceLike
from fluidio.program import Variable
from fluidio.program.ir_graph import IrGraph
from fluidio.tensor import Scope, global_scope

__all__ = [
    "ConvertToInt8Pass",
    "QuantizationFreezePass",
    "QuantizationTransformPass",
    "TransformForMobilePass",
]


class QuantizationTransformPass:
    """Make convolutions and matrix products read inputs rounded as int8 would."""

    _supported_quantizable_op_type = ["conv2d", "depthwise_conv2d", "mul", "matmul"]

    def __init__(
        self,
        scope: Scope | None = None,
        place: PlaceLike | None = None,
        weight_bits: int = 8,
        activation_bits: int = 8,
        activation_quantize_type: str = "abs_max",
        weight_quantize_type: str = "abs_max",
        window_size: int = 10000,
        moving_rate: float = 0.9,
        skip_pattern: str | Sequence[str] = ("skip_quant",),
        quantizable_op_type: Sequence[str] = QUANTIZABLE,
        **functions: object,
    ) -> None:
        if any(function is not None for function in functions.values()):
            not_supported(f"QuantizationTransformPass({', '.join(functions)})", "leave the functions out")
        self._scope = scope
        self._options: dict[str, Any] = {
            "weight_bits": weight_bits,
            "activation_bits": activation_bits,
            "activation_type": activation_quantize_type,
            "weight_type": weight_quantize_type,
            "window_size": window_size,
            "moving_rate": moving_rate,
            "op_types": tuple(quantizable_op_type),
            "skip_pattern": [skip_pattern] if isinstance(skip_pattern, str) else list(skip_pattern),
        }
        Quantization(**self._options)  # names what is wrong now

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph; its persistent state is initialised in the scope."""
        scope = self._scope or global_scope()

        def start(variable: Variable, value: float) -> None:
            if scope.find_var(variable.name) is None:
                first = np.full([int(d) for d in variable.shape], value, to_numpy(variable.dtype))
                scope.var(variable.name).get_tensor().set(first, CPUPlace())

        insert(graph.program, Quantization(**self._options, is_test=graph.is_test()), start)
        return graph


class QuantizationFreezePass:
    """Convert the weights of a test graph to integers."""

    def __init__(
        self,
        scope: Scope,
        place: PlaceLike | None,
        weight_bits: int = 8,
        activation_bits: int = 8,
        weight_quantize_type: str = "abs_max",
        quantizable_op_type: Sequence[str] | None = None,
    ) -> None:
        assert scope is not None, "The scope cannot be set None."
        assert place is not None, "The place cannot be set None."
        self._scope = scope
        self._how = Quantization(
            weight_bits, activation_bits, weight_type=weight_quantize_type, op_types=quantizable_op_type or QUANTIZABLE
        )

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph that went through QuantizationTransformPass, and the weights in the scope."""
        freeze(graph.program, self._scope, self._how)
        return graph


class ConvertToInt8Pass:
    """Store the weights of a frozen graph as int8."""

    def __init__(self, scope: Scope, place: PlaceLike, quantizable_op_type: Sequence[str] | None = None) -> None:
        assert scope is not None, "The scope cannot be set None."
        self._scope = scope
        self._op_types = quantizable_op_type or QUANTIZABLE

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph; the scope gets the new weights."""
        store_int8(graph.program, self._scope, self._op_types)
        return graph


class TransformForMobilePass:
    """Give the ops of a frozen graph the names that Paddle Mobile read."""

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph: it runs on phones, not here."""
        for block in graph.program.blocks:
            for op in block.ops:
                for old, new in (("fake_quantize", "quantize"), ("fake_dequantize", "dequantize")):
                    if op.type.startswith(old):
                        op.type = new
        graph.program.note_change()
        return graph
