"""Softmax."""

from __future__ import annotations

from types import ModuleType

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _infer_softmax(c: InferContext) -> None:
    dims = len(c.shape("X"))
    c.check(-dims <= c.attrs["axis"] < dims, f"axis {c.attrs['axis']} is not among the {dims} dims of X")
    c.same("Out", "X")


def _softmax(xp: ArrayLibrary | ModuleType, x: Array, axis: int) -> Array:
    # Fluid: differences to the maximum are cut at -64 before exp.
    out = x - x.max(axis=axis, keepdims=True)
    xp.maximum(out, x.dtype.type(-64), out=out)
    xp.exp(out, out=out)
    out /= out.sum(axis=axis, keepdims=True)
    return out


@op(
    "softmax", "X", "Out", {"axis": -1, "use_cudnn": False, "data_format": "AnyLayout"}, infer=_infer_softmax, grad=True
)
def softmax(k: Call, x: Array) -> Array:
    """Out = softmax of X along axis."""
    return _softmax(k.xp, x, k.attrs["axis"])


@gradient("softmax", "Out Out@GRAD", "X@GRAD")
def softmax_grad(k: Call, out: Array, dout: Array) -> Array:
    dx = dout * out
    total = dx.sum(axis=k.attrs["axis"], keepdims=True)
    dx -= out * total
    return dx
