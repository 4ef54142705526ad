"""Softmax."""

from __future__ import annotations

from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext

__all__: list[str] = []


def _infer_softmax(c: InferContext) -> None:
    dims = len(c.shape("X"))
    c.check(-dims <= c.attrs["axis"] < dims, f"axis {c.attrs['axis']} is not among the {dims} dims of X")
    c.same("Out", "X")


def _softmax(xp: Any, x: Any, axis: int) -> Any:
    # Fluid: differences to the maximum are cut at -64 before exp.
    out = x - x.max(axis=axis, keepdims=True)
    xp.maximum(out, x.dtype.type(-64), out=out)
    xp.exp(out, out=out)
    out /= out.sum(axis=axis, keepdims=True)
    return out


@op(
    "softmax", "X", "Out", {"axis": -1, "use_cudnn": False, "data_format": "AnyLayout"}, infer=_infer_softmax, grad=True
)
def softmax(k: Call, x: Any) -> Any:
    """Out = softmax of X along axis."""
    return _softmax(k.xp, x, k.attrs["axis"])


@gradient("softmax", "Out Out@GRAD", "X@GRAD")
def softmax_grad(k: Call, out: Any, dout: Any) -> Any:
    dx = dout * out
    total = dx.sum(axis=k.attrs["axis"], keepdims=True)
    dx -= out * total
    return dx
