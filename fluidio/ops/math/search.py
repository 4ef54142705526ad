"""Search and sort: arg_max, arg_min, argsort, top_k, where, unique, shard_index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.ops.kernel import Call, KernelResult, put_along_axis
from fluidio.ops.math.heap import largest
from fluidio.ops.registry import gradient, op, same_as
from fluidio.ops.shape.dims import host_ints
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_TABLE = 8
"""Numbers of a table for each entry, up to which it is faster than sorting."""


def _infer_arg(c: InferContext) -> None:
    shape = list(c.shape("X"))
    axis = c.attrs["axis"]
    c.check(-len(shape) <= axis < len(shape), f"X has {len(shape)} dims and no dim {axis}")
    if c.attrs["keepdims"]:
        shape[axis] = 1
    else:
        del shape[axis]
    c.set("Out", shape, _index_type(c.attrs["dtype"]), 0)


def _index_type(dtype: int) -> VarType:
    return VarType.INT64 if dtype < 0 else VarType(dtype)


def _arg(name: str, find: Callable[[Any, int], Any]) -> None:
    @op(name, "X", "Out", {"axis": -1, "dtype": -1, "keepdims": False}, infer=_infer_arg, grad=False, lod="none")
    def kernel(k: Call, x: Any) -> Any:
        axis = k.attrs["axis"]
        found = find(x, axis).astype(to_numpy(_index_type(k.attrs["dtype"])))
        if k.attrs["keepdims"]:
            return k.xp.expand_dims(found, axis)
        return k.xp.asarray(found)  # a number without dims for a vector

    kernel.__doc__ = f"Out = the index of the {'largest' if name == 'arg_max' else 'smallest'} entry along axis."


_arg("arg_max", lambda x, axis: x.argmax(axis=axis))
_arg("arg_min", lambda x, axis: x.argmin(axis=axis))


def _infer_argsort(c: InferContext) -> None:
    rank, axis = len(c.shape("X")), c.attrs["axis"]
    c.check(-rank <= axis < rank, f"X has {rank} dims and no dim {axis}")
    c.same("Out", "X")
    c.set("Indices", c.shape("X"), VarType.INT64, c.input("X").lod_level)


@op("argsort", "X", "Out Indices", {"axis": -1, "descending": False}, infer=_infer_argsort, grad=True)
def argsort(k: Call, x: Array) -> tuple[Array, Array]:
    """Out, Indices = X sorted along axis, and the index each entry came from."""
    axis = k.attrs["axis"]
    indices = k.xp.argsort(-x if k.attrs["descending"] else x, axis=axis, kind="stable")
    return k.xp.take_along_axis(x, indices, axis=axis), indices.astype(np.int64, copy=False)


@gradient("argsort", "X Indices Out@GRAD", "X@GRAD")
def argsort_grad(k: Call, x: Array, indices: Array, dout: Array) -> Array:
    dx = k.xp.zeros_like(x)
    put_along_axis(k.xp, dx, indices, dout, axis=k.attrs["axis"])
    return dx


def _infer_top_k(c: InferContext) -> None:
    count = c.attrs["k"]  # Fluid: declared by the attribute, whatever a tensor K will hold
    c.check(count >= 1, f"k must be at least 1, got {count}")
    shape = (*c.shape("X")[:-1], count)
    c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)
    c.set("Indices", shape, VarType.INT64, c.input("X").lod_level)


@op("top_k", "X K?", "Out Indices", {"k": 1}, infer=_infer_top_k, grad=True)
def top_k(k: Call, x: Array, k_tensor: Array) -> tuple[Array, Array]:
    """Out, Indices = the k largest entries of each row, largest first."""
    given = host_ints(k, k_tensor)
    count = given[0] if given else k.attrs["k"]
    if count > x.shape[-1]:
        raise ValueError(f"k is {count}, but the rows of X have only {x.shape[-1]} entries")
    if count == 1:
        indices = x.argmax(axis=-1)[..., None]
    else:
        order = _descending(k, x, count + 1)
        indices = order[..., :count]
        if not k.dev.is_gpu:
            indices = _ties_by_heap(x, order, indices)
    return k.xp.take_along_axis(x, indices, axis=-1), indices.astype(np.int64, copy=False)


def _descending(k: Call, x: Array, count: int) -> Array:
    """Return the positions of the largest entries of each row, largest first and equal ones in order."""
    if k.dev.is_gpu or 4 * count > x.shape[-1] or x.dtype.kind != "f" or np.isnan(x).any():
        return k.xp.argsort(-x, axis=-1, kind="stable")[..., :count]
    # argpartition may return any of the entries equal to the last one; rows with ties are ordered by a heap.
    found = np.sort(np.argpartition(-x, count - 1, axis=-1)[..., :count], axis=-1)
    order = np.argsort(-np.take_along_axis(x, found, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(found, order, axis=-1)


def _ties_by_heap(x: Array, order: Array, indices: Array) -> Array:
    """Order equal entries as the CPU kernel of Fluid 1.8.5 does, which uses a heap."""
    best = np.take_along_axis(x, order, axis=-1)
    tied = (best[..., 1:] == best[..., :-1]).any(axis=-1) & ~np.isnan(best).any(axis=-1)
    if tied.any():
        indices[tied] = [largest(row, indices.shape[-1]) for row in x[tied].tolist()]
    return indices


@gradient("top_k", "X Indices Out@GRAD", "X@GRAD")
def top_k_grad(k: Call, x: Array, indices: Array, dout: Array) -> Array:
    dx = k.xp.zeros_like(x)
    put_along_axis(k.xp, dx, indices, dout, axis=-1)
    return dx


def _infer_where_index(c: InferContext) -> None:
    c.set("Out", (-1, len(c.shape("Condition"))), VarType.INT64, 0)


@op("where_index", "Condition", "Out", infer=_infer_where_index, grad=False, lod="none")
def where_index(k: Call, condition: Array) -> Array:
    """Out = the positions at which the condition is true, one in each row."""
    return k.xp.argwhere(condition).astype(np.int64, copy=False)


@op("where", "Condition X Y", "Out", infer=same_as("X"), grad=True)
def where(k: Call, condition: Array, x: Array, y: Array) -> Array:
    """Out = X where the condition is true, Y elsewhere."""
    return k.xp.where(condition, x, y)


@gradient("where", "Condition Out@GRAD", "X@GRAD Y@GRAD", carried="X Y")
def where_grad(k: Call, condition: Array, dout: Array) -> KernelResult:
    return (
        dout * condition if k.wants("X@GRAD") else None,
        dout * ~condition if k.wants("Y@GRAD") else None,
    )


def _infer_unique(c: InferContext) -> None:
    c.check(len(c.shape("X")) == 1, f"X must be a vector, its shape is {list(c.shape('X'))}")
    c.set("Out", (-1,), c.dtype("X"), 0)
    c.set("Index", c.shape("X"), c.attrs["dtype"], 0)
    c.set("Count", (-1,), c.attrs["dtype"], 0)


def _unique(k: Call, x: Array) -> tuple[Array, Array, Array]:
    """Return distinct values in order of first appearance, each entry's index among them, and counts."""
    dtype, given = to_numpy(k.attrs["dtype"]), k.dev.download(x).reshape(-1)
    first = _first_places(given)
    is_first = first == np.arange(given.size)
    index = (np.cumsum(is_first) - 1)[first]
    values = given[is_first]
    return values, index.astype(dtype), np.bincount(index, minlength=values.size).astype(dtype)


def _first_places(x: Array) -> Array:
    """Return where the value of each entry appears first; NaN equals nothing."""
    numbers = np.arange(x.size)
    low, high = (int(x.min()), int(x.max())) if x.size and x.dtype.kind in "iu" else (0, x.size * _TABLE)
    if high - low < x.size * _TABLE:  # a table of all values between
        first = np.empty(high - low + 1, np.int64)
        places = (x - low).astype(np.intp)
        first[places[::-1]] = numbers[::-1]  # of several, the last one stays
        return first[places]
    order = np.argsort(x, kind="stable")
    values = x[order]
    starts = np.concatenate([np.ones(min(x.size, 1), np.bool_), values[1:] != values[:-1]])
    first = np.empty(x.size, np.int64)
    first[order] = order[np.flatnonzero(starts)][np.cumsum(starts) - 1]
    return first


@op("unique", "X", "Out Index", {"dtype": VarType.INT32}, infer=_infer_unique, grad=False, lod="none")
def unique(k: Call, x: Array) -> KernelResult:
    """Out, Index = the distinct values in order of appearance, and the index of each entry of X among them."""
    return tuple(k.dev.upload(a) for a in _unique(k, x)[:2])


@op("unique_with_counts", "X", "Out Index Count", {"dtype": VarType.INT32}, infer=_infer_unique, grad=False, lod="none")
def unique_with_counts(k: Call, x: Array) -> KernelResult:
    """Out, Index, Count = like `unique`, and how often each value appears."""
    return tuple(k.dev.upload(a) for a in _unique(k, x))


@op(
    "shard_index",
    "X",
    "Out",
    {"index_num": 0, "nshards": 1, "shard_id": 0, "ignore_value": -1},
    infer=same_as("X"),
    grad=False,
)
def shard_index(k: Call, x: Array) -> Array:
    """Out = each index relative to its shard if it falls into shard shard_id, else ignore_value."""
    a = k.attrs
    size = (a["index_num"] + a["nshards"] - 1) // a["nshards"]
    return k.xp.where(x // size == a["shard_id"], x % size, a["ignore_value"]).astype(x.dtype, copy=False)
