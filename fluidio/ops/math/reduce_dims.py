"""Reductions over chosen dims (reduce_sum ... reduce_any) and running sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import to_numpy
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__: list[str] = []

_WIDE = 64
"""Neighbours from which on whole lines are added up."""

_ATTRS: dict[str, Any] = {"dim": [0], "keep_dim": False, "reduce_all": False, "in_dtype": -1, "out_dtype": -1}


def _dims(value: Any) -> Sequence[int]:
    return value if isinstance(value, (list, tuple)) else [value]


def _axes(attrs: dict[str, Any], ndim: int) -> tuple[int, ...]:
    wanted = _dims(attrs["dim"])
    if attrs["reduce_all"] or not wanted:
        return tuple(range(ndim))
    return tuple(sorted({d % ndim for d in wanted}))


def _infer(c: InferContext) -> None:
    shape = c.shape("X")
    for dim in _dims(c.attrs["dim"]):
        c.check(-len(shape) <= dim < max(len(shape), 1), f"X has {len(shape)} dims and no dim {dim}")
    axes = _axes(c.attrs, len(shape))
    if c.attrs["keep_dim"]:
        out = [1 if i in axes else d for i, d in enumerate(shape)]
    else:
        out = [d for i, d in enumerate(shape) if i not in axes] or [1]
    made = None if c.op.type in ("reduce_all", "reduce_any") else c.dtype("X")  # Fluid: bool as declared
    c.set(
        "Out",
        out,
        made if c.attrs["out_dtype"] < 0 else c.attrs["out_dtype"],
        0 if 0 in axes else c.input("X").lod_level,
    )


def _reduce(name: str, fold: Callable[[Any, tuple[int, ...], bool], Any], grad: bool) -> None:
    @op(name, "X", "Out", _ATTRS, infer=_infer, grad=grad, lod="kernel")
    def kernel(k: Call, x: Array) -> Array:
        axes = _axes(k.attrs, x.ndim)
        if k.attrs["out_dtype"] >= 0:
            x = x.astype(to_numpy(k.attrs["out_dtype"]), copy=False)
        out = fold(x, axes, k.attrs["keep_dim"])
        if 0 not in axes:
            k.out_lods["Out"] = k.lod("X")
        return out if out.ndim else out.reshape(1)

    kernel.__doc__ = f"Out = the {name.removeprefix('reduce_')} of X over the given dims."


_reduce("reduce_sum", lambda x, axes, keep: x.sum(axis=axes, keepdims=keep, dtype=x.dtype), True)
_reduce("reduce_mean", lambda x, axes, keep: x.mean(axis=axes, keepdims=keep, dtype=x.dtype), True)


def _largest(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Return the maxima; the maximum of nothing is the smallest number there is."""
    return x.max(axis=axes, keepdims=keep) if x.size else x.max(axis=axes, keepdims=keep, initial=_limits(x)[0])


def _smallest(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    return x.min(axis=axes, keepdims=keep) if x.size else x.min(axis=axes, keepdims=keep, initial=_limits(x)[1])


def _limits(x: Array) -> tuple[Any, Any]:
    return (-np.inf, np.inf) if x.dtype.kind == "f" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)


_reduce("reduce_max", _largest, True)
_reduce("reduce_min", _smallest, True)
_reduce("reduce_prod", lambda x, axes, keep: x.prod(axis=axes, keepdims=keep, dtype=x.dtype), True)
_reduce("reduce_all", lambda x, axes, keep: x.all(axis=axes, keepdims=keep), False)
_reduce("reduce_any", lambda x, axes, keep: x.any(axis=axes, keepdims=keep), False)


def _spread(k: Call, x: Array, array: Array) -> Array:
    """Return a reduced array with the reduced dims restored as ones, in X's dtype."""
    axes = _axes(k.attrs, x.ndim)
    shape = [1 if i in axes else d for i, d in enumerate(x.shape)]
    return array.reshape(shape).astype(x.dtype, copy=False)


@gradient("reduce_sum", "X Out@GRAD", "X@GRAD", lod="share")
def reduce_sum_grad(k: Call, x: Array, dout: Array) -> Array:
    dx = k.xp.broadcast_to(_spread(k, x, dout), x.shape)
    kind = x.dtype if k.attrs["in_dtype"] < 0 else to_numpy(k.attrs["in_dtype"])
    return dx.astype(kind, order="C")  # Fluid: whatever the dtype of X


@gradient("reduce_mean", "X Out@GRAD", "X@GRAD", lod="share")
def reduce_mean_grad(k: Call, x: Array, dout: Array) -> Array:
    d = _spread(k, x, dout)
    return k.xp.broadcast_to(d / (x.size // max(d.size, 1)), x.shape).copy()


def _extreme_grad(name: str) -> None:
    @gradient(name, "X Out Out@GRAD", "X@GRAD", lod="share")
    def kernel(k: Call, x: Array, out: Array, dout: Array) -> Array:
        # Fluid: every element equal to the extreme gets the full gradient.
        return (x == _spread(k, x, out)) * _spread(k, x, dout)


_extreme_grad("reduce_max")
_extreme_grad("reduce_min")


@gradient("reduce_prod", "X Out Out@GRAD", "X@GRAD", lod="share")
def reduce_prod_grad(k: Call, x: Array, out: Array, dout: Array) -> Array:
    return _spread(k, x, dout) * _spread(k, x, out) / x


def _cumsum_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    attrs = {name: forward.attr(name) for name in ("axis", "exclusive", "flatten")}
    attrs["reverse"] = not forward.attr("reverse")
    return [GradOp("cumsum", {"X": [grad_name(forward.output("Out")[0])]}, {"Out": [grad_name(x)]}, attrs)]


@op(
    "cumsum",
    "X",
    "Out",
    {"axis": -1, "flatten": False, "exclusive": False, "reverse": False},
    infer=same_as("X"),
    grad=_cumsum_grad,
)
def cumsum(k: Call, x: Array) -> Array:
    """Out = running sums along axis; `exclusive` leaves out the element itself, `reverse` starts at the end."""
    xp, a = k.xp, k.attrs
    axis = a["axis"] % x.ndim
    out = xp.empty(x.shape, x.dtype)
    source, target = (xp.flip(part, axis) if a["reverse"] else part for part in (x, out))
    if a["exclusive"] and x.shape[axis]:
        lead = (slice(None),) * axis
        target[(*lead, slice(0, 1))] = 0
        source, target = source[(*lead, slice(0, -1))], target[(*lead, slice(1, None))]
    if k.dev.is_gpu or math.prod(x.shape[axis + 1 :]) < _WIDE or not source.size:
        xp.cumsum(source, axis=axis, dtype=x.dtype, out=target)
        return out
    lines, sums = xp.moveaxis(source, axis, 0), xp.moveaxis(target, axis, 0)
    sums[0] = lines[0]
    for at in range(1, len(lines)):  # NumPy goes along the axis, and skips through memory
        xp.add(sums[at - 1], lines[at], out=sums[at])
    return out
