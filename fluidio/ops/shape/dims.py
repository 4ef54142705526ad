"""Ops that only change a tensor's shape or the order of its dims: reshape, transpose, squeeze, flatten, shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, infer_gradients, op
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__: list[str] = []

Target = Callable[[Call, Any, Any, Any], tuple[int, ...]]


def host_ints(k: Call, tensor: Any, several: list[Any] | None = None) -> list[int] | None:
    """Return integers given as one tensor or as a list of one-element tensors; None if neither is given."""
    if tensor is not None:
        return [int(v) for v in k.dev.download(tensor).reshape(-1)]
    if several:
        return [int(k.dev.download(v).reshape(-1)[0]) for v in several]
    return None


def steady(k: Call, x: Array, slot: str = "X") -> Array:
    """Return an input that the output will be a view of; a copy if it is a parameter, which changes in place later."""
    changes = k.state.get("changes")
    if changes is None:
        variable = k.op.block._find_var_recursive(k.op.input(slot)[0])
        changes = k.state["changes"] = variable is not None and variable.persistable
    return x.copy() if changes else x


def keep_lod(k: Call, x: Array, out: Array, slot: str = "X", to: str = "Out") -> Array:
    """Keep the LoD if the number of rows is the same; return `out`."""
    if x.shape[:1] == out.shape[:1]:
        k.out_lods[to] = k.lod(slot)
    return out


def resolve(shape: Sequence[int], source: tuple[int, ...], size: int | None) -> tuple[int, ...]:
    """Resolve Fluid's 0 (copy this dim) and -1 (infer this dim) in a shape; unknown sizes stay -1."""
    dims = [source[i] if d == 0 and i < len(source) else int(d) for i, d in enumerate(shape)]
    if dims.count(-1) > 1 and size is not None:
        raise EnforceNotMet(f"reshape: only one size can be -1, got {list(shape)}")
    known = math.prod(d for d in dims if d != -1)
    if size is None:
        return tuple(dims)
    if -1 in dims:
        if known == 0 or size % known:
            raise EnforceNotMet(
                f"reshape: a tensor of shape {list(source)} with {size} elements cannot become {list(shape)}"
            )
        dims[dims.index(-1)] = size // known
    elif known != size:
        raise EnforceNotMet(
            f"reshape: a tensor of shape {list(source)} with {size} elements cannot become {list(shape)}"
        )
    return tuple(dims)


def _infer_as_before(c: InferContext) -> None:
    """Describe the gradient with the shape kept in XShape, because an op in place has changed X's shape."""
    infer_gradients(c)
    if c.wants("X@GRAD") and c.has("XShape"):
        c.set("X@GRAD", c.shape("XShape")[1:], None)


def _reshaped(k: Call, x: Array, shape: tuple[int, ...]) -> Array:
    """Return a view, or a copy if other than one-element dims change where X is not stored row by row."""
    if not x.flags.c_contiguous and [d for d in x.shape if d != 1] != [d for d in shape if d != 1]:
        x = row_by_row(k.xp, x)
    return x.reshape(shape)


def _register(
    name: str,
    inputs: str,
    attrs: dict[str, Any],
    infer: Callable[[InferContext], Any],
    target: Target,
    carried: str = "",
) -> None:
    """Register `name` and `name2`: the second also outputs XShape, which gives its gradient the shape."""

    def described(c: InferContext) -> None:
        shape = infer(c)
        c.set("XShape", (0, *c.shape("X")), c.dtype("X"))  # first: Out may be X itself
        c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)

    @op(name, inputs, "Out", attrs, infer=described, grad=True, lod="kernel")
    def plain(k: Call, x: Array, one: Array | None = None, several: Any = None) -> Array:
        return keep_lod(k, x, _reshaped(k, steady(k, x), target(k, x, one, several)))

    plain.__doc__ = f"Out = X after {name}."

    @gradient(name, "X Out@GRAD", "X@GRAD", lod="share", carried=carried)
    def plain_grad(k: Call, x: Array, dout: Array) -> Array:
        return _reshaped(k, dout, x.shape)

    @op(f"{name}2", inputs, "Out XShape?", attrs, infer=described, grad=True, lod="kernel")
    def second(k: Call, x: Any, one: Any = None, several: Any = None) -> Any:
        out = keep_lod(k, x, _reshaped(k, steady(k, x), target(k, x, one, several)))
        # XShape carries the LoD, so that the gradient can restore it.
        k.out_lods["XShape"] = k.lod("X")
        return out, k.xp.empty((0, *x.shape), x.dtype)

    second.__doc__ = f"Out = X after {name}; XShape carries X's shape to the gradient."

    @gradient(f"{name}2", "XShape Out@GRAD", "X@GRAD", infer=_infer_as_before, lod="kernel")
    def second_grad(k: Call, x_shape: Array, dout: Array) -> Array:
        k.out_lods["X@GRAD"] = k.lod("XShape")
        return _reshaped(k, dout, x_shape.shape[1:])


def _size(shape: Sequence[int]) -> int | None:
    return None if any(d < 0 for d in shape) else math.prod(shape)


def _infer_reshape(c: InferContext) -> tuple[int, ...]:
    if c.has("ShapeTensor"):
        kept = dict(enumerate(c.shape("X")))
        sizes = tuple(d if d > 0 else kept.get(i, -1) if d == 0 else -1 for i, d in enumerate(c.attrs["shape"]))
        return sizes or (-1,) * len(c.inputs("ShapeTensor"))
    if c.has("Shape") and not c.attrs["shape"]:
        return (-1,) * max(c.shape("Shape")[0], 1)
    source = c.shape("X")
    try:
        return resolve(c.attrs["shape"], source, _size(source))
    except EnforceNotMet as error:
        c.fail(str(error).removeprefix("reshape: "))
        raise


def _reshape_target(k: Call, x: Any, one: Any, several: Any) -> tuple[int, ...]:
    # Fluid: a list of tensors takes precedence over the Shape tensor, and both over the attribute.
    shape = host_ints(k, None, several) or host_ints(k, one) or k.attrs["shape"]
    return resolve(shape, x.shape, x.size)


_register("reshape", "X Shape? ShapeTensor*?", {"shape": []}, _infer_reshape, _reshape_target, "Out Shape ShapeTensor")


def _squeezed(axes: Sequence[int], shape: tuple[int, ...], c: InferContext | None = None) -> tuple[int, ...]:
    if not axes:
        return tuple(d for d in shape if d != 1)
    wanted = {a % len(shape) for a in axes}
    bad = [a for a in wanted if shape[a] not in (1, -1)]
    if bad:
        problem = f"dims {bad} of {list(shape)} are not 1 and cannot be squeezed"
        if c is not None:
            c.fail(problem)
        raise EnforceNotMet(problem)
    return tuple(d for i, d in enumerate(shape) if i not in wanted)


def _infer_squeeze(c: InferContext) -> tuple[int, ...]:
    return _squeezed(c.attrs["axes"], c.shape("X"), c)


def _squeeze_target(k: Call, x: Array, one: Array, several: Any) -> tuple[int, ...]:
    return _squeezed(k.attrs["axes"], x.shape)


_register(
    "squeeze",
    "X",
    {"axes": []},
    _infer_squeeze,
    _squeeze_target,
)


def _unsqueezed(axes: Sequence[int], shape: tuple[int, ...]) -> tuple[int, ...]:
    dims = list(shape)
    for axis in axes:
        at = axis if axis >= 0 else axis + len(dims) + 1
        if not 0 <= at <= len(dims):
            raise EnforceNotMet(f"a tensor of {len(dims)} dims cannot get a new dim at {axis}")
        dims.insert(at, 1)
    return tuple(dims)


def _infer_unsqueeze(c: InferContext) -> tuple[int, ...]:
    if c.has("AxesTensor") and not c.attrs["axes"]:
        return (-1,) * (len(c.shape("X")) + max(c.shape("AxesTensor")[0], 1))
    if c.has("AxesTensorList") and not c.attrs["axes"]:
        return (-1,) * (len(c.shape("X")) + len(c.inputs("AxesTensorList")))
    return _unsqueezed(c.attrs["axes"], c.shape("X"))


def _unsqueeze_target(k: Call, x: Any, one: Any, several: Any) -> tuple[int, ...]:
    return _unsqueezed(k.attrs["axes"] or host_ints(k, one, several) or [], x.shape)


_register(
    "unsqueeze",
    "X AxesTensor? AxesTensorList*?",
    {"axes": []},
    _infer_unsqueeze,
    _unsqueeze_target,
)


def _flattened(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    left, right = _size(shape[:axis]), _size(shape[axis:])
    return (-1 if left is None else left, -1 if right is None else right)


def _infer_flatten(c: InferContext) -> tuple[int, ...]:
    return _flattened(c.shape("X"), c.attrs["axis"])


def _flatten_target(k: Call, x: Array, one: Array, several: Any) -> tuple[int, ...]:
    return _flattened(x.shape, k.attrs["axis"])


_register(
    "flatten",
    "X",
    {"axis": 1},
    _infer_flatten,
    _flatten_target,
)


def _infer_transpose(c: InferContext) -> None:
    shape, axis = c.shape("X"), c.attrs["axis"]
    c.check(
        sorted(a % len(shape) if len(shape) else a for a in axis) == list(range(len(shape))),
        f"perm must name each of the {len(shape)} dims of X once, got {list(axis)}",
    )
    c.set("Out", [shape[a] for a in axis], c.dtype("X"), c.input("X").lod_level)
    c.set("XShape", (0, *shape), c.dtype("X"))


def _back(axis: Sequence[int]) -> Array:
    return np.argsort(axis)


@op("transpose", "X", "Out", {"axis": []}, infer=_infer_transpose, grad=True)
def transpose(k: Call, x: Array) -> Array:
    """Out = X with its dims in the order of axis."""
    return steady(k, x).transpose(k.attrs["axis"])


@gradient("transpose", "Out@GRAD", "X@GRAD", carried="X Out")
def transpose_grad(k: Call, dout: Array) -> Array:
    return dout.transpose(_back(k.attrs["axis"]))


@op("transpose2", "X", "Out XShape?", {"axis": [], "data_format": "AnyLayout"}, infer=_infer_transpose, grad=True)
def transpose2(k: Call, x: Array) -> tuple[Array, Array]:
    """Out = X with its dims in the order of axis."""
    return steady(k, x).transpose(k.attrs["axis"]), k.xp.empty((0, *x.shape), x.dtype)


@gradient("transpose2", "XShape Out@GRAD", "X@GRAD", infer=_infer_as_before)
def transpose2_grad(k: Call, x_shape: Array, dout: Array) -> Array:
    return dout.transpose(_back(k.attrs["axis"]))


def _infer_shape(c: InferContext) -> None:
    c.set("Out", (len(c.shape("Input")),), VarType.INT32, 0)


@op("shape", "Input", "Out", infer=_infer_shape, grad=False, lod="none")
def shape(k: Call, x: Array) -> Array:
    """Out = the dims of Input as int32, on the host."""
    return np.array(x.shape, np.int32)


def _infer_size(c: InferContext) -> None:
    c.set("Out", (1,), VarType.INT64, 0)


@op("size", "Input", "Out", infer=_infer_size, grad=False, lod="none")
def size(k: Call, x: Array) -> Array:
    """Out = the number of elements."""
    return k.xp.full(1, x.size, np.int64)


def _reverse_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    attrs = {"axis": forward.attr("axis")}
    return [GradOp("reverse", {"X": [grad_name(forward.output("Out")[0])]}, {"Out": [grad_name(x)]}, attrs)]


def _infer_reverse(c: InferContext) -> None:
    dims = len(c.shape("X"))
    c.check(all(-dims <= a < dims for a in c.attrs["axis"]), f"X has {dims} dims; axis {c.attrs['axis']} names others")
    c.same("Out", "X")


@op("reverse", "X", "Out", {"axis": []}, infer=_infer_reverse, grad=_reverse_grad)
def reverse(k: Call, x: Array) -> Array:
    """Out = X reversed along the axes."""
    return k.xp.flip(steady(k, x), tuple({axis % x.ndim for axis in k.attrs["axis"]}))
