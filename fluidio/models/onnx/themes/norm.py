"""Normalisation and softmax."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.conv import channels_back, channels_first

__all__ = ["softmax_parts"]


@maps("batch_norm", "sync_batch_norm")
def batch_norm(
    k: Op, x: Value, scale: Value, bias: Value, mean: Value, variance: Value, momentum: Value | None
) -> tuple[Value, Value, Value]:
    epsilon = float(k.attr("epsilon"))
    rank = k.rank(x)
    last = rank == 2 or str(k.attr("data_layout")) == "NHWC"
    if k.attr("trainable_statistics") and not k.attr("use_global_stats"):
        axes = np.asarray([a for a in range(rank) if a != (rank - 1 if last else 1)], np.int64)
        mean = k("ReduceMean", x, axes, keepdims=0)
        wide = k.g.reshape(mean, [-1] if last else [-1] + [1] * (rank - 2))
        centred = k("Sub", x, wide)
        variance = k("ReduceMean", k("Mul", centred, centred), axes, keepdims=0)
    if not last and x.dtype == np.float32:
        out = k("BatchNormalization", x, scale, bias, mean, variance, epsilon=epsilon)
    else:
        factor = k("Div", scale, k("Sqrt", k("Add", variance, epsilon)))
        shift = k("Sub", bias, k("Mul", mean, factor))
        if not last:
            factor, shift = (k.g.reshape(each, [-1] + [1] * (rank - 2)) for each in (factor, shift))
        out = k("Add", k("Mul", x, factor), shift, rank=rank)
    if k.attr("fuse_with_relu") and k.attr("use_mkldnn") and not k.attr("trainable_statistics"):
        out = k("Relu", out)
    return out, mean, variance


@maps("inplace_abn")
def inplace_abn(
    k: Op, x: Value, scale: Value, bias: Value, mean: Value, variance: Value, momentum: Value | None
) -> tuple[Value, Value, Value]:
    out, mean, variance = batch_norm(k, x, scale, bias, mean, variance, momentum)
    kind = str(k.attr("activation"))
    if kind == "leaky_relu":
        out = k("LeakyRelu", out, alpha=float(k.attr("alpha")))
    elif kind == "elu":
        out = k("Elu", out, alpha=float(k.attr("alpha")))
    elif kind != "identity":
        k.refuse(f"the activation {kind!r} has no mapping")
    return out, mean, variance


def _standardised(k: Op, rows: Value, axes: list[int]) -> tuple[Value, Value, Value]:
    where = np.asarray(axes, np.int64)
    mean = k("ReduceMean", rows, where, keepdims=1)
    centred = k("Sub", rows, mean)
    variance = k("ReduceMean", k("Mul", centred, centred), where, keepdims=1)
    spread = k("Sqrt", k("Add", variance, float(k.attr("epsilon"))))
    return k("Div", centred, spread), mean, variance


@maps("layer_norm")
def layer_norm(k: Op, x: Value, scale: Value | None, bias: Value | None) -> tuple[Value, Value, Value]:
    rank, begin = k.rank(x), int(k.attr("begin_norm_axis"))
    out, mean, variance = _standardised(k, x, list(range(begin, rank)))
    inner = k.g("Shape", x, start=begin)
    if scale is not None:
        out = k("Mul", out, _inner(k, scale, inner, rank - begin))
    if bias is not None:
        out = k("Add", out, _inner(k, bias, inner, rank - begin))
    return out, k.g.flat(mean), k.g.flat(variance)


def _inner(k: Op, weights: Value, dims: Value, count: int) -> Value:
    return weights if count == 1 else k("Reshape", weights, dims, rank=count)


def _by_channel(k: Op, out: Value, scale: Value | None, bias: Value | None) -> Value:
    tail = [1] * (k.rank(out) - 2)
    if scale is not None:
        out = k("Mul", out, k.g.reshape(scale, [-1, *tail]))
    if bias is not None:
        out = k("Add", out, k.g.reshape(bias, [-1, *tail]))
    return out


@maps("group_norm")
def group_norm(k: Op, x: Value, scale: Value | None, bias: Value | None) -> tuple[Value, Value, Value]:
    layout = str(k.attr("data_layout"))
    first = channels_first(k, x, layout)
    rows = k.g.reshape(first, [0, int(k.attr("groups")), -1])
    normal, mean, variance = _standardised(k, rows, [2])
    out = k("Reshape", normal, k.g.shape(first), rank=first.rank)
    return (
        channels_back(k, _by_channel(k, out, scale, bias), layout),
        k.g.squeeze(mean, 2),
        k.g.squeeze(variance, 2),
    )


@maps("instance_norm")
def instance_norm(k: Op, x: Value, scale: Value | None, bias: Value | None) -> tuple[Value, Value, Value]:
    out, mean, variance = _standardised(k, x, list(range(2, k.rank(x))))
    inverse = k("Reciprocal", k("Sqrt", k("Add", variance, float(k.attr("epsilon")))))
    return _by_channel(k, out, scale, bias), k.g.flat(mean), k.g.flat(inverse)


@maps("norm")
def norm(k: Op, x: Value) -> tuple[Value, Value]:
    squares = k("ReduceSum", k("Mul", x, x), np.array([int(k.attr("axis"))]), keepdims=1)
    length = k("Sqrt", k("Add", squares, float(k.attr("epsilon"))))
    return k("Div", x, length), length


@maps("lrn")
def lrn(k: Op, x: Value) -> tuple[Value, Value]:
    layout = str(k.attr("data_format"))
    n = int(k.attr("n"))
    first = channels_first(k, k("Mul", x, x), "NHWC" if layout == "NHWC" else "NCHW")
    before = (n - 1) // 2
    padded = k.g.pad(first, [before], [n - 1 - before], 1)
    count = k.g.dim(first, 1)
    total: Value | None = None
    for i in range(n):
        part = k.g.slice(padded, 1, i, k("Add", count, i))
        total = part if total is None else k("Add", total, part)
    assert total is not None
    middle = k("Add", k("Mul", total, float(k.attr("alpha"))), float(k.attr("k")))
    middle = channels_back(k, middle, "NHWC" if layout == "NHWC" else "NCHW")
    return k("Mul", x, k("Pow", middle, -float(k.attr("beta")))), middle


@maps("spectral_norm")
def spectral_norm(k: Op, weight: Value, u: Value, v: Value) -> Value:
    rank, axis = k.rank(weight), int(k.attr("dim"))
    turned = k("Transpose", weight, perm=[axis, *[a for a in range(rank) if a != axis]])
    matrix = k("Flatten", turned, axis=1)
    left, right = k.g.reshape(u, [-1, 1]), k.g.reshape(v, [-1, 1])
    epsilon = float(k.attr("eps"))
    for _ in range(int(k.attr("power_iters"))):
        right = _unit(k, k("MatMul", k("Transpose", matrix, perm=[1, 0]), left), epsilon)
        left = _unit(k, k("MatMul", matrix, right), epsilon)
    sigma = k("ReduceSum", k("Mul", left, k("MatMul", matrix, right)), keepdims=0)
    return k("Div", weight, sigma)


def _unit(k: Op, vector: Value, epsilon: float) -> Value:
    length = k("Sqrt", k("ReduceSum", k("Mul", vector, vector), keepdims=0))
    return k("Div", vector, k("Add", length, epsilon))


@maps("data_norm")
def data_norm(
    k: Op, x: Value, scale: Value | None, bias: Value | None, size: Value, total: Value, squares: Value
) -> tuple[Value, Value, Value]:
    means, scales = k("Div", total, size), k("Sqrt", k("Div", size, squares))
    out = k("Mul", k("Sub", x, means), scales)
    if scale is not None and bias is not None:
        out = k("Add", k("Mul", out, scale), bias)
    return out, means, scales


def softmax_parts(k: Op, x: Value, axis: int) -> tuple[Value, Value]:
    """Return the differences from the maximum, clipped at -64 as in Fluid, and the sum of their exponentials."""
    where = np.array([axis])
    shifted = k("Max", k("Sub", x, k("ReduceMax", x, where, keepdims=1)), -64)
    return shifted, k("ReduceSum", k("Exp", shifted), where, keepdims=1)


@maps("softmax")
def softmax(k: Op, x: Value) -> Value:
    axis = int(k.attr("axis", -1))
    if k.attr("data_format", "AnyLayout") is None:
        axis = -1
    return k("Softmax", x, axis=axis)


@maps("affine_channel")
def affine_channel(k: Op, x: Value, scale: Value, bias: Value) -> Value:
    rank = k.rank(x)
    if k.attr("data_layout") != "NCHW" or rank == 2:
        return k("Add", k("Mul", x, k.g.flat(scale)), k.g.flat(bias), rank=rank)
    return _by_channel(k, x, scale, bias)
