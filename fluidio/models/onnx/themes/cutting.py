"""Slice, crop and pad tensors."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.dims import keep_lod

__all__: list[str] = []


def _bounds(k: Op, attr: str, one: Value | None, several: list[Value]) -> Value:
    """Return starts or ends: from tensors if there are any, else from the attribute."""
    dims = k.tensor_dims(several)
    if dims is not None:
        return k.g.join(dims)
    if one is not None:
        return k.g.flat(k.g.cast(one, np.int64))
    return k.g.constant(np.asarray(k.ints(attr), np.int64))


def _dropped(k: Op, out: Value, rank: int) -> Value:
    drop = k.ints("decrease_axis")
    if not drop:
        return out
    if len(drop) == rank:
        return k.g.reshape(out, [1])
    return k.g.squeeze(out, *drop)


@maps("slice")
def slice_(k: Op, x: Value, st: Value | None, et: Value | None, sl: list[Value], el: list[Value]) -> Value:
    axes = k.ints("axes")
    cuts_rows = 0 in [axis % k.rank(x) for axis in axes]
    known = k.dims("Input")[:1] == k.dims("Out", output=True)[:1] != (-1,)
    keep_lod(k, known or not cuts_rows, "Input")
    starts, ends = _bounds(k, "starts", st, sl), _bounds(k, "ends", et, el)
    if k.ints("decrease_axis") and ends.constant is None:
        # x[v] with v = -1 ends at 0, which means the end here.
        last = k("And", k("Equal", starts, -1), k("Equal", ends, 0))
        ends = k("Where", last, k.g.constant(np.asarray(2**62, np.int64)), ends)
    elif ends.constant is not None and starts.constant is not None:
        fixed = [
            2**62 if a == -1 and b == 0 and axis in k.ints("decrease_axis") else b
            for a, b, axis in zip(starts.constant, ends.constant, axes, strict=True)
        ]
        ends = k.g.constant(np.asarray(fixed, np.int64))
    out = k("Slice", x, starts, ends, np.asarray(axes, np.int64))
    return _dropped(k, out, k.rank(x))


@maps("strided_slice")
def strided_slice(
    k: Op,
    x: Value,
    st: Value | None,
    et: Value | None,
    rt: Value | None,
    sl: list[Value],
    el: list[Value],
    rl: list[Value],
) -> Value:
    starts, ends = _bounds(k, "starts", st, sl), _bounds(k, "ends", et, el)
    steps = _bounds(k, "strides", rt, rl)
    if steps.constant is None or (steps.constant < 0).any():
        starts, ends = _backwards(k, x, starts, ends, steps)
    out = k("Slice", x, starts, ends, np.asarray(k.ints("axes"), np.int64), steps)
    return _dropped(k, out, k.rank(x))


def _backwards(k: Op, x: Value, starts: Value, ends: Value, steps: Value) -> tuple[Value, Value]:
    """Return bounds for negative steps, which Fluid counts from the low end: x[3:0:-2] is x[1] there."""
    rank = k.rank(x)
    sizes = k("Gather", k.g.shape(x), np.asarray([a % rank for a in k.ints("axes")], np.int64))
    begin = k("Where", k("Less", starts, 0), k("Add", starts, sizes), starts)
    stop = k("Where", k("Less", ends, 0), k("Add", ends, sizes), ends)
    low = k("Add", k("Max", stop, -1), 1)
    high = k("Add", k("Min", begin, k("Sub", sizes, 1)), 1)
    step = k("Abs", steps)
    count = k("Max", k("Sub", k("Sub", high, low), 1), -1)
    last = k("Add", low, k("Mul", k("Div", count, step), step))
    below = k("Where", k("Greater", low, 0), k("Sub", low, 1), k.g.constant(np.asarray(-(2**62), np.int64)))
    empty = k("LessOrEqual", high, low)
    negative = k("Less", steps, 0)
    first = k("Where", negative, k("Where", empty, 0, last), starts)
    final = k("Where", negative, k("Where", empty, 0, below), ends)
    return first, final


def _crop_offsets(k: Op, x: Value, given: Value | None) -> Value:
    if given is not None:
        return k.g.flat(k.g.cast(given, np.int64))
    offsets = k.ints("offsets") or [0] * k.rank(x)
    return k.g.constant(np.asarray(offsets, np.int64))


@maps("crop")
def crop(k: Op, x: Value, y: Value | None, offsets: Value | None) -> Value:
    start = _crop_offsets(k, x, offsets)
    size = k.g.shape(y) if y is not None else k.g.constant(np.asarray(k.ints("shape"), np.int64))
    return k("Slice", x, start, k("Add", start, size), np.arange(k.rank(x)))


@maps("crop_tensor")
def crop_tensor(
    k: Op, x: Value, shape: Value | None, offsets: Value | None, shapes: list[Value], many: list[Value]
) -> Value:
    dims = k.tensor_dims(many)
    start = k.g.join(dims) if dims is not None else _crop_offsets(k, x, offsets)
    sizes = k.tensor_dims(shapes)
    if sizes is not None:
        size = k.g.join(sizes)
    elif shape is not None:
        size = k.g.flat(k.g.cast(shape, np.int64))
    else:
        size = k.g.constant(np.asarray(k.ints("shape"), np.int64))
    rest = k("Sub", k.g.shape(x), start)
    size = k("Where", k("Less", size, 0), rest, size)
    return k("Slice", x, start, k("Add", start, size), np.arange(k.rank(x)))


@maps("pad")
def pad(k: Op, x: Value) -> Value:
    flat = k.ints("paddings")
    keep_lod(k, flat[:2] == [0, 0])
    pads = np.asarray(flat[::2] + flat[1::2], np.int64)
    return k("Pad", x, pads, np.asarray(k.attr("pad_value"), x.dtype), mode="constant")


@maps("pad2d")
def pad2d(k: Op, x: Value, given: Value | None) -> Value:
    first = 2 if k.attr("data_format") == "NCHW" else 1
    before: Value | list[int]
    after: Value | list[int]
    if given is None:
        top, bottom, left, right = k.ints("paddings")
        before, after = [top, left], [bottom, right]
    else:
        numbers = k.g.flat(k.g.cast(given, np.int64))
        before, after = k("Gather", numbers, np.array([0, 2])), k("Gather", numbers, np.array([1, 3]))
    return k.g.pad(x, before, after, first, 2, k.attr("pad_value"), str(k.attr("mode")))


@maps("pad_constant_like")
def pad_constant_like(k: Op, x: Value, y: Value) -> Value:
    after = k("Sub", k.g.shape(x), k.g.shape(y))
    pads = k("Concat", np.zeros(k.rank(y), np.int64), after, axis=0, dtype=np.int64)
    return k("Pad", y, pads, np.asarray(k.attr("pad_value"), y.dtype), mode="constant")


@maps("tril_triu")
def tril_triu(k: Op, x: Value) -> Value:
    upper = 0 if k.attr("lower") else 1
    diagonal = np.asarray(int(k.attr("diagonal")), np.int64)
    if x.dtype.kind == "f" or x.dtype == np.int64:
        return k("Trilu", x, diagonal, upper=upper)
    return k.g.cast(k("Trilu", k.g.cast(x, np.int64), diagonal, upper=upper), x.dtype)


@maps("label_smooth")
def label_smooth(k: Op, x: Value, prior: Value | None) -> Value:
    epsilon = float(k.attr("epsilon"))
    kept = k("Mul", x, 1.0 - epsilon)
    if prior is not None:
        return k("Add", kept, k("Mul", k.g.flat(prior), epsilon))
    count = k.g.cast(k.g.dim(x, -1), x.dtype)
    return k("Add", kept, k("Div", k.g.constant(np.asarray(epsilon, x.dtype)), k.g.scalar(count)))
