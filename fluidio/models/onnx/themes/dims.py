"""Ops that change a tensor's shape or the order of its dims."""

from __future__ import annotations

import math

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__ = ["keep_lod", "ones_after"]


def keep_lod(k: Op, rows_stay: bool, slot: str = "X") -> None:
    """Pass the LoD on if the rows stay the same."""
    if rows_stay:
        k.pass_lod(slot)


def _rows_stay(k: Op) -> bool:
    """Return whether a new shape keeps the number of rows, judging by the declared dims."""
    before, after = k.dims("X"), k.dims("Out", output=True)
    if not before or not after:
        return False
    if all(d >= 0 for d in (*before[1:], *after[1:])):
        return math.prod(before[1:]) == math.prod(after[1:])
    return before[0] == after[0] and (before[0] >= 0 or len(before) == len(after))


@maps("reshape", "reshape2")
def reshape(k: Op, x: Value, shape: Value | None, tensors: list[Value]) -> Value:
    keep_lod(k, _rows_stay(k))
    dims = k.tensor_dims(tensors)
    if dims is not None:
        return k.g.reshape(x, dims)
    if shape is None:
        return k.g.reshape(x, [int(n) for n in k.ints("shape")])
    if shape.constant is None:
        dims_value = k.g.flat(k.g.cast(shape, np.int64))
        return k("Reshape", x, dims_value)
    return k.g.reshape(x, [int(n) for n in shape.constant.reshape(-1)])


@maps("squeeze", "squeeze2")
def squeeze(k: Op, x: Value) -> Value:
    axes = k.ints("axes")
    keep_lod(k, 0 not in [a % k.rank(x) for a in axes] if axes else _rows_stay(k))
    if axes:
        rank = k.rank(x)
        return k.g.squeeze(x, *sorted({a % rank for a in axes}))
    shape = k.dims("X")
    if not shape or any(d < 0 for d in shape):
        return k("Squeeze", x)  # the dims that are 1 when the model runs, as in Fluid
    return k.g.reshape(x, [d for d in shape if d != 1])


@maps("unsqueeze", "unsqueeze2")
def unsqueeze(k: Op, x: Value, one: Value | None, several: list[Value]) -> Value:
    keep_lod(k, _rows_stay(k))
    given = k.tensor_dims(several) if several else None
    if given is not None and any(isinstance(each, Value) for each in given):
        return k("Unsqueeze", x, k.g.join(given))
    if given is None and one is not None and one.constant is None:
        return k("Unsqueeze", x, k.g.flat(k.g.cast(one, np.int64)))
    if given is not None:
        axes = [int(each) for each in given if isinstance(each, int)]
    elif one is not None and one.constant is not None:
        axes = [int(n) for n in one.constant.reshape(-1)]
    else:
        axes = k.ints("axes")
    for axis in axes:  # one after another, as Fluid does
        x = k.g.unsqueeze(x, axis if axis >= 0 else axis + k.rank(x) + 1)
    return x


@maps("flatten", "flatten2")
def flatten(k: Op, x: Value) -> Value:
    keep_lod(k, int(k.attr("axis")) == 1)
    return k("Flatten", x, axis=int(k.attr("axis")))


@maps("transpose", "transpose2")
def transpose(k: Op, x: Value) -> Value:
    rank = k.rank(x)
    return k("Transpose", x, perm=[a % rank for a in k.ints("axis")])


@maps("shape")
def shape_(k: Op, x: Value) -> Value:
    return k.g.cast(k.g.shape(x), np.int32)


@maps("size")
def size(k: Op, x: Value) -> Value:
    return k.g.reshape(k("Size", x), [1])


@maps("reverse", "flip")
def reverse(k: Op, x: Value) -> Value:
    axes = k.ints("axis") or k.ints("dims")
    for axis in axes:
        x = k("Slice", x, np.array([-1]), np.array([-(2**62)]), np.array([axis]), np.array([-1]))
    return x


@maps("expand")
def expand(k: Op, x: Value, one: Value | None, several: list[Value]) -> Value:
    keep_lod(k, k.ints("expand_times")[:1] == [1])
    dims = k.tensor_dims(several)
    if dims is not None:
        return k("Tile", x, k.g.join(dims))
    if one is not None:
        return k("Tile", x, k.g.flat(k.g.cast(one, np.int64)))
    return k("Tile", x, np.asarray(k.ints("expand_times"), np.int64))


@maps("expand_as")
def expand_as(k: Op, x: Value, target: Value) -> Value:
    keep_lod(k, k.dims("X")[:1] == k.dims("target_tensor")[:1])
    return k("Tile", x, k("Div", k.g.shape(target), k.g.shape(x)))


def ones_after(k: Op, x: Value, count: int) -> Value:
    """Return X with dims of 1 appended."""
    rank = k.rank(x)
    return k.g.unsqueeze(x, *range(rank, rank + count)) if count else x


@maps("roll")
def roll(k: Op, x: Value) -> Value:
    shifts, dims = k.ints("shifts"), k.ints("dims")
    flat = not dims
    source = k.g.flat(x) if flat else x
    for shift, axis in zip(shifts, dims or [0], strict=True):
        size = k.g.dim(source, k.axis(axis, 1 if flat else k.rank(x)))
        cut = k("Mod", k("Sub", size, shift), size)
        ahead = k.g.slice(source, axis, cut, 2**62)
        source = k("Concat", ahead, k.g.slice(source, axis, 0, cut), axis=axis)
    return k("Reshape", source, k.g.shape(x), rank=x.rank) if flat else source
