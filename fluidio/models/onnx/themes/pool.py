"""Pooling."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.activation import in_float32
from fluidio.models.onnx.themes.conv import channels_back, channels_first, explicit_pads

__all__: list[str] = []

_LOWEST = -3.4028234663852886e38  # Fluid: a window outside the image gives the lowest float32


@maps("pool2d", "pool3d")
def pool(k: Op, x: Value) -> Value:
    layout = str(k.attr("data_format"))
    x = channels_first(k, x, layout)
    return channels_back(k, _pooled(k, x), layout)


def _pooled(k: Op, x: Value) -> Value:
    dims = k.rank(x) - 2
    largest = k.attr("pooling_type") == "max"
    kernel = k.ints("ksize")
    if k.attr("adaptive"):
        if largest:
            k.refuse("adaptive max pooling without an index is not mapped")
        return adaptive(k, x, kernel, "ReduceMean")
    if k.attr("global_pooling"):
        return k("ReduceMax" if largest else "ReduceMean", x, np.arange(2, 2 + dims), keepdims=1)
    same = k.attr("padding_algorithm") == "SAME"
    if not same and not k.attr("ceil_mode"):
        pads = explicit_pads(k, dims)
        if not any(pads) or (largest and all(p < n for p, n in zip(pads, kernel + kernel, strict=True))):
            op_type = "MaxPool" if largest else "AveragePool"
            return in_float32(k, op_type, x, kernel_shape=kernel, strides=k.ints("strides"), pads=pads)
    return _with_pads(k, x, _pads(k, x, same), kernel, largest)


def _pads(k: Op, x: Value, same: bool) -> tuple[Value, Value]:
    """Return the paddings before and after as values, with as much more at the end as the last window needs."""
    dims = k.rank(x) - 2
    sizes = k.g("Shape", x, start=2)
    kernel, strides = np.asarray(k.ints("ksize")), np.asarray(k.ints("strides"))
    if same:
        outs = k("Div", k("Add", sizes, strides - 1), strides)
        total = k("Max", k("Sub", k("Add", k("Mul", k("Sub", outs, 1), strides), kernel), sizes), 0)
        before = k("Div", total, 2)
        return before, k("Sub", total, before)
    flat = np.asarray(explicit_pads(k, dims))
    lead, after = flat[:dims], flat[dims:]
    span = k("Sub", k("Add", sizes, lead + after), kernel)
    step = strides - 1 if k.attr("ceil_mode") else np.zeros_like(strides)
    outs = k("Add", k("Div", k("Add", span, step), strides), 1)
    reach = k("Add", k("Mul", k("Sub", outs, 1), strides), kernel)
    more = k("Max", k("Sub", k("Sub", reach, lead), sizes), k.g.constant(after))
    return k.g.constant(lead), more


def _with_pads(k: Op, x: Value, pads: tuple[Value, Value], kernel: list[int], largest: bool) -> Value:
    dims = k.rank(x) - 2
    strides = k.ints("strides")
    if largest:
        wide = k.g.pad(x, *pads, 2, dims, _LOWEST)
        return in_float32(k, "MaxPool", wide, kernel_shape=kernel, strides=strides)
    wide = k.g.pad(x, *pads, 2, dims)
    mean = in_float32(k, "AveragePool", wide, kernel_shape=kernel, strides=strides)
    if not k.attr("exclusive"):
        return mean
    counted = k.g.filled(k.g("Concat", np.array([1, 1]), k.g("Shape", x, start=2), axis=0, dtype=np.int64), 1, x.dtype)
    ones = k.g.pad(Value(counted.name, counted.dtype, x.rank), *pads, 2, dims)
    share = in_float32(k, "AveragePool", ones, kernel_shape=kernel, strides=strides)
    return k("Div", mean, share, rank=x.rank)


def adaptive(k: Op, x: Value, parts: list[int], reduction: str) -> Value:
    """Split each axis into windows and reduce each of them."""
    for dim, count in enumerate(parts):
        axis = 2 + dim
        size = k.g.dim(x, axis)
        cells = []
        for i in range(count):
            low = k("Div", k("Mul", size, i), count)
            high = k("Div", k("Add", k("Mul", size, i + 1), count - 1), count)
            cells.append(k(reduction, k.g.slice(x, axis, low, high), np.array([axis]), keepdims=1))
        x = cells[0] if count == 1 else k("Concat", *cells, axis=axis)
    return x


@maps("max_pool2d_with_index", "max_pool3d_with_index")
def max_pool_with_index(k: Op, x: Value) -> tuple[Value, Value | None]:
    dims = k.rank(x) - 2
    kernel = k.ints("ksize")
    if k.attr("adaptive"):
        return adaptive(k, x, kernel, "ReduceMax"), None
    if k.attr("global_pooling"):
        sizes = list(k.dims("X")[2:])
        if min(sizes) < 0:
            return k("ReduceMax", x, np.arange(2, 2 + dims), keepdims=1), None
        kernel, strides, pads = sizes, [1] * dims, [0] * dims
    else:
        strides, pads = k.ints("strides"), k.ints("paddings")
    narrow = k.g.cast(x, np.float32)
    out, place = k.g.node(
        "MaxPool",
        narrow,
        dtypes=[np.float32, np.int64],
        ranks=[x.rank, x.rank],
        kernel_shape=kernel,
        strides=strides,
        pads=pads + pads,
    )
    area = k("ReduceProd", k.g("Shape", x, start=2), keepdims=0)  # ONNX counts positions over the whole batch
    return k.g.cast(out, x.dtype), k.g.cast(k("Mod", place, area), np.int32)


@maps("spp")
def spp(k: Op, x: Value) -> Value:
    reduction = "ReduceMax" if k.attr("pooling_type") == "max" else "ReduceMean"
    levels = int(k.attr("pyramid_height"))
    sizes = k.dims("X")[2:]
    if any(size < 0 or size % 2 ** (levels - 1) for size in sizes):
        k.refuse("needs image sizes that divide by all levels")
    return k("Concat", *[k("Flatten", adaptive(k, x, [2**i] * 2, reduction), axis=1) for i in range(levels)], axis=1)
