"""Lookup in tables: lookup_table, one_hot."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.distributed.table import Table
from fluidio.dtypes import VarType, to_numpy
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import NEVER, Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.shape.dims import host_ints
from fluidio.ops.shape.gather import check_index
from fluidio.program.infer import InferContext
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS: dict[str, Any] = {
    "is_sparse": False,
    "is_distributed": False,
    "padding_idx": -1,
    "remote_prefetch": False,
}


def _rows_of_trainers(k: Call, table: Table, rows: Array) -> Array:
    """Return rows of a table divided among trainers; in a training step every trainer takes part."""
    trains = any(op.type == "exchange_parts" for op in k.op.block.program.global_block().ops)
    return k.dev.upload(table.look_up(k.dev.download(rows), together=trains))


def _register(name: str, ids_end_in_one: bool) -> None:
    """Register a lookup; the older one takes ids of shape [..., 1] and drops their last dim."""

    def infer(c: InferContext) -> None:
        ids, table = c.shape("Ids"), c.shape("W")
        c.check(len(table) == 2, f"W must be a matrix, its shape is {list(table)}")
        if ids_end_in_one:
            c.check(ids and ids[-1] in (1, -1), f"the last dim of Ids must be 1, its shape is {list(ids)}")
            ids = ids[:-1]
        c.set("Out", (*ids, table[1]), c.dtype("W"), c.input("Ids").lod_level)

    @op(name, "W Ids", "Out", _ATTRS, infer=infer, grad=True)
    def lookup(k: Call, w: Any, ids: Any) -> Any:
        """Out = the rows of W at the positions in Ids; zeros for padding_idx."""
        rows = found = ids.reshape(-1)
        if isinstance(w, SelectedRows):  # a table that holds only some of its rows
            w, found = w.value, w.positions(rows, k.xp)
        else:
            check_index(k, rows, w.shape[0], "id")
        out = _rows_of_trainers(k, w, rows) if isinstance(w, Table) else w.take(found, axis=0)
        padding = k.attrs["padding_idx"]
        if padding != -1:
            if k.dev.is_gpu:
                out *= (rows != padding)[:, None]  # CuPy waits for mask assignments
            else:
                out[np.flatnonzero(rows == padding)] = 0
        shape = ids.shape[:-1] if ids_end_in_one else ids.shape
        return out.reshape(*shape, w.shape[1])

    def infer_grad(c: InferContext) -> None:
        w = c.input("W")
        kind = VarType.SELECTED_ROWS if c.attrs["is_sparse"] else VarType.LOD_TENSOR
        c.set("W@GRAD", w.shape, w.dtype, 0, type=kind)

    @gradient(name, "W Ids Out@GRAD", "W@GRAD", infer=infer_grad, lod="none")
    def lookup_grad(k: Call, w: Array, ids: Array, dout: Array) -> KernelResult:
        rows = ids.reshape(-1)
        values = dout.reshape(rows.shape[0], w.shape[1])
        padding = k.attrs["padding_idx"]
        if k.attrs["is_sparse"]:
            # Fluid: the sparse gradient includes the padding row.
            return SelectedRows(rows.copy(), w.shape[0], values)
        dw = k.xp.zeros_like(w)
        k.dev.scatter_add(dw, rows, values)
        if padding != -1:
            dw[padding] = 0
        return dw


_register("lookup_table", True)
_register("lookup_table_v2", False)


def _one_hot(name: str, drop_last: bool) -> None:
    def infer(c: InferContext) -> None:
        shape = c.shape("X")
        if drop_last:
            c.check(shape and shape[-1] in (1, -1), f"the last dim of X must be 1, its shape is {list(shape)}")
            shape = shape[:-1]
        depth = -1 if c.has("depth_tensor") else c.attrs["depth"]
        c.set("Out", (*shape, depth), c.attrs["dtype"], c.input("X").lod_level)

    @op(
        name,
        "X depth_tensor?",
        "Out",
        {"depth": -1, "dtype": VarType.FP32, "allow_out_of_range": False},
        infer=infer,
        grad=False,
    )
    def kernel(k: Call, x: Any, depth_tensor: Any) -> Any:
        """Out = rows of zeros with a one at the position given by X."""
        given = host_ints(k, depth_tensor)
        depth = given[0] if given else k.attrs["depth"]
        ids = x.reshape(-1)
        outside = (ids < 0) | (ids >= depth)
        if k.dev.is_gpu and not k.attrs["allow_out_of_range"]:
            k.dev.check_range(ids, depth, NEVER, k.op)
        elif not k.attrs["allow_out_of_range"] and outside.any():
            raise EnforceNotMet(
                f"index {ids[outside][0]} is out of range: depth is {depth}, so indices are 0 ... {depth - 1}"
            )
        out = k.xp.zeros((ids.shape[0], depth), to_numpy(k.attrs["dtype"]))
        rows = k.xp.arange(ids.shape[0])
        out[rows, k.xp.where(outside, 0, ids)] = ~outside
        return out.reshape(*(x.shape[:-1] if drop_last else x.shape), depth)


_one_hot("one_hot", True)
_one_hot("one_hot_v2", False)
