"""Join and split tensors: concat, split, stack, unstack, multiplex."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.shape.dims import steady
from fluidio.program.infer import InferContext
from fluidio.program.op_def import EMPTY, GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array
from fluidio.tensor.lod import NO_LOD, LoD, merge

__all__: list[str] = []


def _axis(k: Call, tensor: Array | None, dims: int) -> int:
    axis = k.attrs["axis"] if tensor is None else int(k.dev.download(tensor).reshape(-1)[0])
    return int(axis) % dims


def _infer_concat(c: InferContext) -> None:
    parts = c.inputs("X")
    first = parts[0].shape
    if c.has("AxisTensor"):
        c.set("Out", (-1,) * len(first), parts[0].dtype, parts[0].lod_level)
        return
    axis = c.attrs["axis"]
    c.check(-len(first) <= axis < len(first), f"the inputs have {len(first)} dims and no dim {axis}")
    axis %= len(first)
    for part in parts[1:]:
        c.check(
            len(part.shape) == len(first),
            f"{part.name} has {len(part.shape)} dims, but the first input has {len(first)}",
        )
        for i, (a, b) in enumerate(zip(first, part.shape)):
            c.check(
                i == axis or a == b or a < 0 or b < 0,
                f"{part.name} {list(part.shape)} and the first input {list(first)} must be equal in all dims "
                f"but {axis}",
            )
    sizes = [part.shape[axis] for part in parts]
    shape = [next((n for n in same if n >= 0), -1) for same in zip(*(part.shape for part in parts))]
    shape[axis] = -1 if any(s < 0 for s in sizes) else sum(sizes)
    c.set("Out", shape, parts[0].dtype, parts[0].lod_level)


def _joined_lod(k: Call, axis: int) -> LoD:
    """Return the LoD of the first input; along the rows, followed by those of the others."""
    first, *others = k.lods["X"]
    behind = [lod for lod in others if lod] if first and axis == 0 else []
    if any(len(lod) != len(first) for lod in behind):
        raise EnforceNotMet(
            f"concat: the inputs must have the same number of LoD levels, got {[len(lod) for lod in k.lods['X']]}"
        )
    return merge([first, *behind]) if behind else first or NO_LOD


@op("concat", "X* AxisTensor?", "Out", {"axis": 0}, infer=_infer_concat, grad=True, lod="kernel")
def concat(k: Call, xs: list[Any], axis_tensor: Any) -> Any:
    """Out = the inputs joined along axis."""
    axis = _axis(k, axis_tensor, xs[0].ndim)
    k.out_lods["Out"] = _joined_lod(k, axis)
    return k.xp.concatenate(xs, axis=axis)


@gradient("concat", "X AxisTensor Out@GRAD", "X@GRAD", lod="share")
def concat_grad(k: Call, xs: list[Array], axis_tensor: Array, dout: Array) -> Any:
    axis = _axis(k, axis_tensor, dout.ndim)
    ends = np.cumsum([x.shape[axis] for x in xs])[:-1]
    parts: Any = k.xp.split(dout, ends.tolist(), axis=axis)
    # Kernels in C want contiguous arrays, and a copy takes less time than NumPy's several passes over a view.
    return parts if k.dev.is_gpu else [np.ascontiguousarray(part) for part in parts]


def _sections(size: int, sections: list[int], number: int, outputs: int) -> list[int]:
    """Return the sizes of the parts; -1 stands for the rest. A number of parts takes precedence over sections."""
    if number > 0 or not sections:
        count = number or outputs
        if size >= 0 and size % count:
            raise EnforceNotMet(f"{size} entries cannot be divided into {count} equal parts")
        return [size // count if size >= 0 else -1] * max(count, outputs)
    parts = list(sections)
    if -1 in parts and size >= 0:
        parts[parts.index(-1)] = size - sum(p for p in parts if p != -1)
    if size >= 0 and sum(parts) != size:
        raise EnforceNotMet(f"sections {list(sections)} must add up to {size}, the size of the dim that is split")
    return parts


def _infer_split(c: InferContext) -> None:
    shape = c.shape("X")
    count = len(c.op.output("Out"))
    axis = c.attrs["axis"] % len(shape)
    written = c.attrs["sections"]
    try:
        if c.has("AxisTensor") or c.has("SectionsTensorList"):
            sizes = written if len(written) == count else [-1] * count
        else:
            sizes = _sections(shape[axis], written, c.attrs["num"], count)
    except EnforceNotMet as error:
        c.fail(str(error))
        raise
    for index in range(count):
        dims = [-1] * len(shape) if c.has("AxisTensor") else list(shape)
        dims[axis] = -1 if c.has("AxisTensor") else sizes[index]
        c.set("Out", dims, c.dtype("X"), c.input("X").lod_level, index)


def _split_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {"X": [EMPTY if n == EMPTY else grad_name(n) for n in forward.output("Out")]}
    if forward.input("AxisTensor"):
        inputs["AxisTensor"] = list(forward.input("AxisTensor"))
    return [GradOp("concat", inputs, {"Out": [grad_name(x)]}, {"axis": forward.attr("axis")})]


@op(
    "split",
    "X AxisTensor? SectionsTensorList*?",
    "Out*",
    {"sections": [], "num": 0, "axis": 0},
    infer=_infer_split,
    grad=_split_grad,
    lod="none",
)
def split(k: Call, x: Array, axis_tensor: Array, sections_list: list[Array]) -> Array:
    """Out = X split along axis into equal parts or given sections."""
    axis = _axis(k, axis_tensor, x.ndim)
    given = [int(k.dev.download(s).reshape(-1)[0]) for s in sections_list] if sections_list else k.attrs["sections"]
    sizes = _sections(x.shape[axis], given, 0 if sections_list else k.attrs["num"], len(k.outs["Out"]))
    return k.xp.split(steady(k, x), np.cumsum(sizes)[:-1].tolist(), axis=axis)


def _infer_stack(c: InferContext) -> None:
    parts = c.inputs("X")
    shape = list(parts[0].shape)
    for part in parts[1:]:
        fits = len(part.shape) == len(shape) and all(a == b or a < 0 or b < 0 for a, b in zip(shape, part.shape))
        c.check(fits, f"{part.name} {list(part.shape)} and the first input {shape} must have the same shape")
    axis = c.attrs["axis"]
    c.check(-len(shape) - 1 <= axis <= len(shape), f"axis must lie in {-len(shape) - 1} ... {len(shape)}, got {axis}")
    shape.insert(axis if axis >= 0 else axis + len(shape) + 1, len(parts))
    c.set("Y", shape, parts[0].dtype, parts[0].lod_level)


@op("stack", "X*", "Y", {"axis": 0}, infer=_infer_stack, grad=True)
def stack(k: Call, xs: list[Any]) -> Any:
    """Y = the inputs along a new axis."""
    return k.xp.stack(xs, axis=k.attrs["axis"])


@gradient("stack", "Y@GRAD", "X@GRAD")
def stack_grad(k: Call, dy: Array) -> KernelResult:
    return list(k.xp.moveaxis(dy, k.attrs["axis"], 0))


def _infer_unstack(c: InferContext) -> None:
    shape, axis = list(c.shape("X")), c.attrs["axis"]
    c.check(-len(shape) <= axis < len(shape), f"X has {len(shape)} dims and no dim {axis}")
    removed = shape.pop(axis)
    count = len(c.op.output("Y"))
    c.check(removed in (-1, count), f"dim {axis} has {removed} entries, but the op has {count} outputs")
    for index in range(count):
        c.set("Y", shape, c.dtype("X"), 0, index)


@op("unstack", "X", "Y*", {"axis": 0, "num": 0}, infer=_infer_unstack, grad=True, lod="none")
def unstack(k: Call, x: Array) -> KernelResult:
    """Y = the slices of X along axis, which disappears."""
    parts = k.xp.moveaxis(steady(k, x), k.attrs["axis"], 0)
    # Not `for part in parts`: iterating over a vector gives NumPy scalars, which remain scalars when reshaped.
    return [parts[i : i + 1].reshape(parts.shape[1:]) for i in range(parts.shape[0])]


@gradient("unstack", "Y@GRAD", "X@GRAD")
def unstack_grad(k: Call, dys: list[Array]) -> Array:
    return k.xp.stack(dys, axis=k.attrs["axis"])


def _infer_multiplex(c: InferContext) -> None:
    c.check(len(c.inputs("X")) > 1, "X must hold at least two candidates")
    c.same("Out", "X")


@op("multiplex", "Ids X*", "Out", infer=_infer_multiplex, grad=True, lod="none")
def multiplex(k: Call, ids: Array, xs: list[Array]) -> Array:
    """Out = row i taken from input number Ids[i]."""
    which = ids.reshape(-1)
    return k.xp.stack(xs)[which, k.xp.arange(which.shape[0])]


@gradient("multiplex", "Ids Out@GRAD", "X@GRAD")
def multiplex_grad(k: Call, ids: Array, dout: Array) -> KernelResult:
    which = ids.reshape(-1, *(1,) * (dout.ndim - 1))
    return [dout * (which == i) for i in range(len(k.op.output("X@GRAD")))]
