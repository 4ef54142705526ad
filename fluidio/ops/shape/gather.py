"""Gather and scatter rows: gather, gather_nd, scatter, scatter_nd_add."""

from __future__ import annotations

import math

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import NEVER, Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def check_index(k: Call, index: Array, size: int, what: str) -> None:
    """Refuse indices outside [0, size); on a GPU the next fetch does, so that the stream need not wait."""
    if k.dev.is_gpu:
        k.dev.check_range(index, size, NEVER, k.op)
        return
    if not index.size:
        return
    low, high = index.min(), index.max()
    if low < 0 or high >= size:
        raise EnforceNotMet(f"{what} {low if low < 0 else high} is out of range: the input has {size} rows")


def _infer_gather(c: InferContext) -> None:
    index = c.shape("Index")
    c.check(
        len(index) == 1 or (len(index) == 2 and index[1] == 1),
        f"Index must have shape [N] or [N, 1], got {list(index)}",
    )
    c.set("Out", (index[0], *c.shape("X")[1:]), c.dtype("X"), 0)


@op("gather", "X Index", "Out", {"overwrite": True}, infer=_infer_gather, grad=True, lod="none")
def gather(k: Call, x: Array, index: Array) -> Array:
    """Out = the rows of X at the positions in Index."""
    rows = index.reshape(-1)
    check_index(k, rows, x.shape[0], "index")
    return x.take(rows, axis=0)


@gradient("gather", "X Index Out@GRAD", "X@GRAD")
def gather_grad(k: Call, x: Array, index: Array, dout: Array) -> Array:
    dx = k.xp.zeros_like(x)
    if k.attrs["overwrite"]:
        # Fluid: if a row is gathered several times, only the last gradient counts, unless overwrite=False.
        dx[index.reshape(-1)] = dout
    else:
        k.dev.scatter_add(dx, index.reshape(-1), dout)
    return dx


def _flat_index(k: Call, shape: tuple[int, ...], index: Array) -> tuple[Array, int]:
    """Return row numbers into the flattened first dims of `shape`, and how many dims those are."""
    depth = index.shape[-1]
    flat = k.xp.zeros(index.shape[:-1], np.int64)
    for i in range(depth):
        part = index[..., i]
        check_index(k, part, shape[i], f"index of dim {i}:")
        flat = flat * shape[i] + part
    return flat.reshape(-1), depth


def _too_deep(depth: int, rank: int) -> str:
    # Fluid: its tests look for this phrase.
    return f"Input(Index).shape[-1] should be no greater than Input(X).rank, but it is {depth} for an X of {rank} dims"


def _infer_gather_nd(c: InferContext) -> None:
    x, index = c.shape("X"), c.shape("Index")
    c.check(len(index) > 1, f"Index must have at least 2 dims, its shape is {list(index)}")
    c.check(index[-1] <= len(x), _too_deep(index[-1], len(x)))
    c.set("Out", (*index[:-1], *x[index[-1] :]), c.dtype("X"), 0)


@op("gather_nd", "X Index", "Out", infer=_infer_gather_nd, grad=True, lod="none")
def gather_nd(k: Call, x: Array, index: Array) -> Array:
    """Out = the pieces of X at the positions in the last dim of Index."""
    flat, depth = _flat_index(k, x.shape, index)
    rows = x.reshape(math.prod(x.shape[:depth]), *x.shape[depth:])
    return rows.take(flat, axis=0).reshape(*index.shape[:-1], *x.shape[depth:])


@gradient("gather_nd", "X Index Out@GRAD", "X@GRAD")
def gather_nd_grad(k: Call, x: Array, index: Array, dout: Array) -> Array:
    flat, depth = _flat_index(k, x.shape, index)
    dx = k.xp.zeros((math.prod(x.shape[:depth]), *x.shape[depth:]), x.dtype)
    k.dev.scatter_add(dx, flat, dout.reshape(flat.shape[0], *x.shape[depth:]))
    return dx.reshape(x.shape)


def _infer_scatter(c: InferContext) -> None:
    x, updates = c.shape("X"), c.shape("Updates")
    c.check(
        all(a == b or a < 0 or b < 0 for a, b in zip(x[1:], updates[1:])),
        f"the rows of Updates {list(updates)} must have the shape of the rows of X {list(x)}",
    )
    c.same("Out", "X")


@op("scatter", "X Ids Updates", "Out", {"overwrite": True}, infer=_infer_scatter, grad=True)
def scatter(k: Call, x: Array, ids: Array, updates: Array) -> Array:
    """Out = X with the rows Ids replaced by Updates, or with overwrite=False set to the sum of theirs.

    Fluid: with overwrite=False these rows of X count as zero.
    """
    rows = ids.reshape(-1)
    check_index(k, rows, x.shape[0], "id")
    out = x.copy()
    if k.attrs["overwrite"]:
        out[rows] = updates
    else:
        out[rows] = 0
        k.dev.scatter_add(out, rows, updates)
    return out


@gradient("scatter", "Ids Updates Out@GRAD", "X@GRAD Updates@GRAD")
def scatter_grad(k: Call, ids: Array, updates: Array, dout: Array) -> KernelResult:
    # Fluid: X@GRAD is Out@GRAD unchanged, including the replaced rows.
    return (
        dout[...] if k.wants("X@GRAD") else None,
        dout.take(ids.reshape(-1), axis=0) if k.wants("Updates@GRAD") else None,
    )


def _infer_scatter_nd_add(c: InferContext) -> None:
    x, index, updates = c.shape("X"), c.shape("Index"), c.shape("Updates")
    c.check(index[-1] <= len(x), _too_deep(index[-1], len(x)))
    rank = len(index) - 1 + len(x) - index[-1]
    text = f"Updates has wrong shape {list(updates)}: it must have {rank} dims for Index {list(index)} and X {list(x)}"
    c.check(len(index) == 1 or index[-1] < 0 or len(updates) == rank, text)
    c.same("Out", "X")


@op("scatter_nd_add", "X Index Updates", "Out", infer=_infer_scatter_nd_add, grad=True)
def scatter_nd_add(k: Call, x: Array, index: Array, updates: Array) -> Array:
    """Out = X plus Updates at the positions in the last dim of Index."""
    flat, depth = _flat_index(k, x.shape, index)
    out = x.copy().reshape(math.prod(x.shape[:depth]), *x.shape[depth:])
    k.dev.scatter_add(out, flat, updates.reshape(flat.shape[0], *x.shape[depth:]))
    return out.reshape(x.shape)


@gradient("scatter_nd_add", "Index Updates Out@GRAD", "X@GRAD Updates@GRAD")
def scatter_nd_add_grad(k: Call, index: Array, updates: Array, dout: Array) -> KernelResult:
    dupdates = None
    if k.wants("Updates@GRAD"):
        flat, depth = _flat_index(k, dout.shape, index)
        rows = dout.reshape(math.prod(dout.shape[:depth]), *dout.shape[depth:])
        dupdates = rows.take(flat, axis=0).reshape(updates.shape)
    return dout[...] if k.wants("X@GRAD") else None, dupdates
