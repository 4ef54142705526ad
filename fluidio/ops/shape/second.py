"""Second derivatives of ops that only move elements: their gradients are linear."""

from __future__ import annotations

from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call
from fluidio.ops.second_order import linear, second
from fluidio.ops.shape import dims, join, padding, slicing  # noqa: F401  (they bring the ops)
from fluidio.tensor.array import Array

__all__: list[str] = []


def _reshape(name: str) -> None:
    @second(name, "DOut=Out@GRAD DDX=+X@GRAD", "DDOut=Out@GRAD")
    def kernel(k: Call, dout: Array, ddx: Array) -> Array:
        return ddx.reshape(dout.shape)


_reshape("reshape2")
_TENSORS = "StartsTensor EndsTensor StartsTensorList EndsTensorList"
linear("slice", f"Input=+Input@GRAD {_TENSORS}")
linear("expand", "X=+X@GRAD ExpandTimes expand_times_tensor")
linear("concat", "X=+X@GRAD AxisTensor", complete=True)


def _transposed(name: str) -> None:
    @second(name, "DDX=+X@GRAD", "DDOut=Out@GRAD", complete=True)
    def kernel(k: Call, ddx: Array) -> Array:
        return row_by_row(k.xp, ddx.transpose(k.attrs["axis"]))


_transposed("transpose2")
