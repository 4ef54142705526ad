"""Convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.activation import in_float32
from fluidio.ops.vision import windows

__all__ = ["channels_back", "channels_first", "explicit_pads"]


def channels_first(k: Op, x: Value, layout: str) -> Value:
    """Return X with its channels at axis 1."""
    rank = k.rank(x)
    return k("Transpose", x, perm=[0, rank - 1, *range(1, rank - 1)]) if layout.endswith("C") else x


def channels_back(k: Op, x: Value, layout: str) -> Value:
    rank = k.rank(x)
    return k("Transpose", x, perm=[0, *range(2, rank), 1]) if layout.endswith("C") else x


def explicit_pads(k: Op, dims: int) -> list[int]:
    """Return [before..., after...] of the attribute `paddings`, which has one or two numbers for each dim."""
    if k.attr("padding_algorithm", "EXPLICIT") == "VALID":
        return [0] * (2 * dims)
    flat = k.ints("paddings")
    return flat + flat if len(flat) == dims else flat[::2] + flat[1::2]


def _common(k: Op, dims: int) -> dict[str, Any]:
    options: dict[str, Any] = {"strides": k.ints("strides"), "group": int(k.attr("groups") or 1)}
    if k.attr("padding_algorithm") == "SAME":
        options["auto_pad"] = "SAME_UPPER"  # Fluid: ignores dilation in this case
    else:
        options["pads"] = explicit_pads(k, dims)
        options["dilations"] = k.ints("dilations")
    return options


@maps("conv2d", "depthwise_conv2d", "conv3d")
def conv(k: Op, x: Value, w: Value, bias: Value | None, residual: Value | None) -> Value:
    layout = str(k.attr("data_format"))
    x = channels_first(k, x, layout)
    options = _common(k, k.rank(w) - 2)
    if w.constant is not None:
        options["kernel_shape"] = list(w.constant.shape[2:])
    out = in_float32(k, "Conv", x, w, **options)
    added = residual if k.attr("fuse_residual_connection") else None
    return channels_back(
        k, _completed(k, out, bias, None if added is None else channels_first(k, added, layout)), layout
    )


def _completed(k: Op, out: Value, bias: Value | None, residual: Value | None) -> Value:
    """Add what convolutions of models do that were optimized for MKL-DNN."""
    if not k.attr("use_mkldnn"):
        return out
    if bias is not None:
        out = k("Add", out, k.g.reshape(bias, [-1] + [1] * (k.rank(out) - 2)))
    if residual is not None:
        out = k("Add", out, residual)
    kind, alpha = str(k.attr("fuse_activation", "")), float(k.attr("fuse_alpha", 0.0))
    if kind in ("relu", "leaky_relu"):
        return k("LeakyRelu", out, alpha=alpha)
    if kind == "relu6":
        return k("Max", k("Min", out, alpha), 0.0)
    if kind == "swish":
        return k("Mul", out, k("Sigmoid", k("Mul", out, alpha)))
    return out


@maps("conv2d_transpose", "depthwise_conv2d_transpose", "conv3d_transpose")
def conv_transpose(k: Op, x: Value, w: Value, bias: Value | None) -> Value:
    layout = str(k.attr("data_format"))
    shape, kernel = k.dims("Input"), k.dims("Filter")[2:]
    sizes = shape[1:-1] if layout.endswith("C") else shape[2:]
    options = _common(k, len(kernel))
    strides = k.ints("strides")
    if "auto_pad" in options:
        if min(sizes) < 0:
            k.refuse("SAME padding of a transposed convolution needs a known image size")
        del options["auto_pad"]
        pairs = windows.padding_pairs({"padding_algorithm": "SAME"}, sizes, kernel, strides)
        options["pads"] = [p for p, _ in pairs] + [q for _, q in pairs]
        options["dilations"] = [1] * len(kernel)
    wanted = k.ints("output_size")
    if wanted:
        spans = windows.reach(kernel, options["dilations"])
        if min(sizes) < 0:
            k.refuse("output_size needs a known image size")
        before, after = options["pads"][: len(kernel)], options["pads"][len(kernel) :]
        plain = [(n - 1) * s - p - q + e for n, s, p, q, e in zip(sizes, strides, before, after, spans, strict=True)]
        options["output_padding"] = [want - have for want, have in zip(wanted, plain, strict=True)]
    out = in_float32(k, "ConvTranspose", channels_first(k, x, layout), w, **options)
    return channels_back(k, _completed(k, out, bias, None), layout)


@maps("row_conv")
def row_conv(k: Op, x: Value, w: Value) -> Value:
    """Sum the following rows, each with its own weights."""
    k.pass_lod()
    context = k.dims("Filter")[0]
    lod = k.lod("X")
    out: Value | None = None
    for step in range(context):
        weight = k.g.slice(w, 0, step, step + 1)
        part = k("Mul", _ahead(k, x, step, lod), weight)
        out = part if out is None else k("Add", out, part)
    assert out is not None
    return out


def _ahead(k: Op, x: Value, step: int, lod: tuple[Value, ...]) -> Value:
    """Return each row's successor `step` rows later, zeros past the end of its sequence."""
    if not lod:  # [batch, time, width]
        moved = k.g.slice(x, 1, step, 2**62)
        return k.g.pad(moved, [0], [step], 1) if step else x
    if not step:
        return x
    from fluidio.models.onnx.sequences import Segments

    segments = Segments(k.g, lod[-1], x)
    moved = k.g.slice(k.g.pad(x, [0], [step], 0), 0, step, 2**62)
    inside = k("Less", k("Add", segments.position, step), segments.own_length)
    return k("Where", k.g.unsqueeze(inside, 1), moved, k.g.value(0, x))


@maps("unfold")
def unfold(k: Op, x: Value) -> Value:
    kernel, strides, dilations = k.ints("kernel_sizes"), k.ints("strides"), k.ints("dilations")
    top, left, bottom, right = k.ints("paddings")
    channels = k.dims("X")[1]
    if channels < 0:
        k.refuse("the number of channels is not known")
    return columns(k, x, channels, kernel, strides, dilations, [top, left, bottom, right])


def columns(
    k: Op, x: Value, channels: int, kernel: list[int], strides: list[int], dilations: list[int], pads: list[int]
) -> Value:
    """Return all windows as [N, channels * kernel, windows], by a convolution with one filter per element."""
    area = kernel[0] * kernel[1]
    filters = np.tile(np.eye(area, dtype=np.float32).reshape(area, 1, *kernel), (channels, 1, 1, 1))
    wide = in_float32(
        k,
        "Conv",
        x,
        k.g.constant(filters),
        strides=strides,
        dilations=dilations,
        pads=pads,
        group=channels,
        kernel_shape=kernel,
    )
    return k.g.reshape(wide, [0, channels * area, -1])
