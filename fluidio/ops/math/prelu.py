"""Activations with learned slopes or groups of channels: prelu, maxout."""

from __future__ import annotations

import numpy as np

from fluidio.ops.compiled import curves
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _slopes(k: Call, x: Array, alpha: Array) -> Array:
    """Return alpha shaped to broadcast against X."""
    mode = k.attrs["mode"]
    if mode == "all":
        return alpha.reshape((1,) * x.ndim)
    if mode == "channel":
        return alpha.reshape(1, x.shape[1], *(1,) * (x.ndim - 2))
    return alpha.reshape(1, *x.shape[1:])


def _by_one(name: str, x: Array, slopes: Array, d: Array | None = None) -> Array | None:
    """Return a function of X (and of the gradient of Out) in C if there is one slope for all of X."""
    return curves.loss(name, x, d, (float(slopes.reshape(-1)[0]),)) if slopes.size == 1 and curves.fits(x, d) else None


def _joins(k: Call, slopes: Array) -> bool:
    """Return whether both sides of zero can be added up, which takes less time than choosing between them."""
    return not k.dev.is_gpu and bool(np.isfinite(slopes).all())


@op("prelu", "X Alpha", "Out", {"mode": "all"}, infer=same_as("X"), grad=True)
def prelu(k: Call, x: Array, alpha: Array) -> Array:
    """Out = X where positive, alpha * X elsewhere; one alpha, one for each channel or one for each element."""
    xp, slopes = k.xp, _slopes(k, x, alpha)
    out = _by_one("prelu", x, slopes)
    if out is None and _joins(k, slopes):
        out = xp.minimum(x, 0)
        out *= slopes
        out += xp.maximum(x, 0)
    return xp.where(x > 0, x, x * slopes) if out is None else out


@gradient("prelu", "X Alpha Out@GRAD", "X@GRAD Alpha@GRAD")
def prelu_grad(k: Call, x: Array, alpha: Array, dout: Array) -> KernelResult:
    xp = k.xp
    slopes = _slopes(k, x, alpha)
    dx = _by_one("prelu_grad", x, slopes, dout) if k.wants("X@GRAD") else None
    if dx is None and k.wants("X@GRAD"):
        dx = dout * xp.maximum(slopes, x > 0) if _lies_below(k, slopes) else xp.where(x > 0, dout, dout * slopes)
    if not k.wants("Alpha@GRAD"):
        return dx, None
    axes = tuple(i for i, size in enumerate(slopes.shape) if size == 1)
    moved = curves.loss("prelu_slope", x, dout, ())
    moved = dout * xp.minimum(x, 0) if moved is None else moved
    return dx, moved.sum(axis=axes).reshape(alpha.shape)


def _lies_below(k: Call, slopes: Array) -> bool:
    """Return whether all slopes lie from 0 to 1, so that the larger of a slope and a truth value is the factor."""
    return not k.dev.is_gpu and bool(((slopes >= 0) & (slopes <= 1)).all())


def _infer_maxout(c: InferContext) -> None:
    shape, groups, axis = list(c.shape("X")), c.attrs["groups"], c.attrs["axis"]
    c.check(groups > 1, f"groups must be above 1, got {groups}")
    if shape[axis] > 0:
        c.check(shape[axis] % groups == 0, f"{shape[axis]} channels cannot be divided into {groups} groups")
        shape[axis] //= groups
    c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)


def _grouped(k: Call, x: Array) -> tuple[Array, int]:
    groups = k.attrs["groups"]
    axis = k.attrs["axis"] % x.ndim
    return x.reshape(*x.shape[:axis], x.shape[axis] // groups, groups, *x.shape[axis + 1 :]), axis + 1


@op("maxout", "X", "Out", {"groups": 1, "axis": 1}, infer=_infer_maxout, grad=True)
def maxout(k: Call, x: Array) -> Array:
    """Out = the largest of each group of channels."""
    grouped, axis = _grouped(k, x)
    return grouped.max(axis=axis)


@gradient("maxout", "X Out Out@GRAD", "X@GRAD")
def maxout_grad(k: Call, x: Array, out: Array, dout: Array) -> Array:
    grouped, axis = _grouped(k, x)
    dx = k.xp.empty_like(grouped)
    left = k.xp.ones(out.shape, bool)
    for place in range(k.attrs["groups"]):  # the first that is the largest takes the gradient
        at: tuple[slice | int, ...] = (*[slice(None)] * axis, place)
        here = left & (grouped[at] == out)
        dx[at] = k.xp.where(here, dout, 0)
        left &= ~here
    return dx.reshape(x.shape)
