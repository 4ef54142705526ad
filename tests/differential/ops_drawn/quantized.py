"""Ops of quantised training and of its models."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import OpDraw, draws

__all__: list[str] = []


@draws("fake_quantize_abs_max", "fake_channel_wise_quantize_abs_max", grad=False)
def fake_quantize_abs_max(d: OpDraw) -> None:
    d.float = "float32"
    channels = d.op.startswith("fake_channel")
    lod, rows = d.lod() if d.chance(0.3) else (None, d.size(1, 4))
    d.put("X", d.floats([rows, d.size(1, 4), d.size(1, 3), d.size(1, 3)] if channels else [rows, d.size()]), lod=lod)
    d.attr("bit_length", 8, 4, 16)


@draws("fake_quantize_range_abs_max", grad=False)
def fake_quantize_range_abs_max(d: OpDraw) -> None:
    d.float = "float32"
    d.put("X", d.floats(d.shape()))
    d.put("InScale", d.floats([1], 0.2, 3.0), fixed=True)
    d.attr("window_size", 10000, 4, 16, always=True)
    if d.attr("is_test", False, True):
        d.unfetched("OutScale")
    else:
        d.put("Iter", d.ids([1], 6), fixed=True)
        d.out("OutScales")
        d.unfetched("OutScales")  # but for one element it is as it was in memory
    d.attr("bit_length", 8, 4, 16)


@draws(
    "fake_quantize_moving_average_abs_max",
    "fake_quantize_dequantize_moving_average_abs_max",
    "moving_average_abs_max_scale",
    grad=False,
)
def fake_quantize_moving_average_abs_max(d: OpDraw) -> None:
    d.float = "float32"
    d.put("X", d.floats(d.shape()))
    if d.op != "moving_average_abs_max_scale":
        d.put("InScale", d.floats([1], 0.2, 3.0), fixed=True)
        d.attr("bit_length", 8, 4, 16)
    d.attr("moving_rate", 0.9, 0.5, 0.99)
    if d.attr("is_test", False, True):
        d.unfetched("OutScale")
    else:
        d.put("InAccum", d.floats([1], 0.5, 2.0), fixed=True)
        d.put("InState", d.floats([1], 0.5, 2.0), fixed=True)
        d.out("OutState")
        d.out("OutAccum")


@draws("fake_dequantize_max_abs", grad=False)
def fake_dequantize_max_abs(d: OpDraw) -> None:
    d.put("X", d.ids(d.shape(), 127, -127).astype(d.float))
    d.put("Scale", d.floats([1], 0.2, 3.0), fixed=True)
    d.attr("max_range", 127.0, 7.0, always=True)


@draws("fake_channel_wise_dequantize_max_abs", grad=False)
def fake_channel_wise_dequantize_max_abs(d: OpDraw) -> None:
    shape = [d.size(1, 4), d.size(1, 4), d.size(1, 3)]
    d.put("X", d.ids(shape, 127, -127).astype(d.float))
    if d.chance():
        d.put("Scales", d.floats([shape[0]], 0.2, 3.0), fixed=True)
        d.attrs["quant_bits"] = [d.pick(8, 4)]
    else:
        d.put("Scales", d.floats([shape[1]], 0.2, 3.0), d.floats([1], 0.2, 3.0), fixed=True)
        d.attrs["quant_bits"] = [d.pick(8, 4), 8]


@draws("dequantize_abs_max", grad=False)
def dequantize_abs_max(d: OpDraw) -> None:
    d.float = "float32"
    d.put("X", d.ids(d.shape(1, 2), 127, -127, "int8"))
    d.put("Scale", d.floats([1], 0.2, 3.0), fixed=True)
    d.attr("max_range", 127.0, 63.0, always=True)


@draws("dequantize_log", grad=False)
def dequantize_log(d: OpDraw) -> None:
    d.float = "float32"
    d.put("X", d.ids(d.shape(1, 2), 127, -127, "int8"))
    d.put("Dict", d.floats([128]), fixed=True)


@draws("quantize", grad=False)
def quantize(d: OpDraw) -> None:
    d.float = "float32"
    d.put("Input", d.floats([2, 3, 2, 2]), fixed=True)
    d.attrs["Scale"] = d.pick(1.0, 20.0, 60.0)
    d.attr("is_negative_input", False, True)
    d.attr("output_format", "NHWC", "NCHW")
    d.out_dtypes["Output"] = "int8" if d.attrs.get("is_negative_input") else "uint8"


@draws("dequantize", grad=False)
def dequantize(d: OpDraw) -> None:
    d.put("Input", d.ids([2, 3, 2, 2], 127, -127, "int8"), fixed=True)
    d.attrs["Scale"] = d.pick(1.0, 20.0, 60.0)
    d.out_dtypes["Output"] = "float32"


@draws("requantize", grad=False)
def requantize(d: OpDraw) -> None:
    kind = d.pick("int8", "uint8")
    low = 0 if kind == "uint8" else -127
    d.put("Input", d.ids([2, 1, 2, 3], 127, low, kind), fixed=True)  # it mixes up several channels
    d.attrs.update(Scale_in=d.pick(1.0, 3.0), Scale_out=d.pick(0.5, 2.0, 10.0))
    d.out_dtypes["Output"] = kind


@draws("dgc_momentum", grad=False)
def dgc_momentum(d: OpDraw) -> None:
    d.float = "float32"
    shape = d.shape(1, 2)
    for slot in ("Param", "Grad", "Velocity"):
        d.put(slot, d.floats(shape), fixed=True)
    d.put("LearningRate", d.floats([1], 0.01, 0.5), fixed=True)
    d.put("current_step", np.array([d.size(0, 5)], "float32"), fixed=True)
    d.put("nranks", np.array([2], "float32"), fixed=True)
    d.attrs["mu"] = d.pick(0.9, 0.5)
    d.attr("use_nesterov", False, True)
    d.attr("rampup_begin_step", 0.0, 3.0, always=True)
    d.same(ParamOut="Param", VelocityOut="Velocity", Grad_out="Grad")
