"""Resize images one axis at a time, with the neighbours and weights that Fluid uses."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__: list[str] = []


@maps("nearest_interp", "bilinear_interp", "trilinear_interp", "bicubic_interp")
def interp(k: Op, x: Value, out_size: Value | None, sizes: list[Value], scale: Value | None) -> Value:
    rank = k.rank(x)
    dims = rank - 2
    start = 1 if str(k.attr("data_layout")).endswith("C") else 2
    source = x if x.dtype.kind == "f" else k.g.cast(x, np.float32)
    outs = _outs(k, x, start, dims, out_size, sizes, scale)
    for dim in range(dims):
        source = _along(k, source, start + dim, k.g.scalar(outs[dim]))
    return k.g.cast(source, x.dtype)


def _outs(
    k: Op, x: Value, start: int, dims: int, out_size: Value | None, sizes: list[Value], scale: Value | None
) -> list[Value]:
    """Return the requested sizes: in order of precedence, a list of tensors, a tensor, a scale, attributes."""
    if sizes:
        return [k.g.flat(k.g.cast(each, np.int64)) for each in sizes]
    if out_size is not None:
        given = k.g.flat(k.g.cast(out_size, np.int64))
        return [k.g.slice(given, 0, i, i + 1) for i in range(dims)]
    factor = float(k.attr("scale") or 0)
    if scale is not None or factor > 0:
        by = k.g.constant(np.asarray(factor, np.float32)) if scale is None else k.g.scalar(scale)
        by = k.g.cast(by, np.float32)
        wide = [k.g.cast(k.g.dim(x, start + i), np.float32) for i in range(dims)]
        return [k.g.cast(k("Mul", each, by), np.int64) for each in wide]
    wanted = [int(k.attr(name) or 0) for name in ("out_d", "out_h", "out_w")][3 - dims :]
    return [k.g.constant(np.array([each])) for each in wanted]


def _along(k: Op, x: Value, axis: int, out: Value) -> Value:
    """Resize one axis to `out` pixels."""
    corners, method = bool(k.attr("align_corners")), str(k.attr("interp_method"))
    size = k.g.scalar(k.g.dim(x, axis))
    last = k("Sub", size, 1)
    wide, many = k.g.cast(size, np.float32), k.g.cast(out, np.float32)
    if corners:
        ratio = k("Div", k("Sub", wide, 1.0), k("Max", k("Sub", many, 1.0), 1.0))
    else:
        ratio = k("Div", wide, many)
    ratio = k("Where", k("Equal", out, 1), k.g.value(0.0), ratio)  # Fluid: a single output pixel is the first one
    places = k.g.cast(k.g.arange(k.g.unsqueeze(out, 0)), np.float32)
    if method == "nearest":
        near = k.g.cast(k("Add", k("Mul", places, ratio), 0.5 if corners else 0.0), np.int64)
        return k("Gather", x, k("Min", near, last), axis=axis, rank=x.rank)
    half = k("Sub", k("Mul", k("Add", places, 0.5), ratio), 0.5)
    plain = k("Mul", places, ratio)
    if method == "bicubic":
        return _cubic(k, x, axis, plain if corners else half, last)
    source = plain
    if not corners and int(k.attr("align_mode")) == 0:
        source = k("Where", k("Greater", out, 1), half, plain)
    source = k("Max", source, 0.0)
    low = k("Min", k.g.cast(source, np.int64), last)
    part = k.g.cast(k("Sub", source, k.g.cast(low, np.float32)), x.dtype)
    high = k("Min", k("Add", low, 1), last)
    weight = _shaped(k, part, k.rank(x), axis)
    below = k("Gather", x, low, axis=axis, rank=x.rank)
    above = k("Gather", x, high, axis=axis, rank=x.rank)
    return k("Add", k("Mul", below, k("Sub", k.g.value(1, x), weight)), k("Mul", above, weight), rank=x.rank)


def _shaped(k: Op, weights: Value, rank: int, axis: int) -> Value:
    return k.g.reshape(weights, [-1 if i == axis else 1 for i in range(rank)])


def _cubic(k: Op, x: Value, axis: int, source: Value, last: Value) -> Value:
    sharp = -0.75
    low = k("Floor", source)
    part = k("Sub", source, low)

    def outer(distance: Value) -> Value:
        inner = k("Sub", k("Mul", distance, sharp), 5 * sharp)
        inner = k("Add", k("Mul", inner, distance), 8 * sharp)
        return k("Sub", k("Mul", inner, distance), 4 * sharp)

    def near(distance: Value) -> Value:
        inner = k("Sub", k("Mul", distance, sharp + 2), sharp + 3)
        return k("Add", k("Mul", k("Mul", inner, distance), distance), 1.0)

    rest = k("Sub", k.g.value(1.0), part)
    weights = [outer(k("Add", part, 1.0)), near(part), near(rest), outer(k("Add", rest, 1.0))]
    start = k.g.cast(low, np.int64)
    total: Value | None = None
    for step, weight in zip((-1, 0, 1, 2), weights, strict=True):
        place = k("Min", k("Max", k("Add", start, step), 0), last)
        picked = k("Gather", x, place, axis=axis, rank=x.rank)
        more = k("Mul", picked, _shaped(k, k.g.cast(weight, x.dtype), k.rank(x), axis), rank=x.rank)
        total = more if total is None else k("Add", total, more)
    assert total is not None
    return total
