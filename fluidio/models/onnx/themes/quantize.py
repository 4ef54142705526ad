"""Quantise and dequantise: the ops of quantisation-aware training, as inference computes them."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__: list[str] = []


def _steps(bits: int) -> float:
    return float((1 << (bits - 1)) - 1)


def _on_grid(k: Op, x: Value, scale: Value) -> Value:
    """Return X clipped to [-scale, scale], in steps; halves are rounded away from zero."""
    cut = k("Max", k("Min", x, scale), k("Neg", scale))
    number = k("Mul", cut, k("Div", k.g.value(_steps(int(k.attr("bit_length"))), x), scale))
    return k("Mul", k("Sign", number), k("Floor", k("Add", k("Abs", number), 0.5)), rank=x.rank)


@maps("fake_quantize_abs_max")
def fake_quantize_abs_max(k: Op, x: Value) -> tuple[Value, Value]:
    scale = k("ReduceMax", k("Abs", k.g.flat(x)), keepdims=1)
    return _on_grid(k, x, scale), scale


@maps("fake_channel_wise_quantize_abs_max")
def fake_channel_wise_quantize_abs_max(k: Op, x: Value) -> tuple[Value, Value]:
    scale = k("ReduceMax", k("Abs", k.g.flat2(x)), np.array([1]), keepdims=0)
    return _on_grid(k, x, k.g.unsqueeze(scale, *range(1, k.rank(x)))), scale


@maps("fake_quantize_range_abs_max")
def fake_quantize_range_abs_max(k: Op, x: Value, before: Value, number: Value | None) -> tuple[Value, Value]:
    return _on_grid(k, x, k.g.flat(before)), before


@maps("fake_quantize_moving_average_abs_max")
def fake_quantize_moving_average_abs_max(
    k: Op, x: Value, before: Value, accum: Value | None, state: Value | None
) -> tuple[Value, Value]:
    return _on_grid(k, x, k.g.flat(before)), before


@maps("fake_quantize_dequantize_moving_average_abs_max")
def fake_quantize_dequantize_moving_average_abs_max(
    k: Op, x: Value, before: Value, accum: Value | None, state: Value | None
) -> tuple[Value, Value]:
    scale = k.g.flat(before)
    steps = _on_grid(k, x, scale)
    return k("Div", k("Mul", steps, scale), _steps(int(k.attr("bit_length"))), rank=x.rank), before


@maps("moving_average_abs_max_scale")
def moving_average_abs_max_scale(k: Op, x: Value, accum: Value | None, state: Value | None) -> Value:
    return k("Identity", x)


@maps("fake_dequantize_max_abs")
def fake_dequantize_max_abs(k: Op, x: Value, scale: Value) -> Value:
    return k("Div", k("Mul", x, k.g.scalar(scale)), float(k.attr("max_range")))


@maps("fake_channel_wise_dequantize_max_abs")
def fake_channel_wise_dequantize_max_abs(k: Op, x: Value, scales: list[Value]) -> Value:
    bits, axis = k.ints("quant_bits"), len(scales) - 1
    shape = [-1 if i == axis else 1 for i in range(k.rank(x))]
    out = k("Div", k("Mul", x, k.g.reshape(scales[0], shape)), _steps(bits[0]), rank=x.rank)
    if axis == 0:
        return out
    return k("Div", k("Mul", out, k.g.scalar(scales[1])), _steps(bits[1]))


@maps("dequantize_abs_max")
def dequantize_abs_max(k: Op, x: Value, scale: Value) -> Value:
    return k("Div", k("Mul", k.g.cast(x, scale.dtype), k.g.scalar(scale)), float(k.attr("max_range")))


@maps("dequantize_log")
def dequantize_log(k: Op, x: Value, table: Value) -> Value:
    number = k.g.cast(x, np.int64)
    low = k("Less", number, 0)
    place = k("Where", low, k("Add", number, 128), number)
    value = k("Gather", k.g.flat(table), place, axis=0)
    return k("Where", low, k("Neg", value), value)
