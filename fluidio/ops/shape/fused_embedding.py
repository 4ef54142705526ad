"""fused_embedding_seq_pool: rows of a table, summed over sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.shape.gather import check_index
from fluidio.program.infer import InferContext
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS: dict[str, Any] = {"combiner": "sum", "is_sparse": False, "padding_idx": -1, "grad_inplace": False}


def _infer(c: InferContext) -> None:
    ids, table = c.shape("Ids"), c.shape("W")
    c.check(c.attrs["combiner"] == "sum", f"combiner must be 'sum', got {c.attrs['combiner']!r}")
    c.set("Out", (-1, ids[1] * table[1]), c.dtype("W"))


def _owner(k: Call) -> Array:
    """Return the sequence of each row of Ids."""
    ends = k.lod("Ids")[0]
    return k.xp.asarray(np.repeat(np.arange(len(ends) - 1), np.diff(ends)))


@op("fused_embedding_seq_pool", "W Ids", "Out", _ATTRS, infer=_infer, grad=True, lod="kernel")
def fused_embedding_seq_pool(k: Call, w: Array, ids: Array) -> Array:
    """Out = the sum of the rows of W at each sequence's Ids; padding_idx counts as zeros."""
    rows = ids.reshape(-1)
    check_index(k, rows, w.shape[0], "id")
    taken = w.take(rows, axis=0)
    if k.attrs["padding_idx"] != -1:
        taken = taken * (rows != k.attrs["padding_idx"])[:, None].astype(w.dtype)
    out = k.xp.zeros((len(k.lod("Ids")[0]) - 1, taken.size // max(ids.shape[0], 1)), w.dtype)
    k.dev.scatter_add(out, _owner(k), taken.reshape(ids.shape[0], -1))
    return out


def _infer_grad(c: InferContext) -> None:
    w = c.input("W")
    kind = VarType.SELECTED_ROWS if c.attrs["is_sparse"] else VarType.LOD_TENSOR
    c.set("W@GRAD", w.shape, w.dtype, 0, type=kind)


@gradient("fused_embedding_seq_pool", "W Ids Out@GRAD", "W@GRAD", infer=_infer_grad)
def fused_embedding_seq_pool_grad(k: Call, w: Array, ids: Array, dout: Array) -> KernelResult:
    rows = ids.reshape(-1)
    values = dout[_owner(k)].reshape(rows.shape[0], w.shape[1])
    if k.attrs["is_sparse"]:
        return SelectedRows(rows.copy(), w.shape[0], values)
    if k.attrs["padding_idx"] != -1:
        values = values * (rows != k.attrs["padding_idx"])[:, None].astype(values.dtype)
    dw = k.xp.zeros_like(w)
    k.dev.scatter_add(dw, rows, values)
    return dw
