"""Sums and means."""

from __future__ import annotations

from typing import Any

from fluidio.dtypes import VarType
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.row_blocks import elementwise
from fluidio.program.infer import InferContext
from fluidio.program.op_def import EMPTY, GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor import LoDTensor, LoDTensorArray, SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []


def _one(c: InferContext) -> None:
    c.set("Out", (1,), c.dtype("X"), 0)


@op("mean", "X", "Out", infer=_one, grad=True, lod="none")
def mean(k: Call, x: Any) -> Any:
    """Out = the mean of all elements, shape [1]."""
    if k.dev.is_gpu or x.dtype.kind != "f":
        return x.mean(dtype=x.dtype).reshape(1)
    out = k.xp.add.reduce(x.reshape(-1), keepdims=True)  # what ndarray.mean does, without its 5 us of Python
    out /= x.size
    return out


@gradient("mean", "X Out@GRAD", "X@GRAD")
def mean_grad(k: Call, x: Array, dout: Array) -> Array:
    if x.dtype != dout.dtype:
        return k.xp.full(x.shape, 1, x.dtype) * (dout.reshape(-1)[:1] / x.size)
    dx = k.xp.empty(x.shape, x.dtype)
    dx[...] = dout.reshape(-1)[:1] / x.size
    return dx


def _sum_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    out = grad_name(forward.output("Out")[0])
    attrs = {"scale": 1.0, "bias": 0.0, "bias_after_scale": True}
    return [
        GradOp("scale", {"X": [out]}, {"Out": [grad_name(x)]}, dict(attrs))
        for x in forward.input("X")
        if x not in no_grad and x != EMPTY
    ]


def _infer_sum(c: InferContext) -> None:
    filled = [x for x in c.inputs("X") if 0 not in x.shape or x.type is not VarType.LOD_TENSOR]
    first = (filled or c.inputs("X"))[0]  # Fluid: tensors of no elements do not count
    if not c.attrs.get("op_role", 0) & 1:  # gradients are summed whatever their declared shape
        for x in filled[1:]:
            known = x.type is first.type is VarType.LOD_TENSOR and len(x.shape) == len(first.shape)
            alike = all(a == b or a <= 0 or b <= 0 for a, b in zip(first.shape, x.shape))
            c.check(
                alike or not known,
                f"{x.name} {list(x.shape)} and {first.name} {list(first.shape)} must have the same shape",
            )
    sparse = all(x.type is VarType.SELECTED_ROWS for x in c.inputs("X"))
    c.set("Out", first.shape, first.dtype, first.lod_level, type=VarType.SELECTED_ROWS if sparse else None)


@op("sum", "X*", "Out", {"use_mkldnn": False}, infer=_infer_sum, grad=_sum_grad)
def sum_(k: Call, xs: list[Any]) -> Any:
    """Out = the sum of all X: tensors, sparse rows, or arrays of tensors entry by entry."""
    xs = [x for x in xs if x is not None]
    if any(isinstance(x, LoDTensorArray) for x in xs):
        return _sum_arrays(xs)
    if all(isinstance(x, SelectedRows) for x in xs):
        return _sum_rows(k, xs)
    dense = [x.to_dense(k.xp) if isinstance(x, SelectedRows) else x for x in xs]
    dense = [x for x in dense if x.size] or dense[:1]
    if len(dense) == 1:
        return dense[0].copy()
    total = elementwise(k.xp.add, dense[0], dense[1])
    for x in dense[2:]:
        elementwise(k.xp.add, total, x, total)
    return total


def _sum_rows(k: Call, given: list[SelectedRows]) -> SelectedRows:
    """Return each row once, in ascending order, with the sum of its values."""
    filled = [x for x in given if len(x.index)]
    if not filled:
        return SelectedRows((), given[0].height(), given[0].value)
    index = k.xp.concatenate([k.xp.asarray(x.index) for x in filled])
    together = SelectedRows(index, filled[0].height(), k.xp.concatenate([x.value for x in filled]))
    rows, values = together.merged(k.xp)
    return SelectedRows(rows, together.height(), values)


def _sum_arrays(arrays: list[Any]) -> LoDTensorArray:
    total = LoDTensorArray()
    for index in range(max(len(a) for a in arrays)):
        entries = [a.items[index] for a in arrays if index < len(a) and a.items[index].array is not None]
        if not entries:
            total.items.append(LoDTensor())
            continue
        value = entries[0].array
        for entry in entries[1:]:
            value = value + entry.array
        total.items.append(LoDTensor.wrap(value, entries[0].levels))
    return total
