"""Quantize programs to int8: simulate rounding during training, then convert the weights to integers.

A quantised variable `x` becomes `x.quantized`, whole numbers of steps, and with its scale `x.scale` the values
`x.quantized.dequantized`. Gradients pass the rounding as if it were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fluidio.places import CPUPlace
from fluidio.program import Block, Operator, Program, Variable, unique_name
from fluidio.tensor import Scope

__all__ = ["QUANTIZABLE", "Quantization", "freeze", "insert", "store_int8"]

QUANTIZABLE = ("conv2d", "depthwise_conv2d", "mul")
_CONVOLUTIONS = ("conv2d", "depthwise_conv2d")
_ACTIVATIONS = ("abs_max", "range_abs_max", "moving_average_abs_max")
_WEIGHTS = ("abs_max", "channel_wise_abs_max", "range_abs_max", "moving_average_abs_max")
_COUNTER = "@STEP_COUNTER@"
_FORWARD = 0

Start = Callable[[Variable, float], None]
"""Sets the initial value of a new persistable variable."""


@dataclass
class Quantization:
    """What is rounded, and how."""

    weight_bits: int = 8
    activation_bits: int = 8
    activation_type: str = "abs_max"
    weight_type: str = "abs_max"
    window_size: int = 10000
    moving_rate: float = 0.9
    op_types: Sequence[str] = QUANTIZABLE
    skip_pattern: Sequence[str] = ()
    is_test: bool = False
    weights_last: bool = False
    marks_ops: bool = True
    values: dict[str, str] = field(default_factory=dict)
    """Variable -> its rounded values."""

    def __post_init__(self) -> None:
        for name, kind, known in (
            ("activation", self.activation_type, _ACTIVATIONS),
            ("weight", self.weight_type, _WEIGHTS),
        ):
            if kind not in known:
                raise ValueError(f"{name}_quantize_type must be one of {', '.join(known)}, got {kind!r}")


def insert(program: Program, how: Quantization, start: Start) -> None:
    """Make the quantizable ops of a program, and their gradients, read rounded inputs."""
    for block in program.blocks:
        for op in list(block.ops):
            if _is_quantizable(op, how):
                _round_inputs(block, op, how, start)
    gradients = {f"{kind}_grad" for kind in how.op_types}
    for block in program.blocks:
        for op in block.ops:
            if op.type in gradients and not _is_skipped(op, how):
                for name in op.input_arg_names:
                    if name in how.values:
                        op._rename_input(name, how.values[name])
    program.note_change()


def _is_skipped(op: Operator, how: Quantization) -> bool:
    """Return whether an op is excluded by its name; it is then marked."""
    scope = str(op.attrs.get("op_namescope", ""))
    if any(pattern in scope for pattern in how.skip_pattern):
        op.attrs["skip_quant"] = True
    return bool(op.attrs.get("skip_quant", False))


def _is_quantizable(op: Operator, how: Quantization) -> bool:
    if op.type not in how.op_types or _is_skipped(op, how):
        return False
    if op.attrs.get("quantization_type") == "qat_without_weight":  # another pass has already rounded its inputs
        return False
    return any(_is_weight(op.block, name) for name in op.input_arg_names)


def _is_weight(block: Block, name: str) -> bool:
    variable = block._find_var_recursive(name)
    return variable is not None and variable.persistable


def _round_inputs(block: Block, op: Operator, how: Quantization, start: Start) -> None:
    slots = sorted(op.slots_in, reverse=how.weights_last)
    for name in [name for slot in slots for name in op.input(slot)]:
        if name not in how.values:
            how.values[name] = _rounded(block, op, name, how, start)
        op._rename_input(name, how.values[name])
    if how.marks_ops:
        op.attrs["quantization_type"] = "qat_with_weight"


def _rounded(block: Block, op: Operator, name: str, how: Quantization, start: Start) -> str:
    """Insert the ops that round a variable before an op; return the name of the result."""
    is_weight = _is_weight(block, name)
    bits = how.weight_bits if is_weight else how.activation_bits
    kind = how.weight_type if is_weight else how.activation_type
    if kind == "channel_wise_abs_max" and op.type not in _CONVOLUTIONS:
        kind = "abs_max"
    whole, scale, values = f"{name}.quantized", f"{name}.scale", f"{name}.quantized.dequantized"
    inputs, outputs, attrs = _state(block, op, name, scale, kind, how, start)
    attrs = {"bit_length": bits, **attrs}
    quantize = "fake_channel_wise_quantize_abs_max" if kind[0] == "c" else f"fake_quantize_{kind}"
    _insert(block, op, quantize, {"X": [name], **inputs}, {"Out": [whole], "OutScale": [scale], **outputs}, attrs)
    back, given = "fake_dequantize_max_abs", {"Scale": [scale]}
    more: dict[str, Any] = {"max_range": float(_steps(bits))}
    if kind == "channel_wise_abs_max":
        back, given, more = "fake_channel_wise_dequantize_max_abs", {"Scales": [scale]}, {"quant_bits": [bits]}
    _insert(block, op, back, {"X": [whole], **given}, {"Out": [values]}, more)
    return values


def _steps(bits: int) -> int:
    return (1 << (bits - 1)) - 1


def _insert(
    block: Block, before: Operator, kind: str, inputs: object, outputs: object, attrs: dict[str, Any]
) -> Operator:
    at = next(i for i, op in enumerate(block.ops) if op is before)
    return block._insert_op(at, type=kind, inputs=inputs, outputs=outputs, attrs={**attrs, "op_role": _FORWARD})


def _state(
    block: Block, op: Operator, name: str, scale: str, kind: str, how: Quantization, start: Start
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the inputs, outputs and attributes of an op that keeps a scale from step to step."""
    if kind not in ("range_abs_max", "moving_average_abs_max"):
        return {}, {}, {}
    _kept(block, scale, [1], "float32", 0.001, start)
    inputs, outputs = {"InScale": [scale]}, {}
    attrs: dict[str, Any] = {"is_test": how.is_test}
    if kind == "range_abs_max":
        attrs["window_size"] = how.window_size
        if not how.is_test:
            scales = unique_name.generate("scales")
            _kept(block, scales, [how.window_size], "float32", 0.0, start)
            _count_steps(block, start)
            inputs["Iter"], outputs["OutScales"] = [_COUNTER], [scales]
        return inputs, outputs, attrs
    attrs["moving_rate"] = how.moving_rate
    if not how.is_test:
        state, accum = unique_name.generate("state"), unique_name.generate("accum")
        for kept in (state, accum):
            _kept(block, kept, [1], "float32", 1.0, start)
        inputs.update(InAccum=[accum], InState=[state])
        outputs.update(OutAccum=[accum], OutState=[state])
    return inputs, outputs, attrs


def _kept(block: Block, name: str, shape: list[int], dtype: str, value: float, start: Start) -> None:
    """Create a persistable variable with its initial value."""
    root = block.program.global_block()
    variable = root.vars.get(name)
    if variable is None:
        variable = root.create_var(name=name, shape=shape, dtype=dtype, persistable=True, stop_gradient=True)
        start(variable, value)


def _count_steps(block: Block, start: Start) -> None:
    root = block.program.global_block()
    if not root.has_var(_COUNTER) or not any(_COUNTER in op.output_arg_names for op in root.ops):
        _kept(block, _COUNTER, [1], "int64", 0.0, start)
        root._insert_op(
            0,
            type="increment",
            inputs={"X": [_COUNTER]},
            outputs={"Out": [_COUNTER]},
            attrs={"step": 1.0, "op_role": _FORWARD},
        )


def freeze(program: Program, scope: Scope, how: Quantization) -> None:
    """Convert the weights to integers, and make the quantizable ops work on integers."""
    freezer = _Freezer(scope, how)
    for block in program.blocks:
        freezer.freeze(block)
        _drop_unused(block)
    program.note_change()


class _Freezer:
    def __init__(self, scope: Scope, how: Quantization) -> None:
        self.scope = scope
        self.how = how
        self.scales: dict[str, Any] = {}  # of the weights that are integers already

    def freeze(self, block: Block) -> None:
        """Make the ops of a block work on integers; later ops see the resulting values."""
        renamed: dict[str, str] = {}
        makers = {name: op.type for op in block.ops for name in op.output_arg_names}
        for op in list(block.ops):
            for name in op.input_arg_names:
                if name in renamed:
                    op._rename_input(name, renamed[name])
            if op.type in self.how.op_types:
                found = self._whole_inputs(block, op, makers)
                if found is not None:
                    (out,) = op.output_arg_names
                    renamed[out] = self._values_after(block, op, out, *found)

    def _whole_inputs(self, block: Block, op: Operator, makers: dict[str, str]) -> tuple[Any, str] | None:
        """Feed an op integers; return the scale of its weight and the name of its other input's scale."""
        weight_scale: Any = None
        scale = ""
        for name in op.input_arg_names:
            source = name.removesuffix(".quantized.dequantized")
            if source == name:
                continue
            if _is_weight(block, source):
                weight_scale = self._round(source, makers[name] == "fake_channel_wise_dequantize_max_abs")
                op._rename_input(name, source)
            else:
                scale = f"{source}.scale"
                op._rename_input(name, f"{source}.quantized")
        return None if weight_scale is None or not scale else (weight_scale, scale)

    def _round(self, name: str, per_channel: bool) -> Any:
        """Store a weight as integers; return its scale, one number or one per channel."""
        if name not in self.scales:
            tensor = self.scope.var(name).get_tensor()
            weight = np.array(tensor)
            scale = np.abs(weight).max(axis=tuple(range(1, weight.ndim)) if per_channel else None)
            wide = scale.reshape(-1, *(1,) * (weight.ndim - 1)) if per_channel else scale
            tensor.set(np.round(weight / wide * _steps(self.how.weight_bits)).astype(weight.dtype), CPUPlace())
            self.scales[name] = scale
        return self.scales[name]

    def _values_after(self, block: Block, op: Operator, out: str, weight_scale: Any, scale: str) -> str:
        """Insert the op that converts an op's integers back to values; return their name."""
        how = self.how
        inputs: dict[str, Any] = {"X": [out]}
        attrs: dict[str, Any] = {"op_role": _FORWARD}
        if np.ndim(weight_scale) == 0:
            kind = "fake_dequantize_max_abs"
            inputs["Scale"] = [scale]
            product = _steps(how.weight_bits) * _steps(how.activation_bits)
            attrs["max_range"] = float(np.float32(product / float(weight_scale)))
        else:
            kind = "fake_channel_wise_dequantize_max_abs"
            inputs["Scales"] = [self._channel_scale(block, weight_scale), scale]
            attrs["quant_bits"] = [how.weight_bits, how.activation_bits]
        at = next(i for i, other in enumerate(block.ops) if other is op) + 1
        values = f"{out}.dequantized"
        block._insert_op(at, type=kind, inputs=inputs, outputs={"Out": [values]}, attrs=attrs)
        return values

    def _channel_scale(self, block: Block, scales: Any) -> str:
        name = unique_name.generate("channel_scale")
        root = block.program.global_block()
        root.create_var(name=name, shape=[scales.size], dtype="float32", persistable=True, stop_gradient=True)
        self.scope.var(name).get_tensor().set(scales.astype(np.float32), CPUPlace())
        return name


def _drop_unused(block: Block) -> None:
    """Remove rounding ops that nothing reads any more, and their variables."""
    while True:
        read = {name for op in block.ops for name in op.input_arg_names}
        idle = [i for i, op in enumerate(block.ops) if _is_rounding(op) and op.output("Out")[0] not in read]
        if not idle:
            return
        for index in reversed(idle):
            for name in block.ops[index].output_arg_names:
                if name not in read:
                    block.vars.pop(name, None)
            block._remove_op(index)


def _is_rounding(op: Operator) -> bool:
    """Return whether an op rounds a variable for others; ops that convert results back do not."""
    return op.type.startswith("fake_") and op.output("Out")[0].endswith((".quantized", ".quantized.dequantized"))


def store_int8(program: Program, scope: Scope, op_types: Sequence[str] = QUANTIZABLE) -> None:
    """Store the frozen weights as int8, under new names."""
    for block in program.blocks:
        for op in block.ops:
            if op.type not in op_types:
                continue
            for name in op.input_arg_names:
                if _is_weight(block, name) and not name.endswith(".int8"):
                    op._rename_input(name, _as_int8(block, scope, name))
        read = {name for other in program.blocks for op in other.ops for name in op.input_arg_names}
        for name in [n for n in block.vars if f"{n}.int8" in block.vars and n not in read]:
            del block.vars[name]
    program.note_change()


def _as_int8(block: Block, scope: Scope, name: str) -> str:
    stored = f"{name}.int8"
    weight = np.array(scope.var(name).get_tensor())
    if not block.has_var(stored):
        block.create_var(name=stored, shape=list(weight.shape), dtype="int8", persistable=True, stop_gradient=True)
        scope.var(stored).get_tensor().set(weight.astype(np.int8), CPUPlace())
    return stored
