"""Ops in 1.8.5's quantised models for the CPU: quantize, dequantize, requantize."""

from __future__ import annotations

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer(c: InferContext) -> None:
    x = c.input("Input")
    c.set("Output", x.shape, lod_level=x.lod_level)


def _cut(k: Call, x: Array, dtype: str) -> Array:
    """Round half to even, and clip to the range of the dtype."""
    low, high = (0, 255) if dtype == "uint8" else (-128, 127)
    return k.xp.clip(k.xp.rint(x), low, high).astype(dtype)


@op(
    "quantize",
    "Input",
    "Output",
    {"Scale": 1.0, "is_negative_input": False, "output_format": "NHWC"},
    infer=_infer,
    grad=False,
)
def quantize(k: Call, x: Array) -> Array:
    """Output = Input * Scale as int8, or as uint8 if no input is negative."""
    return _cut(k, x * x.dtype.type(k.attrs["Scale"]), "int8" if k.attrs["is_negative_input"] else "uint8")


@op("dequantize", "Input", "Output", {"Scale": 1.0}, infer=_infer, grad=False)
def dequantize(k: Call, x: Array) -> Array:
    """Output = Input / Scale as float32."""
    one = k.xp.float32(1) / k.xp.float32(k.attrs["Scale"])
    return x.astype("float32") * one


@op("requantize", "Input", "Output", {"Scale_in": 1.0, "Scale_out": 1.0}, infer=_infer, grad=False)
def requantize(k: Call, x: Array) -> Array:
    """Output = Input converted to another scale, in the same dtype."""
    factor = k.xp.float32(k.attrs["Scale_out"]) / k.xp.float32(k.attrs["Scale_in"])
    return _cut(k, x.astype("float32") * factor, str(x.dtype))
