"""Sparse gradients: their rows merged, their values as a tensor."""

from __future__ import annotations

from fluidio.dtypes import VarType
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable
from fluidio.program import Variable

__all__ = ["get_tensor_from_selected_rows", "merge_selected_rows"]


def _append(op_type: str, x: Variable, name: str | None) -> Variable:
    if check_variable(op_type, "x", x).type is not VarType.SELECTED_ROWS:
        raise TypeError(f"{op_type}: x must be SELECTED_ROWS, but {x.name} is {x.type.name}")
    helper = LayerHelper(op_type, name=name)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]})
    return out


def merge_selected_rows(x: Variable, name: str | None = None) -> Variable:
    """Sparse rows without repeats: the values of equal rows are added up."""
    return _append("merge_selected_rows", x, name)


def get_tensor_from_selected_rows(x: Variable, name: str | None = None) -> Variable:
    """The values of sparse rows, without the row numbers."""
    return _append("get_tensor_from_selected_rows", x, name)
