"""Select elements with index tensors: index_sample, index_select."""

from __future__ import annotations

from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.shape.gather import check_index
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_sample(c: InferContext) -> None:
    x, index = c.shape("X"), c.shape("Index")
    c.check(len(x) == len(index) == 2, f"X {list(x)} and Index {list(index)} must be matrices")
    c.check(x[0] == index[0] or min(x[0], index[0]) < 0, f"X has {x[0]} rows, but Index has {index[0]}")
    c.set("Out", index, c.dtype("X"), c.input("Index").lod_level)


@op("index_sample", "X Index", "Out", infer=_infer_sample, grad=True, lod="none")
def index_sample(k: Call, x: Array, index: Array) -> Array:
    """Out = in each row, the elements of X at the positions in the same row of Index."""
    check_index(k, index, x.shape[1], "index")
    return k.xp.take_along_axis(x, index.astype("int64", copy=False), axis=1)


@gradient("index_sample", "X Index Out@GRAD", "X@GRAD")
def index_sample_grad(k: Call, x: Array, index: Array, dout: Array) -> Array:
    flat = k.xp.zeros(x.size, dout.dtype)
    places = k.xp.arange(x.shape[0])[:, None] * x.shape[1] + index
    k.dev.scatter_add(flat, places.reshape(-1), dout.reshape(-1))
    return flat.reshape(x.shape)


def _infer_select(c: InferContext) -> None:
    shape, dim = list(c.shape("X")), c.attrs["dim"]
    c.check(-len(shape) <= dim < len(shape), f"X has {len(shape)} dims and no dim {dim}")
    index = c.shape("Index")
    c.check(len(index) == 1 or index[1:] == (1,), f"Index must be a vector, its shape is {list(index)}")
    shape[dim] = index[0]
    c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)


@op("index_select", "X Index", "Out", {"dim": 0}, infer=_infer_select, grad=True, lod="none")
def index_select(k: Call, x: Array, index: Array) -> Array:
    """Out = the slices of X along dim at the positions in Index."""
    dim, rows = k.attrs["dim"], index.reshape(-1)
    check_index(k, rows, x.shape[dim], "index")
    return row_by_row(k.xp, x.take(rows, axis=dim))


@gradient("index_select", "X Index Out@GRAD", "X@GRAD")
def index_select_grad(k: Call, x: Array, index: Array, dout: Array) -> Array:
    xp, dim = k.xp, k.attrs["dim"]
    moved = row_by_row(xp, xp.moveaxis(dout, dim, 0))
    dx = xp.zeros((x.shape[dim], *moved.shape[1:]), dout.dtype)
    k.dev.scatter_add(dx, index.reshape(-1), moved)
    return row_by_row(xp, xp.moveaxis(dx, 0, dim))
