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
        for kind in [quantizable_op_type] if isinstance(quantizable_op_type, str) else quantizable_op_type:
            if kind not in self._supported_quantizable_op_type:
                raise AssertionError(f"ops of type {kind!r} cannot be quantized")
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
        Quantization(**self._options)  # raises for wrong arguments now

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
        assert scope is not None, (
            "scope is None: pass the scope that holds the parameters, for example fluid.global_scope()"
        )
        assert place is not None, "place is None: pass the place where the program runs, for example fluid.CPUPlace()"
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
        assert scope is not None, (
            "scope is None: pass the scope that holds the parameters, for example fluid.global_scope()"
        )
        self._scope = scope
        self._op_types = quantizable_op_type or QUANTIZABLE

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph; the scope gets the new weights."""
        store_int8(graph.program, self._scope, self._op_types)
        return graph


_ON_PHONES = {
    "fake_quantize_abs_max": "quantize",
    "fake_quantize_range_abs_max": "quantize",
    "fake_quantize_moving_average_abs_max": "quantize",
    "fake_channel_wise_quantize_abs_max": "quantize",
    "fake_dequantize_max_abs": "dequantize",
    "fake_channel_wise_dequantize_max_abs": "dequantize",
}


class TransformForMobilePass:
    """Give the ops of a frozen graph the names that Paddle Mobile read."""

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph: it runs on phones, not here."""
        for block in graph.program.blocks:
            for op in block.ops:
                op.type = _ON_PHONES.get(op.type, op.type)
        graph.program.note_change()
        return graph
