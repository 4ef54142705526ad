"""Sums, means and other reductions."""

from __future__ import annotations

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__ = ["axes_of"]


def axes_of(k: Op, rank: int) -> list[int]:
    """Return the axes of a reduction."""
    dims = k.attr("dim")
    dims = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if k.attr("reduce_all") or not dims:
        return list(range(rank))
    return sorted({int(d) % rank for d in dims})


def _reduced(k: Op, op_type: str, x: Value) -> Value:
    rank = k.rank(x, "X")
    axes = axes_of(k, rank)
    if 0 not in axes:
        k.pass_lod()
    keep = int(bool(k.attr("keep_dim")))
    out = k(op_type, x, np.asarray(axes, np.int64), keepdims=keep)
    return out if keep or len(axes) < rank else k.g.reshape(out, [1])


def _reduction(name: str, op_type: str) -> None:
    @maps(name)
    def mapping(k: Op, x: Value) -> Value:
        wanted = int(k.attr("out_dtype", -1))
        if wanted >= 0:
            x = k.g.cast(x, to_numpy(VarType(wanted)))
        if op_type == "ReduceMean" and x.dtype.kind != "f":
            return k.g.cast(_reduced(k, op_type, k.g.cast(x, np.float64)), x.dtype)
        return _reduced(k, op_type, x)


for _name, _type in {
    "reduce_sum": "ReduceSum",
    "reduce_mean": "ReduceMean",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
}.items():
    _reduction(_name, _type)


def _logic(name: str, op_type: str) -> None:
    @maps(name)
    def mapping(k: Op, x: Value) -> Value:
        return k.g.cast(_reduced(k, op_type, k.g.cast(x, np.int32)), np.bool_)


_logic("reduce_all", "ReduceMin")
_logic("reduce_any", "ReduceMax")


@maps("mean")
def mean(k: Op, x: Value) -> Value:
    return k("ReduceMean", k.g.flat(x), keepdims=1)


@maps("sum")
def sum_(k: Op, xs: list[Value]) -> Value:
    if len(xs) == 1:
        return k("Identity", xs[0])
    out = xs[0]
    for each in xs[1:]:
        out = k("Add", out, each)
    return out


@maps("cumsum")
def cumsum(k: Op, x: Value) -> Value:
    axis = int(k.attr("axis"))
    if k.attr("flatten"):
        x, axis = k.g.flat(x), 0
    options = {"exclusive": int(bool(k.attr("exclusive"))), "reverse": int(bool(k.attr("reverse")))}
    return k("CumSum", x, np.asarray(axis, np.int64), **options)


@maps("l1_norm")
def l1_norm(k: Op, x: Value) -> Value:
    return k("ReduceSum", k("Abs", k.g.flat(x)), keepdims=1)


@maps("squared_l2_norm")
def squared_l2_norm(k: Op, x: Value) -> Value:
    flat = k.g.flat(x)
    return k("ReduceSum", k("Mul", flat, flat), keepdims=1)


@maps("frobenius_norm")
def frobenius_norm(k: Op, x: Value) -> Value:
    return k("Sqrt", _reduced(k, "ReduceSumSquare", x))


@maps("p_norm")
def p_norm(k: Op, x: Value) -> Value:
    p, axis = float(k.attr("porder")), int(k.attr("axis"))
    summed = k("ReduceSum", k("Pow", k("Abs", x), p), np.array([axis]), keepdims=int(bool(k.attr("keepdim"))))
    out = k("Pow", summed, 1.0 / p)
    return k.g.reshape(out, [1]) if out.rank == 0 else out


@maps("squared_l2_distance")
def squared_l2_distance(k: Op, x: Value, y: Value) -> tuple[Value, Value]:
    difference = k("Sub", k.g.flat2(x), k.g.flat2(y))
    return difference, k("ReduceSum", k("Mul", difference, difference), np.array([1]), keepdims=1)


@maps("clip_by_norm")
def clip_by_norm(k: Op, x: Value) -> Value:
    limit = float(k.attr("max_norm"))
    length = k("Sqrt", k("ReduceSumSquare", x, keepdims=0))
    factor = k("Where", k("Greater", length, limit), k("Div", k.g.value(limit, x), length), k.g.value(1.0, x))
    return k("Mul", x, factor)
