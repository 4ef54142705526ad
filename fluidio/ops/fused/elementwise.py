"""fused_elemwise_activation: a binary elementwise op and a unary function."""

from __future__ import annotations

from typing import Any

from fluidio.ops.fused.dense import activated
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.math.elementwise import fit, reduced
from fluidio.ops.registry import default_grad_maker, gradient, op
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS: dict[str, Any] = {"axis": -1, "scale": 0.0, "functor_list": [], "save_intermediate_out": False}
_BINARY = ("elementwise_add", "elementwise_mul")


def _names(attrs: dict[str, Any]) -> tuple[str, str, bool]:
    """Return the elementwise op, the function, and whether the function comes last."""
    first, second = (name.removesuffix("_grad") for name in attrs["functor_list"])
    return (second, first, True) if second in _BINARY else (first, second, False)


def _infer(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    shape = y if len(x) < len(y) or (len(x) == len(y) and any(a < b for a, b in zip(x, y))) else x
    c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)
    after = len(c.attrs["functor_list"]) == 2 and c.attrs["functor_list"][1] in _BINARY
    if c.attrs["save_intermediate_out"]:
        c.set("IntermediateOut", shape if after else c.shape("Y"), c.dtype("X"), c.input("X").lod_level)


def _grad_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Fluid: the gradient op's functors have the names of gradient ops."""
    made = default_grad_maker(forward, no_grad)
    for one in made:
        one.attrs["functor_list"] = [f"{name}_grad" for name in forward.attr("functor_list")]
    return made


def _unary(k: Call, x: Array, name: str) -> Array:
    return x * x.dtype.type(k.attrs["scale"]) if name == "scale" else activated(k.xp, x, name)


def _slope(k: Call, x: Array, name: str) -> Array:
    """Return the slope of the function at x."""
    if name == "scale":
        return x.dtype.type(k.attrs["scale"])
    value = activated(k.xp, x, name)
    if name == "relu":
        return (x > 0).astype(x.dtype)
    return 1 - value * value if name == "tanh" else value * (1 - value)


def _joined(x: Array, y: Array, name: str) -> Array:
    return x + y if name == "elementwise_add" else x * y


@op("fused_elemwise_activation", "X Y", "Out IntermediateOut?", _ATTRS, infer=_infer, grad=_grad_maker)
def fused_elemwise_activation(k: Call, x: Array, y: Array) -> tuple[Array, Array]:
    """Out = f(X op Y), or X op f(Y); IntermediateOut = X op Y, or f(Y)."""
    binary, unary, last = _names(k.attrs)
    a, b = fit(k, x, y)
    if last:
        between = _joined(a, b, binary)
        return _unary(k, between, unary), between
    between = _unary(k, y, unary)
    return _joined(a, _unary(k, b, unary), binary), between


@gradient("fused_elemwise_activation", "X Y Out? IntermediateOut? Out@GRAD", "X@GRAD Y@GRAD")
def fused_elemwise_activation_grad(
    k: Call, x: Array, y: Array, out: Array, between: Array, dout: Array
) -> KernelResult:
    binary, unary, last = _names(k.attrs)
    a, b = fit(k, x, y)
    if last:
        d = dout * _slope(k, _joined(a, b, binary), unary)
        dx, dy = (d, d) if binary == "elementwise_add" else (d * b, d * a)
    else:
        inner = _unary(k, b, unary)
        dx = dout if binary == "elementwise_add" else dout * inner
        dy = (dout if binary == "elementwise_add" else dout * a) * _slope(k, b, unary)
    return (
        reduced(dx, a.shape).reshape(x.shape) if k.wants("X@GRAD") else None,
        reduced(dy, b.shape).reshape(y.shape) if k.wants("Y@GRAD") else None,
    )
