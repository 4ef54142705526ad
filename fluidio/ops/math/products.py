"""Products of tensors other than matmul: addmm, dot, cross, kron; and dist, the norm of a difference."""

from __future__ import annotations

import math

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled.products import product
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.math.elementwise import reduced
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_addmm(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    c.check(len(x) == len(y) == 2, f"X and Y must be matrices, their shapes are {list(x)} and {list(y)}")
    c.check(x[1] == y[0] or min(x[1], y[0]) < 0, f"X must have as many columns as Y has rows, got {x[1]} and {y[0]}")
    c.check(len(c.shape("Input")) == 2, f"Input must be a matrix, its shape is {list(c.shape('Input'))}")
    c.set("Out", (x[0], y[1]), c.dtype("X"), c.input("Input").lod_level)


@op("addmm", "Input X Y", "Out", {"Alpha": 1.0, "Beta": 1.0}, infer=_infer_addmm, grad=True)
def addmm(k: Call, start: Array, x: Array, y: Array) -> Array:
    """Out = Beta * Input + Alpha * (X @ Y)."""
    return start * x.dtype.type(k.attrs["Beta"]) + product(x, y) * x.dtype.type(k.attrs["Alpha"])


@gradient("addmm", "Input X Y Out@GRAD", "Input@GRAD X@GRAD Y@GRAD")
def addmm_grad(k: Call, start: Array, x: Array, y: Array, dout: Array) -> KernelResult:
    alpha, beta = x.dtype.type(k.attrs["Alpha"]), x.dtype.type(k.attrs["Beta"])
    return (
        reduced(dout, start.shape) * beta if k.wants("Input@GRAD") else None,
        product(dout, y.T) * alpha if k.wants("X@GRAD") else None,
        product(x.T, dout) * alpha if k.wants("Y@GRAD") else None,
    )


def _infer_dot(c: InferContext) -> None:
    shape, other = c.shape("X"), c.shape("Y")
    fits = len(shape) == len(other) and all(a == b or a < 0 or b < 0 for a, b in zip(shape, other))
    c.check(fits, f"X {list(shape)} and Y {list(other)} must have the same shape")
    c.check(len(shape) in (1, 2), f"X must have one or two dims, its shape is {list(shape)}")
    c.set("Out", (*shape[:-1], 1), c.dtype("X"), c.input("X").lod_level)


@op("dot", "X Y", "Out", infer=_infer_dot, grad=True)
def dot(k: Call, x: Array, y: Array) -> Array:
    """Out = the sum of X * Y along the last dim, which is kept with size 1."""
    return (x * y).sum(axis=-1, keepdims=True, dtype=x.dtype)


@gradient("dot", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def dot_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    return (y * dout if k.wants("X@GRAD") else None, x * dout if k.wants("Y@GRAD") else None)


_FIRST_OF_THREE = 9
"""The value of `dim` that stands for "the first dim of size 3"."""


def _cross_axis(shape: tuple[int, ...], dim: int) -> int:
    if dim == _FIRST_OF_THREE:
        found = [axis for axis, size in enumerate(shape) if size == 3]
        if not found:
            raise EnforceNotMet(f"one dim of {list(shape)} must have size 3")
        return found[0]
    if not -len(shape) <= dim < len(shape) or shape[dim] != 3:
        raise EnforceNotMet(f"dim {dim} of {list(shape)} must have size 3")
    return dim


def _infer_cross(c: InferContext) -> None:
    c.check(c.shape("X") == c.shape("Y"), f"X {list(c.shape('X'))} and Y {list(c.shape('Y'))} must have the same shape")
    shape, dim = c.shape("X"), c.attrs["dim"]
    if dim != _FIRST_OF_THREE:
        c.check(-len(shape) <= dim < len(shape), f"X has {len(shape)} dims and no dim {dim}")
        c.check(shape[dim] in (3, -1), f"dim {dim} of {list(shape)} must have size 3")
    c.same("Out", "X")


@op("cross", "X Y", "Out", {"dim": _FIRST_OF_THREE}, infer=_infer_cross, grad=True)
def cross(k: Call, x: Array, y: Array) -> Array:
    """Out = the cross products of X and Y along a dim of size 3."""
    return k.xp.cross(x, y, axis=_cross_axis(x.shape, k.attrs["dim"]))


@gradient("cross", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def cross_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    axis = _cross_axis(x.shape, k.attrs["dim"])
    return (
        k.xp.cross(y, dout, axis=axis) if k.wants("X@GRAD") else None,
        k.xp.cross(dout, x, axis=axis) if k.wants("Y@GRAD") else None,
    )


def _paired(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return both shapes with the same number of dims."""
    rank = max(len(x), len(y))
    return (1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y


def _interleaved(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return shapes with which X and Y broadcast to the product before pairs of its dims are joined."""
    a, b = _paired(x, y)
    return tuple(n for d in a for n in (d, 1)), tuple(n for d in b for n in (1, d))


def _infer_kron(c: InferContext) -> None:
    a, b = _paired(c.shape("X"), c.shape("Y"))
    c.set("Out", [-1 if min(m, n) < 0 else m * n for m, n in zip(a, b)], c.dtype("X"), c.input("X").lod_level)


@op("kron", "X Y", "Out", infer=_infer_kron, grad=True)
def kron(k: Call, x: Array, y: Array) -> Array:
    """Out = the Kronecker product: every element of X times all of Y, dim by dim."""
    a, b = _interleaved(x.shape, y.shape)
    product = x.reshape(a) * y.reshape(b)
    return product.reshape([m * n for m, n in zip(product.shape[::2], product.shape[1::2])])


@gradient("kron", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def kron_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    a, b = _interleaved(x.shape, y.shape)
    d = dout.reshape([m * n for m, n in zip(a, b)])
    return (
        reduced(d * y.reshape(b), a).reshape(x.shape) if k.wants("X@GRAD") else None,
        reduced(d * x.reshape(a), b).reshape(y.shape) if k.wants("Y@GRAD") else None,
    )


def _infer_dist(c: InferContext) -> None:
    c.set("Out", (1,), c.dtype("X"), c.input("X").lod_level)


@op("dist", "X Y", "Out", {"p": 2.0}, infer=_infer_dist, grad=True)
def dist(k: Call, x: Array, y: Array) -> Array:
    """Out = the p-norm of X - Y; p may be 0 (the number of differences), inf (the largest) or -inf (the smallest)."""
    xp, p = k.xp, k.attrs["p"]
    z = xp.abs(x - y)
    if p == 0:
        found = (z != 0).sum()
    elif math.isinf(p):
        found = z.max() if p > 0 else z.min()
    else:
        found = (z**p).sum() ** (1.0 / p)
    return xp.asarray(found, x.dtype).reshape(1)


@gradient("dist", "X Y Out Out@GRAD", "X@GRAD Y@GRAD")
def dist_grad(k: Call, x: Array, y: Array, out: Array, dout: Array) -> KernelResult:
    xp, p = k.xp, k.attrs["p"]
    z = x - y
    size = xp.abs(z)
    if p == 0:
        slope = xp.zeros_like(z)
    elif math.isinf(p):
        slope = xp.sign(z) * (size == out)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = xp.sign(z) * xp.where(size > 0, (size / out) ** (p - 1), 0)
    slope = (slope * dout).astype(x.dtype, copy=False)
    return (
        reduced(slope, x.shape) if k.wants("X@GRAD") else None,
        reduced(-slope, y.shape) if k.wants("Y@GRAD") else None,
    )
