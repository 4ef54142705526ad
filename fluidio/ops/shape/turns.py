"""Reverse, shift, spread and unbind tensors: flip, roll, meshgrid, unbind."""

from __future__ import annotations

from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.program.op_def import EMPTY, GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__: list[str] = []


def _flip_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    (x,), (out,) = forward.input("X"), forward.output("Out")
    if x in no_grad:
        return []
    return [GradOp("flip", {"X": [grad_name(out)]}, {"Out": [grad_name(x)]}, {"dims": forward.attr("dims")})]


def _infer_flip(c: InferContext) -> None:
    rank, dims = len(c.shape("X")), c.attrs["dims"]
    c.check(all(-rank <= dim < rank for dim in dims), f"X has {rank} dims; dims {dims} names others")
    c.check(len({dim % rank for dim in dims}) == len(dims), f"dims {dims} names a dim twice")
    c.same("Out", "X")


@op("flip", "X", "Out", {"dims": []}, infer=_infer_flip, grad=_flip_grad)
def flip(k: Call, x: Array) -> Array:
    """Out = X reversed along the dims."""
    return k.xp.flip(x, tuple({dim % x.ndim for dim in k.attrs["dims"]}))


def _infer_roll(c: InferContext) -> None:
    shifts, dims = c.attrs["shifts"], c.attrs["dims"]
    c.check(len(shifts) == len(dims) or not dims, f"got {len(shifts)} shifts for {len(dims)} dims; give one for each")
    c.same("Out", "X")


@op("roll", "X", "Out", {"shifts": [], "dims": []}, infer=_infer_roll, grad=True)
def roll(k: Call, x: Array) -> Array:
    """Out = X shifted along the dims; elements that leave at one end return at the other."""
    return k.xp.roll(x, tuple(k.attrs["shifts"]), tuple(k.attrs["dims"]))


@gradient("roll", "X Out@GRAD", "X@GRAD")
def roll_grad(k: Call, x: Array, dout: Array) -> Array:
    return k.xp.roll(dout, tuple(-n for n in k.attrs["shifts"]), tuple(k.attrs["dims"]))


def _infer_meshgrid(c: InferContext) -> None:
    inputs = c.inputs("X")
    c.check(len(inputs) > 1, f"X must hold at least two tensors, got {len(inputs)}")
    shape = [v.shape[0] for v in inputs]
    for index, variable in enumerate(inputs):
        c.set("Out", shape, variable.dtype, 0, index)


@op("meshgrid", "X*", "Out*", infer=_infer_meshgrid, grad=True, lod="none")
def meshgrid(k: Call, parts: list[Array]) -> KernelResult:
    """Out = each vector of X along its own dim, repeated along the dims of the others."""
    grids = k.xp.meshgrid(*(part.reshape(-1) for part in parts), indexing="ij")
    return [row_by_row(k.xp, grid) for grid in grids]


@gradient("meshgrid", "X Out@GRAD", "X@GRAD")
def meshgrid_grad(k: Call, parts: list[Array], douts: list[Array]) -> KernelResult:
    found = []
    for index, (part, dout) in enumerate(zip(parts, douts)):
        others = tuple(axis for axis in range(len(parts)) if axis != index)
        found.append(None if dout is None else dout.sum(axis=others).reshape(part.shape))
    return found


def _infer_unbind(c: InferContext) -> None:
    shape, axis = c.shape("X"), c.attrs["axis"]
    c.check(-len(shape) <= axis < len(shape), f"X has {len(shape)} dims and no dim {axis}")
    axis %= len(shape)
    rest = (*shape[:axis], *shape[axis + 1 :])
    for index in range(len(c.op.output("Out"))):
        c.set("Out", rest, c.dtype("X"), 0, index)


def _unbind_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    (x,) = forward.input("X")
    if x in no_grad:
        return []
    outs = [n if n == EMPTY else grad_name(n) for n in forward.output("Out")]
    return [GradOp("stack", {"X": outs}, {"Y": [grad_name(x)]}, {"axis": forward.attr("axis")})]


@op("unbind", "X", "Out*", {"axis": 0}, infer=_infer_unbind, grad=_unbind_grad, lod="none")
def unbind(k: Call, x: Array) -> KernelResult:
    """Out = the slices of X along the axis, which is dropped."""
    parts = k.xp.moveaxis(x, k.attrs["axis"], 0)
    return [row_by_row(k.xp, part).reshape(parts.shape[1:]) for part in parts]
