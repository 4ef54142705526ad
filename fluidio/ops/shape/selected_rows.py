"""Ops on sparse rows: merge_selected_rows, get_tensor_from_selected_rows, lookup_sparse_table."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor import SelectedRows

__all__: list[str] = []


def _infer_merge(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", x.shape, x.dtype, 0, type=VarType.SELECTED_ROWS)


@op("merge_selected_rows", "X", "Out", infer=_infer_merge, grad=False, lod="none")
def merge_selected_rows(k: Call, x: Any) -> Any:
    """Out = the rows of X without repeats: the values of equal rows are added up."""
    rows, values = x.merged(k.xp)
    return SelectedRows(rows, x.height(), values)


def _infer_tensor(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", x.shape, x.dtype, 0, type=VarType.LOD_TENSOR)


@op("get_tensor_from_selected_rows", "X", "Out", infer=_infer_tensor, grad=False, lod="none")
def get_tensor_from_selected_rows(k: Call, x: Any) -> Any:
    """Out = the values of X without their row numbers."""
    return x.value if not callable(x.value) else x.value()


def _infer_sparse_lookup(c: InferContext) -> None:
    ids, table = c.shape("Ids"), c.shape("W")
    c.check(len(ids) == 2 and ids[1] == 1, f"Ids must have shape [N, 1], got {list(ids)}")
    c.set("Out", (2, table[1]), c.dtype("W"))  # Fluid: the rank of Ids in place of their number


@op(
    "lookup_sparse_table",
    "W Ids",
    "Out",
    {"padding_idx": -1, "auto_grown_table": True, "is_test": False},
    infer=_infer_sparse_lookup,
    grad=False,
    lod="none",
)
def lookup_sparse_table(k: Call, table: Any, ids: Any) -> Any:
    """Out = the values of the rows Ids of a sparse table; zeros for rows that it does not have."""
    place = {row: index for index, row in enumerate(table.rows())}
    wanted = [place.get(int(number), -1) for number in k.dev.download(ids).reshape(-1)]
    where = k.dev.upload(np.array(wanted, np.int64))
    found = table.value[k.xp.maximum(where, 0)]
    return found * (where >= 0).reshape(-1, *(1,) * (found.ndim - 1)).astype(found.dtype)
