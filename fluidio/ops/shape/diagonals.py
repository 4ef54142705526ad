"""Diagonals and triangles: diag_embed, trace, tril_triu."""

from __future__ import annotations

from typing import Any

from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_DIMS = {"offset": 0, "dim1": -2, "dim2": -1}


def _embedded(shape: tuple[int, ...], attrs: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape of the input with its last dim replaced by two."""
    side = shape[-1] + abs(attrs["offset"]) if shape[-1] >= 0 else -1
    rank = len(shape) + 1
    dims = sorted(d % rank for d in (attrs["dim1"], attrs["dim2"]))
    found = list(shape[:-1])
    for dim in dims:
        found.insert(dim, side)
    return tuple(found)


def _infer_embed(c: InferContext) -> None:
    rank = len(c.shape("Input")) + 1
    dim1, dim2 = c.attrs["dim1"], c.attrs["dim2"]
    for dim in (dim1, dim2):
        c.check(-rank <= dim < rank, f"the output has {rank} dims and no dim {dim}")
    c.check(dim1 % rank != dim2 % rank, f"dim1 ({dim1}) and dim2 ({dim2}) name the same dim")
    c.set("Out", _embedded(c.shape("Input"), c.attrs), c.dtype("Input"))


@op("diag_embed", "Input", "Out", _DIMS, infer=_infer_embed, grad=False, lod="none")
def diag_embed(k: Call, x: Array) -> Array:
    """Out = matrices over dim1 and dim2 that have the last dim of Input on a diagonal."""
    xp, offset, n = k.xp, k.attrs["offset"], x.shape[-1]
    side = n + abs(offset)
    out = xp.zeros((*x.shape[:-1], side, side), x.dtype)
    steps = xp.arange(n)
    out[..., steps + max(-offset, 0), steps + max(offset, 0)] = x
    return row_by_row(xp, xp.moveaxis(out, (-2, -1), (k.attrs["dim1"], k.attrs["dim2"])))


def _ascending(attrs: dict[str, Any], rank: int) -> tuple[int, ...]:
    """Return dim1 and dim2 counted from the front. Fluid: the smaller one is the rows, whatever their order."""
    return tuple(sorted(attrs[name] % rank for name in ("dim1", "dim2")))


def _infer_trace(c: InferContext) -> None:
    shape = c.shape("Input")
    rank = len(shape)
    c.check(rank >= 2, f"Input must have at least 2 dims, its shape is {list(shape)}")
    dims = {c.attrs["dim1"] % rank, c.attrs["dim2"] % rank}
    c.check(len(dims) == 2, f"dim1 ({c.attrs['dim1']}) and dim2 ({c.attrs['dim2']}) name the same dim")
    rest = [size for dim, size in enumerate(shape) if dim not in dims]
    c.set("Out", rest or (1,), c.dtype("Input"))


@op("trace", "Input", "Out", {"offset": 0, "dim1": -2, "dim2": -1}, infer=_infer_trace, grad=True, lod="none")
def trace(k: Call, x: Array) -> Array:
    """Out = the sums along a diagonal over dim1 and dim2."""
    rows, columns = _ascending(k.attrs, x.ndim)
    offset = min(max(k.attrs["offset"], -x.shape[rows]), x.shape[columns])  # NumPy reads elsewhere at -2**31
    found = k.xp.trace(x, offset, rows, columns, dtype=x.dtype)
    return k.xp.asarray(found).reshape(found.shape or (1,))


@gradient("trace", "Input Out@GRAD", "Input@GRAD")
def trace_grad(k: Call, x: Array, dout: Array) -> Array:
    dx = k.xp.zeros_like(x)
    moved = k.xp.moveaxis(dx, _ascending(k.attrs, x.ndim), (-2, -1))
    rows, columns = moved.shape[-2:]
    down, right = max(-k.attrs["offset"], 0), max(k.attrs["offset"], 0)
    steps = k.xp.arange(max(min(rows - down, columns - right), 0))
    moved[..., steps + down, steps + right] = dout.reshape(*moved.shape[:-2], 1)
    return dx


def _triangle(k: Call, x: Array) -> Array:
    cut = k.xp.tril if k.attrs["lower"] else k.xp.triu
    return cut(x, k.attrs["diagonal"])


@op("tril_triu", "X", "Out", {"diagonal": 0, "lower": True}, infer=same_as("X"), grad=True)
def tril_triu(k: Call, x: Array) -> Array:
    """Out = X with zeros above (lower) or below a diagonal."""
    return _triangle(k, x)


@gradient("tril_triu", "X Out@GRAD", "X@GRAD")
def tril_triu_grad(k: Call, x: Array, dout: Array) -> Array:
    return _triangle(k, dout)
