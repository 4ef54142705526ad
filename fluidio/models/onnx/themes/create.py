"""Tensors from attributes and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from fluidio.dtypes import VarType, to_numpy
from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__: list[str] = []

_LARGEST = 1 << 16  # the most elements of a constant that is written out


def _number(k: Op) -> float | int:
    text = str(k.attr("str_value", "") or "")
    if text.lstrip("-").isdigit():
        return int(text)
    return float(text) if text else k.attr("value")


def _filled(k: Op, dims: Value | list[int], number: float | int, dtype: DTypeLike) -> Value:
    if isinstance(dims, list):
        if int(np.prod(dims)) <= _LARGEST:
            return k.g.constant(np.full(dims, number).astype(dtype))
        dims = k.g.constant(np.asarray(dims, np.int64))
    return k.g.filled(dims, number, dtype)


@maps("fill_constant")
def fill_constant(k: Op, shape: Value | None, shapes: list[Value], value: Value | None) -> Value:
    dtype = np.dtype(k.dtype_attr("dtype"))
    dims: Value | list[int]
    given = k.tensor_dims(shapes)
    if shape is not None:
        dims = k.g.flat(k.g.cast(shape, np.int64))
    elif given is not None:
        dims = k.g.join(given)
    else:
        dims = k.ints("shape")
    if value is None:
        return _filled(k, dims, _number(k), dtype)
    wide = dims if isinstance(dims, Value) else k.g.constant(np.asarray(dims, np.int64))
    return k("Expand", k.g.scalar(k.g.cast(value, dtype)), wide)


@maps("fill_constant_batch_size_like")
def fill_constant_batch_size_like(k: Op, x: Value) -> Value:
    dims: list[int | Value] = list(k.ints("shape"))
    axis = int(k.attr("input_dim_idx"))
    lod = k.lod("Input")
    if lod and axis == 0:
        size = k("Sub", k.g.rows(lod[0]), 1)
    else:
        size = k.g.dim(x, axis)
    dims[int(k.attr("output_dim_idx"))] = size
    out = k.g.filled(k.g.join(dims), _number(k), k.dtype_attr("dtype"))
    return Value(out.name, out.dtype, len(dims))


@maps("fill_zeros_like")
def fill_zeros_like(k: Op, x: Value) -> Value:
    out = k.g.filled(k.g.shape(x), 0, x.dtype)
    return Value(out.name, out.dtype, x.rank)


@maps("fill_zeros_like2")
def fill_zeros_like2(k: Op, x: Value) -> Value:
    out = k.g.filled(k.g.shape(x), 0, k.dtype_attr("dtype"))
    return Value(out.name, out.dtype, x.rank)


@maps("fill_any_like")
def fill_any_like(k: Op, x: Value) -> Value:
    wanted = int(k.attr("dtype", -1))
    dtype = x.dtype if wanted < 0 else to_numpy(VarType(wanted))
    out = k.g.filled(k.g.shape(x), k.attr("value"), dtype)
    return Value(out.name, out.dtype, x.rank)


@maps("assign_value")
def assign_value(k: Op) -> Value:
    names = ("fp32_values", "int32_values", "int64_values", "bool_values")
    values: Any = next((k.attr(name) for name in names if len(k.attr(name, []) or [])), [])
    return k.g.constant(np.array(values, k.dtype_attr("dtype")).reshape(k.ints("shape")))


@maps("fill")
def fill(k: Op) -> Value:
    return k.g.constant(np.array(k.attr("value"), k.dtype_attr("dtype")).reshape(k.ints("shape")))


@maps("range")
def range_(k: Op, start: Value, end: Value, step: Value) -> Value:
    return k("Range", *[k.g.scalar(each) for each in (start, end, step)])


@maps("linspace")
def linspace(k: Op, start: Value, stop: Value, num: Value) -> Value:
    count = k.g.scalar(k.g.cast(num, np.int64))
    first, last = k.g.scalar(start), k.g.scalar(stop)
    gaps = k.g.cast(k("Max", k("Sub", count, 1), 1), start.dtype)
    step = k("Div", k("Sub", last, first), gaps)
    places = k.g.cast(k.g.arange(k.g.unsqueeze(count, 0)), start.dtype)
    return k("Add", first, k("Mul", step, places))


@maps("eye")
def eye(k: Op) -> Value:
    rows, columns = int(k.attr("num_rows")), int(k.attr("num_columns"))
    return k.g.constant(np.eye(rows, rows if columns < 0 else columns, dtype=k.dtype_attr("dtype")))


@maps("meshgrid")
def meshgrid(k: Op, xs: list[Value]) -> list[Value]:
    dims = k("Concat", *[k.g.rows(each) for each in xs], axis=0)
    out = []
    for place, each in enumerate(xs):
        wide = k.g.reshape(each, [-1 if axis == place else 1 for axis in range(len(xs))])
        out.append(k("Expand", wide, dims, rank=len(xs)))
    return out


def _random(name: str) -> None:
    @maps(name)
    def mapping(k: Op, *inputs: object) -> Value:
        k.refuse("draws random numbers: ONNX Runtime's would differ from Fluid's")


for _name in [
    "uniform_random",
    "gaussian_random",
    "truncated_gaussian_random",
    "uniform_random_batch_size_like",
    "randint",
    "randperm",
    "gaussian_random_batch_size_like",
    "sampling_id",
    "random_crop",
    "shuffle_batch",
    "seed",
]:
    _random(_name)


@maps("dropout")
def dropout(k: Op, x: Value, seed: Value | None) -> Value:
    # An exported model is for inference, whatever the op says.
    share = float(np.float32(1) - np.float32(k.attr("dropout_prob")))
    if k.attr("dropout_implementation") == "upscale_in_train":
        return k("Identity", x)
    return k("Mul", x, share)
