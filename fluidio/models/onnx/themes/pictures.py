"""Rearrange channels and pixels, and sample images at given positions."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.activation import in_float32

__all__: list[str] = []


def _channels(k: Op, slot: str = "X") -> int:
    channels = k.dims(slot)[1]
    if channels < 0:
        k.refuse("the number of channels is not known")
    return channels


@maps("pixel_shuffle")
def pixel_shuffle(k: Op, x: Value) -> Value:
    return in_float32(k, "DepthToSpace", x, blocksize=int(k.attr("upscale_factor")), mode="CRD")


@maps("shuffle_channel")
def shuffle_channel(k: Op, x: Value) -> Value:
    group, channels = int(k.attr("group")), _channels(k)
    apart = k(
        "Reshape",
        x,
        k.g("Concat", np.array([0, group, channels // group]), k.g("Shape", x, start=2), axis=0, dtype=np.int64),
        rank=k.rank(x) + 1,
    )
    turned = k("Transpose", apart, perm=[0, 2, 1, *range(3, k.rank(x) + 1)])
    return k("Reshape", turned, k.g.shape(x), rank=x.rank)


@maps("space_to_depth")
def space_to_depth(k: Op, x: Value) -> Value:
    b, channels = int(k.attr("blocksize")), _channels(k)
    height, width = k.g.dim(x, 2), k.g.dim(x, 3)
    parts = k.g.reshape(x, [0, b, b, channels // (b * b), height, width])
    turned = k("Transpose", parts, perm=[0, 3, 4, 1, 5, 2])
    rows = k.g.rows(x)
    return k.g.reshape(turned, [rows, channels * b * b, k("Div", height, b), k("Div", width, b)])


@maps("temporal_shift")
def temporal_shift(k: Op, x: Value) -> Value:
    segments, ratio, channels = int(k.attr("seg_num")), float(np.float32(k.attr("shift_ratio"))), _channels(k)
    first, second = int(channels * ratio), int(channels * 2 * ratio)
    frames = k(
        "Reshape", x, k.g("Concat", np.array([-1, segments]), k.g("Shape", x, start=1), axis=0, dtype=np.int64), rank=5
    )
    parts = []
    if first:
        taken = k.g.slice(k.g.slice(frames, 2, 0, first), 1, 0, -1)
        parts.append(k.g.pad(taken, [1], [0], 1))
    if second > first:
        taken = k.g.slice(k.g.slice(frames, 2, first, second), 1, 1, 2**62)
        parts.append(k.g.pad(taken, [0], [1], 1))
    if second < channels:
        parts.append(k.g.slice(frames, 2, second, 2**62))
    joined = parts[0] if len(parts) == 1 else k("Concat", *parts, axis=2)
    return k("Reshape", joined, k.g.shape(x), rank=x.rank)


@maps("affine_grid")
def affine_grid(k: Op, theta: Value, shape: Value | None) -> Value:
    if shape is not None and shape.constant is None:
        dims = k.g.cast(k.g.flat(shape), np.int64)
        height, width = k.g.slice(dims, 0, 2, 3), k.g.slice(dims, 0, 3, 4)
    else:
        numbers = k.ints("output_shape") if shape is None else [int(n) for n in k.const(shape, "the shape").reshape(-1)]
        height, width = k.g.constant(np.array([numbers[2]])), k.g.constant(np.array([numbers[3]]))

    def line(count: Value) -> Value:
        gaps = k.g.cast(k("Max", k("Sub", count, 1), 1), theta.dtype)
        step = k("Div", k.g.value(2.0, theta), k.g.scalar(gaps))
        return k("Sub", k("Mul", k.g.cast(k.g.arange(count), theta.dtype), step), 1.0)

    size = k.g.join([height, width])
    x = k("Expand", k.g.unsqueeze(line(width), 0), size, rank=2)
    y = k("Expand", k.g.unsqueeze(line(height), 1), size, rank=2)
    ones = k.g.filled(size, 1, theta.dtype)
    points = k("Concat", *[k.g.reshape(each, [-1, 1]) for each in (x, y, ones)], axis=1)
    moved = k("MatMul", points, k("Transpose", theta, perm=[0, 2, 1]), rank=3)
    return k.g.reshape(moved, [k.g.rows(theta), height, width, 2])


@maps("grid_sampler")
def grid_sampler(k: Op, x: Value, grid: Value) -> Value:
    return in_float32(k, "GridSample", x, grid, align_corners=1, mode="bilinear", padding_mode="zeros")


@maps("add_position_encoding")
def add_position_encoding(k: Op, x: Value) -> Value:
    k.pass_lod()
    width = k.dims("X")[-1]
    half = width // 2
    if k.lod("X"):
        from fluidio.models.onnx.sequences import Segments

        places = Segments(k.g, k.lod("X")[-1], x).position
    else:
        places = k.g.arange(k.g.dim(x, 1))
    speeds = np.power(10000.0, np.arange(half) / (half - 1)) if half > 1 else np.array([10000.0])
    angles = k("Div", k.g.unsqueeze(k.g.cast(places, np.float64), 1), speeds)
    narrow = k.g.cast(angles, np.float32)
    code = k("Concat", k("Sin", narrow), k("Cos", narrow), axis=1)
    return k("Add", k("Mul", x, float(k.attr("alpha"))), k("Mul", k.g.cast(code, x.dtype), float(k.attr("beta"))))


@maps("fsp")
def fsp(k: Op, x: Value, y: Value) -> Value:
    a = k.g.reshape(x, [0, _channels(k, "X"), -1])
    b = k.g.reshape(y, [0, _channels(k, "Y"), -1])
    area = k.g.cast(k.g.scalar(k.g.dim(a, 2)), x.dtype)
    return k("Div", k("MatMul", a, k("Transpose", b, perm=[0, 2, 1])), area)
