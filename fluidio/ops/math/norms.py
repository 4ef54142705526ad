"""Norms of whole tensors and of differences: l1_norm, p_norm, frobenius_norm, squared_l2_distance, minus."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.dtypes import to_numpy
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.math.elementwise import reduced
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_one(c: InferContext) -> None:
    c.set("Out", (1,), c.dtype("X"))


@op("l1_norm", "X", "Out", infer=_infer_one, grad=True, lod="none")
def l1_norm(k: Call, x: Array) -> Array:
    """Out = the sum of |X|."""
    return k.xp.abs(x).sum().reshape(1)


@gradient("l1_norm", "X Out@GRAD", "X@GRAD")
def l1_norm_grad(k: Call, x: Array, dout: Array) -> Array:
    return k.xp.sign(x) * dout.reshape(())


def _dims(k: Call, x: Array) -> Any:
    return None if k.attrs["reduce_all"] else tuple(d % x.ndim for d in k.attrs["dim"])


def _infer_frobenius(c: InferContext) -> None:
    shape, a = c.shape("X"), c.attrs
    chosen = set(range(len(shape))) if a["reduce_all"] else {d % len(shape) for d in a["dim"]}
    if a["keep_dim"]:
        found = [1 if i in chosen else d for i, d in enumerate(shape)]
    else:
        found = [d for i, d in enumerate(shape) if i not in chosen] or [1]
    c.set("Out", found, c.dtype("X") if a["out_dtype"] < 0 else a["out_dtype"], c.input("X").lod_level)


@op(
    "frobenius_norm",
    "X",
    "Out",
    {"dim": [0], "keep_dim": False, "reduce_all": False, "in_dtype": -1, "out_dtype": -1},
    infer=_infer_frobenius,
    grad=True,
)
def frobenius_norm(k: Call, x: Array) -> Array:
    """Out = sqrt of the sum of squares over the dims."""
    if k.attrs["out_dtype"] >= 0:
        x = x.astype(to_numpy(k.attrs["out_dtype"]), copy=False)
    found = k.xp.sqrt((x * x).sum(axis=_dims(k, x), keepdims=k.attrs["keep_dim"]))
    return k.xp.asarray(found).reshape(found.shape or (1,))


@gradient("frobenius_norm", "X Out Out@GRAD", "X@GRAD")
def frobenius_norm_grad(k: Call, x: Array, out: Array, dout: Array) -> Array:
    axes = _dims(k, x)
    shape = [1 if axes is None or i in axes else n for i, n in enumerate(x.shape)]
    return x / out.reshape(shape) * dout.reshape(shape)


def _infer_p(c: InferContext) -> None:
    shape, axis = list(c.shape("X")), c.attrs["axis"]
    c.check(c.attrs["porder"] > 0, f"porder must be above 0, got {c.attrs['porder']}")
    if c.attrs["keepdim"]:
        shape[axis] = 1
    else:
        del shape[axis]
    c.set("Out", shape or (1,), c.dtype("X"))


@op(
    "p_norm",
    "X",
    "Out",
    {"porder": 2.0, "axis": -1, "epsilon": 1e-12, "keepdim": False},
    infer=_infer_p,
    grad=True,
    lod="none",
)
def p_norm(k: Call, x: Array) -> Array:
    """Out = the p-norm along an axis."""
    p = k.attrs["porder"]
    found = (k.xp.abs(x) ** p).sum(axis=k.attrs["axis"], keepdims=k.attrs["keepdim"]) ** float(np.float32(1 / p))
    return k.xp.asarray(found, x.dtype).reshape(found.shape or (1,))


@gradient("p_norm", "X Out Out@GRAD", "X@GRAD")
def p_norm_grad(k: Call, x: Array, out: Array, dout: Array) -> Array:
    p, xp = k.attrs["porder"], k.xp
    shape = list(x.shape)
    shape[k.attrs["axis"]] = 1
    length, d = out.reshape(shape), dout.reshape(shape)
    size = xp.abs(x)
    # Fluid: epsilon only in the denominator.
    slope = size ** (p - 1) * xp.sign(x) / (length ** (p - 1) + x.dtype.type(k.attrs["epsilon"]))
    return (slope * d).astype(x.dtype, copy=False)


def _minus_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Fluid: the gradients of both sides are `scale` ops."""
    arrived = {"X": [grad_name(forward.output("Out")[0])]}
    sides = (("X", 1.0), ("Y", -1.0))
    return [
        GradOp("scale", dict(arrived), {"Out": [grad_name(forward.input(slot)[0])]}, {"scale": factor})
        for slot, factor in sides
        if forward.input(slot)[0] not in no_grad
    ]


@op("minus", "X Y", "Out", infer=same_as("X"), grad=_minus_grad)
def minus(k: Call, x: Array, y: Array) -> Array:
    """Out = X - Y."""
    return x - y


def _infer_distance(c: InferContext) -> None:
    x = c.shape("X")
    c.set("sub_result", (x[0], math.prod(x[1:])), c.dtype("X"))
    c.set("Out", (x[0], 1), c.dtype("X"))


@op("squared_l2_distance", "X Y", "sub_result Out", infer=_infer_distance, grad=True)
def squared_l2_distance(k: Call, x: Array, y: Array) -> tuple[Array, Array]:
    """Out = the squared distance of the rows of X from those of Y, or from its only row."""
    difference = x.reshape(x.shape[0], math.prod(x.shape[1:])) - y.reshape(y.shape[0], math.prod(y.shape[1:]))
    return difference, (difference * difference).sum(axis=1, keepdims=True)


@gradient("squared_l2_distance", "X Y sub_result Out@GRAD", "X@GRAD Y@GRAD")
def squared_l2_distance_grad(k: Call, x: Array, y: Array, difference: Array, dout: Array) -> KernelResult:
    pull = np.float32(2) * dout * difference if dout.dtype == np.float32 else 2 * dout * difference
    dy = reduced(-pull, (y.shape[0], pull.shape[1])).reshape(y.shape)
    return pull.reshape(x.shape) if k.wants("X@GRAD") else None, dy if k.wants("Y@GRAD") else None
