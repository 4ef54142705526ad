"""Softmax."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from fluidio.ops.compiled import softmax as compiled
from fluidio.ops.kernel import Call
from fluidio.ops.reductions import maximum, total
from fluidio.ops.registry import gradient, op
from fluidio.ops.row_blocks import are_rows, is_one_block, row_blocks
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _infer_softmax(c: InferContext) -> None:
    dims = len(c.shape("X"))
    c.check(-dims <= c.attrs["axis"] < dims, f"X has {dims} dims and no dim {c.attrs['axis']}")
    c.same("Out", "X")


def _softmax(xp: ArrayLibrary | ModuleType, x: Array, out: Array, axis: int) -> None:
    # Fluid: differences from the maximum are clipped at -64 before exp.
    xp.subtract(x, maximum(x, axis, True), out=out)
    xp.maximum(out, x.dtype.type(-64), out=out)
    xp.exp(out, out=out)
    out /= total(out, axis, True)


def _softmax_grad(xp: ArrayLibrary | ModuleType, out: Array, dout: Array, dx: Array, axis: int) -> None:
    xp.multiply(dout, out, out=dx)
    dx -= out * total(dx, axis, True)


def _by_rows(k: Call, function: Callable[..., None], *arrays: Array) -> None:
    """Call a function of arrays and an axis; in blocks of rows if that is the last axis."""
    axis = k.attrs["axis"]
    if is_one_block(arrays[0]):
        function(k.xp, *arrays, axis)
        return
    width = arrays[0].shape[-1]
    if axis % arrays[0].ndim != arrays[0].ndim - 1 or not width or not are_rows(*arrays):
        function(k.xp, *arrays, axis)
        return
    rows = [array.reshape(-1, width) for array in arrays]
    row_blocks(k, len(rows[0]), width, lambda begin, end: function(k.xp, *(r[begin:end] for r in rows), 1))


@op(
    "softmax", "X", "Out", {"axis": -1, "use_cudnn": False, "data_format": "AnyLayout"}, infer=_infer_softmax, grad=True
)
def softmax(k: Call, x: Array) -> Array:
    """Out = the softmax of X along axis."""
    if compiled.fits(x) and k.attrs["axis"] in (-1, x.ndim - 1):
        return compiled.softmax(x)[0]
    out = k.xp.empty_like(x)
    _by_rows(k, _softmax, x, out)
    return out


@gradient("softmax", "Out Out@GRAD", "X@GRAD")
def softmax_grad(k: Call, out: Array, dout: Array) -> Array:
    if compiled.fits(out, dout) and k.attrs["axis"] in (-1, out.ndim - 1):
        return compiled.softmax_grad(out, dout)
    dx = k.xp.empty_like(out)
    _by_rows(k, _softmax_grad, out, dout, dx)
    return dx
