"""Passes over activations: round the inputs of ops without weights, and record how large outputs become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.places import CPUPlace, PlaceLike
from fluidio.program import Block, Operator, OpRole, Variable, unique_name
from fluidio.program.ir_graph import IrGraph
from fluidio.tensor import Scope, global_scope

__all__ = [
    "OUT_SCALE_OPS",
    "AddQuantDequantPass",
    "OutScaleForInferencePass",
    "OutScaleForTrainingPass",
    "input_names",
    "output_names",
]

_ROUNDED = [
    "pool2d",
    "elementwise_add",
    "concat",
    "softmax",
    "argmax",
    "transpose",
    "equal",
    "gather",
    "greater_equal",
    "greater_than",
    "less_equal",
    "less_than",
    "mean",
    "not_equal",
    "reshape",
    "reshape2",
    "bilinear_interp",
    "nearest_interp",
    "trilinear_interp",
    "slice",
    "squeeze",
    "elementwise_sub",
    "mul",
    "matmul",
    "relu",
    "relu6",
    "leaky_relu",
    "tanh",
    "swish",
]
"""The types of ops that AddQuantDequantPass knows."""
OUT_SCALE_OPS = [
    "conv2d",
    "depthwise_conv2d",
    "mul",
    "matmul",
    "relu",
    "leaky_relu",
    "relu6",
    "sigmoid",
    "tanh",
    "prelu",
    "swish",
    "softmax",
    "batch_norm",
    "elementwise_add",
    "pool2d",
    "reshape2",
    "transpose2",
    "concat",
    "elementwise_mul",
    "scale",
]
"""The types of ops whose outputs are measured."""
_INPUTS = ("X", "Y", "Input", "Filter")
_OUTPUTS = {"conv2d": "Output", "depthwise_conv2d": "Output", "batch_norm": "Y"}
_FLOATS = (VarType.FP32, VarType.FP64)


def input_names(op: Operator) -> list[str]:
    """Return the data inputs of an op, without shapes, axes and the like."""
    return [name for slot in _INPUTS for name in op.input(slot)]


def output_names(op: Operator) -> list[str]:
    """Return the results of an op, without what it saves for its gradient."""
    return list(op.output(_OUTPUTS.get(op.type, "Out")))


class _Pass:
    """A pass that keeps numbers from step to step in a scope."""

    def __init__(self, scope: Scope | None) -> None:
        self._scope = scope

    def _kept(self, block: Block, name: str, value: float) -> Variable:
        """Return a new persistable number, initialised in the scope."""
        variable = block.create_var(name=name, shape=[1], dtype="float32", persistable=True, stop_gradient=True)
        scope = self._scope or global_scope()
        scope.var(name).get_tensor().set(np.array([value], np.float32), CPUPlace())
        return variable


def _check_graph(graph: object) -> None:
    if not isinstance(graph, IrGraph):
        raise AssertionError(f"expected an IrGraph, got {type(graph).__name__}")


class AddQuantDequantPass(_Pass):
    """Make ops without weights read inputs rounded as int8 would.

    Args:
        moving_rate: how slowly the rounding range follows the activations.
        quant_bits: the number of bits of an activation.
        skip_pattern: ops built under names with one of these words are left alone.
        quantizable_op_type: the types of ops; all that 1.8.5 knows with `is_full_quantized`.
    """

    _supported_quantizable_op_type = list(_ROUNDED)
    _activation_type = ["relu", "relu6", "leaky_relu", "tanh", "swish"]

    def __init__(
        self,
        scope: Scope | None = None,
        place: PlaceLike | None = None,
        moving_rate: float = 0.9,
        quant_bits: int = 8,
        skip_pattern: str | Sequence[str] = ("skip_quant",),
        quantizable_op_type: Sequence[str] = ("elementwise_add", "pool2d"),
        is_full_quantized: bool = False,
    ) -> None:
        super().__init__(scope)
        self._rate, self._bits = moving_rate, quant_bits
        self._skip = [skip_pattern] if isinstance(skip_pattern, str) else list(skip_pattern)
        self._types = frozenset(_ROUNDED if is_full_quantized else quantizable_op_type)
        if not self._types <= {*_ROUNDED}:
            raise AssertionError(
                f"ops of these types cannot be quantized: {', '.join(sorted(self._types - {*_ROUNDED}))}"
            )

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph; its persistent state is initialised in the scope."""
        _check_graph(graph)
        block = graph.program.global_block()
        rounded: dict[str, str] = {}
        for op in list(block.ops):
            if op.type in self._types and self._takes_activations(block, op):
                op.attrs.update(quantization_type="qat_without_weight", activation_bits=self._bits)
                for name in input_names(op):
                    if name not in rounded:
                        rounded[name] = self._insert(block, op, name, graph.is_test())
                    op._rename_input(name, rounded[name])
        grads = {f"{kind}_grad" for kind in self._types}
        for op in block.ops:
            if op.type in grads:
                for name in set(op.input_arg_names) & rounded.keys():
                    op._rename_input(name, rounded[name])
        return graph

    def _takes_activations(self, block: Block, op: Operator) -> bool:
        scope = str(op.attrs.get("op_namescope", ""))
        if any(word in scope for word in self._skip) or op.attrs.get("op_role", 0) & OpRole.Backward:
            return False
        if op.attrs.get("quantization_type") == "qat_with_weight":  # another pass has already rounded them
            return False
        inputs = [block._find_var_recursive(name) for name in input_names(op)]
        return all(v is not None and not v.persistable and v.dtype in _FLOATS for v in inputs)

    def _insert(self, block: Block, op: Operator, name: str, is_test: bool) -> str:
        source = block._var_recursive(name)
        out = block.create_var(name=f"{name}.quant_dequant", dtype=source.dtype, shape=list(source.shape))
        scale = self._kept(block, f"{name}.quant_dequant.scale", 0.001)
        inputs, outputs = {"X": [name], "InScale": [scale]}, {"Out": [out], "OutScale": [scale]}
        if not is_test:
            for slot, word in (("State", "state"), ("Accum", "accum")):
                kept = self._kept(block, unique_name.generate(f"quant_dequant.{word}"), 1.0)
                inputs[f"In{slot}"], outputs[f"Out{slot}"] = [kept], [kept]
        attrs = {"bit_length": self._bits, "moving_rate": self._rate, "is_test": is_test, "op_role": 0}
        kind = "fake_quantize_dequantize_moving_average_abs_max"
        block._insert_op(op.idx, type=kind, inputs=inputs, outputs=outputs, attrs=attrs)
        return out.name


def _measured(block: Block) -> list[tuple[Operator, str]]:
    """Return the ops whose outputs are measured, with the names of these."""
    found = ((op, name) for op in block.ops if op.type in OUT_SCALE_OPS for name in output_names(op))
    return [(op, name) for op, name in found if block._var_recursive(name).dtype in _FLOATS]


class OutScaleForTrainingPass(_Pass):
    """Record the moving average of the largest value of each output while a graph is trained."""

    def __init__(self, scope: Scope | None = None, place: PlaceLike | None = None, moving_rate: float = 0.9) -> None:
        super().__init__(scope)
        self._rate = moving_rate

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph; `NAME@scale` is the value recorded for the variable NAME."""
        _check_graph(graph)
        block = graph.program.global_block()
        for op, name in _measured(block):
            outputs: dict[str, Any] = {"Out": [name], "OutScale": [self._kept(block, f"{name}@scale", 1.0)]}
            inputs: dict[str, Any] = {"X": [name]}
            if not graph.is_test():
                for slot, word in (("State", "scale_state@"), ("Accum", "scale_accum@")):
                    kept = self._kept(block, unique_name.generate(word), 1.0)
                    inputs[f"In{slot}"], outputs[f"Out{slot}"] = [kept], [kept]
            attrs = {"moving_rate": self._rate, "is_test": graph.is_test(), "op_role": 0}
            made = {"inputs": inputs, "outputs": outputs, "attrs": attrs}
            block._insert_op(op.idx + 1, type="moving_average_abs_max_scale", **made)
        return graph


class OutScaleForInferencePass(_Pass):
    """Write what OutScaleForTrainingPass recorded to the attribute `out_threshold` of the ops."""

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)

    def apply(self, graph: IrGraph) -> IrGraph:
        """Change a graph; AssertionError if nothing was recorded for an output."""
        _check_graph(graph)
        scope = self._scope or global_scope()
        for op, name in _measured(graph.program.global_block()):
            found = scope.find_var(f"{name}@scale")
            if found is None:
                raise AssertionError(f"the scope has no {name}@scale: train with OutScaleForTrainingPass first")
            op._set_attr("out_threshold", float(np.array(found.get_tensor()).reshape(-1)[0]))
        return graph
