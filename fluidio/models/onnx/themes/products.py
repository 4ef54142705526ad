"""Matrix products and related ops."""

from __future__ import annotations

import math

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.activation import activate

__all__ = ["flattened", "product"]


def flattened(k: Op, x: Value, dims: int) -> Value:
    """Return X as a matrix, split between its first dims and the others."""
    if x.rank == 2 and dims == 1:
        return x
    return k("Flatten", x, axis=dims, rank=2)


def product(k: Op, x: Value, y: Value, x_dims: int, y_dims: int) -> Value:
    """Return X Y, both flattened to matrices, with the remaining dims of each."""
    if x.rank == 2 and y.rank == 2 and x_dims == y_dims == 1:
        return k("MatMul", x, y)
    rank_x, rank_y = k.rank(x, "X"), k.rank(y, "Y")
    if rank_y == 2 and y_dims == 1 and rank_x - x_dims == 1:
        return k("MatMul", x, y, rank=rank_x)  # only the last dim is multiplied
    out = k("MatMul", flattened(k, x, x_dims), flattened(k, y, y_dims), rank=2)
    dims = k.g("Concat", k.g("Shape", x, start=0, end=x_dims), k.g("Shape", y, start=y_dims), axis=0, rank=1)
    return k("Reshape", out, dims, rank=x_dims + rank_y - y_dims)


@maps("mul")
def mul(k: Op, x: Value, y: Value) -> Value:
    return product(k, x, y, int(k.attr("x_num_col_dims")), int(k.attr("y_num_col_dims")))


@maps("fc")
def fc(k: Op, x: Value, w: Value, bias: Value | None) -> Value:
    out = product(k, x, w, int(k.attr("in_num_col_dims")), 1)
    if bias is not None:
        out = k("Add", out, k.g.flat(bias), rank=out.rank)
    return activate(k, k.attr("activation_type") or "", out)


def _turned(k: Op, x: Value) -> Value:
    rank = k.rank(x)
    return k("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])


def _matrix(k: Op, x: Value, left: bool, transposed: bool) -> Value:
    if k.rank(x) == 1:
        return k.g.unsqueeze(x, 0 if left != transposed else 1)
    return _turned(k, x) if transposed else x


@maps("matmul")
def matmul(k: Op, x: Value, y: Value) -> Value:
    if int(k.attr("head_number", 1)) > 1:
        k.refuse("head_number above 1 is not mapped")
    turn_x, turn_y = bool(k.attr("transpose_X")), bool(k.attr("transpose_Y"))
    a, b = _matrix(k, x, True, turn_x), _matrix(k, y, False, turn_y)
    out = k("MatMul", a, b)
    if k.attr("alpha") != 1.0:
        out = k("Mul", out, float(k.attr("alpha")))
    drop = []
    rank = k.rank(out)
    if x.rank == 1 and not turn_x:
        drop.append(rank - 2)
    if y.rank == 1 and not turn_y:
        drop.append(rank - 1)
    if len(drop) == rank:
        drop = drop[1:]
    out = k.g.squeeze(out, *drop) if drop else out
    return _laid_out_anew(k, out) if k.attr("fused_transpose_Out") and k.attr("fused_reshape_Out") else out


def _laid_out_anew(k: Op, out: Value) -> Value:
    """Transpose and reshape as models that were optimized for MKL-DNN do."""
    if not k.attr("use_mkldnn"):
        k.refuse("fused_transpose_Out without use_mkldnn is not mapped")
    return k.g.reshape(k("Transpose", out, perm=k.ints("fused_transpose_Out")), k.ints("fused_reshape_Out"))


@maps("bmm")
def bmm(k: Op, x: Value, y: Value) -> Value:
    return k("MatMul", x, y)


@maps("addmm")
def addmm(k: Op, start: Value, x: Value, y: Value) -> Value:
    grown = k("Mul", k("MatMul", x, y), float(k.attr("Alpha")))
    return k("Add", k("Mul", start, float(k.attr("Beta"))), grown)


@maps("dot")
def dot(k: Op, x: Value, y: Value) -> Value:
    return k("ReduceSum", k("Mul", x, y), np.array([-1]), keepdims=1)


@maps("cross")
def cross(k: Op, x: Value, y: Value) -> Value:
    shape, axis = k.dims("X"), int(k.attr("dim"))
    if axis == 9:
        axis = next((number for number, size in enumerate(shape) if size == 3), -100)
        if axis == -100:
            k.refuse("which dim has size 3 is not known")
    parts = [[k.g.slice(each, axis, i, i + 1) for i in range(3)] for each in (x, y)]
    (x0, x1, x2), (y0, y1, y2) = parts
    pairs = [(x1, y2, x2, y1), (x2, y0, x0, y2), (x0, y1, x1, y0)]
    return k("Concat", *[k("Sub", k("Mul", a, b), k("Mul", c, d)) for a, b, c, d in pairs], axis=axis)


@maps("kron")
def kron(k: Op, x: Value, y: Value) -> Value:
    rank = max(k.rank(x), k.rank(y))
    x = k.g.unsqueeze(x, *range(rank - k.rank(x))) if k.rank(x) < rank else x
    y = k.g.unsqueeze(y, *range(rank - k.rank(y))) if k.rank(y) < rank else y
    wide = k("Mul", k.g.unsqueeze(x, *range(1, 2 * rank, 2)), k.g.unsqueeze(y, *range(0, 2 * rank, 2)))
    return k("Reshape", wide, k("Mul", k.g.shape(x), k.g.shape(y)), rank=rank)


@maps("dist")
def dist(k: Op, x: Value, y: Value) -> Value:
    p = float(k.attr("p"))
    far = k("Abs", k("Sub", x, y))
    if p == 0:
        found = k("ReduceSum", k.g.cast(k("Greater", far, 0), x.dtype), keepdims=0)
    elif math.isinf(p):
        found = k("ReduceMax" if p > 0 else "ReduceMin", far, keepdims=0)
    else:
        found = k("Pow", k("ReduceSum", k("Pow", far, p), keepdims=0), 1.0 / p)
    return k.g.flat(found)


@maps("bilinear_tensor_product")
def bilinear_tensor_product(k: Op, x: Value, y: Value, weight: Value, bias: Value | None) -> Value:
    # Out[n, o] = x[n] W[o] y[n]
    left = k("MatMul", k.g.unsqueeze(x, 0), weight, rank=3)  # [o, n, dy]
    summed = k("ReduceSum", k("Mul", left, k.g.unsqueeze(y, 0)), np.array([2]), keepdims=0, rank=2)
    out = k("Transpose", summed, perm=[1, 0])
    return out if bias is None else k("Add", out, k.g.reshape(bias, [1, -1]))


@maps("cos_sim")
def cos_sim(k: Op, x: Value, y: Value) -> tuple[Value, Value, Value]:
    x, y = k.g.flat2(x), k.g.flat2(y)
    last = np.array([1])
    # Fluid: norms are at least 1e-4, so that a row of zeros has the cosine 0.
    norm_x = k("Max", k("Sqrt", k("ReduceSum", k("Mul", x, x), last, keepdims=1)), 1e-4)
    norm_y = k("Max", k("Sqrt", k("ReduceSum", k("Mul", y, y), last, keepdims=1)), 1e-4)
    dotted = k("ReduceSum", k("Mul", x, y), last, keepdims=1)
    return k("Div", k("Div", dotted, norm_x), norm_y), norm_x, norm_y
