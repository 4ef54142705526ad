"""Sparse rows as they are: merge_selected_rows, get_tensor_from_selected_rows."""

from __future__ import annotations

from typing import Any

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
    """Out = the rows of X, each once, with the sum of what X has for it."""
    rows, values = x.merged(k.xp)
    return SelectedRows(rows, x.height(), values)


def _infer_tensor(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", x.shape, x.dtype, 0, type=VarType.LOD_TENSOR)


@op("get_tensor_from_selected_rows", "X", "Out", infer=_infer_tensor, grad=False, lod="none")
def get_tensor_from_selected_rows(k: Call, x: Any) -> Any:
    """Out = the values of X without their row numbers."""
    return x.value if not callable(x.value) else x.value()
