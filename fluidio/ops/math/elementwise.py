"""Binary ops on two tensors, the second broadcast along an axis of the first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext

__all__: list[str] = []


def aligned(x_shape: tuple[int, ...], y_shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Return Y's shape padded with ones so that it broadcasts against X with its first dim at `axis`."""
    if len(y_shape) == len(x_shape):
        return y_shape
    while len(y_shape) > 1 and y_shape[-1] == 1 and axis >= 0 and len(y_shape) + axis > len(x_shape):
        y_shape = y_shape[:-1]  # Fluid: trailing ones of Y do not count
    start = len(x_shape) - len(y_shape) if axis == -1 else axis
    return (1,) * start + tuple(y_shape) + (1,) * (len(x_shape) - start - len(y_shape))


def _infer(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    if len(x) < len(y):
        c.set("Out", y, c.dtype("X"), c.input("X").lod_level)
        return
    if y and math.prod(y) != 1:
        padded = aligned(x, y, c.attrs.get("axis", -1))
        c.check(
            len(padded) == len(x) and all(b in (1, a) or a in (-1, 1) or b < 0 for a, b in zip(x, padded)),
            f"Broadcast dimension mismatch: X {list(x)} and Y {list(y)} with axis {c.attrs.get('axis', -1)}",
        )
        out = [b if a == 1 and b != 1 else a for a, b in zip(x, padded)]
        c.set("Out", out, c.dtype("X"), c.input("X").lod_level)
        return
    c.same("Out", "X")


def fit(k: Call, x: Any, y: Any) -> Any:
    """Return Y reshaped to broadcast against X."""
    if y.shape == x.shape or y.ndim == x.ndim:
        return y
    if y.ndim < x.ndim:
        return y.reshape(aligned(x.shape, y.shape, k.attrs["axis"]))
    return y


def reduced(array: Any, shape: tuple[int, ...]) -> Any:
    """Sum `array` over what was broadcast, so that it has `shape`."""
    if array.shape == shape:
        return array
    extra = array.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, (have, want) in enumerate(zip(array.shape[extra:], shape)) if want == 1 and have != 1
    )
    return array.sum(axis=axes, keepdims=True).reshape(shape) if axes else array.reshape(shape)


def check_broadcast(x: Any, y: Any) -> None:
    for a, b in zip(x.shape[::-1], y.shape[::-1]):
        if a != b and a != 1 and b != 1:
            raise EnforceNotMet(f"Broadcast dimension mismatch: X {list(x.shape)} against Y {list(y.shape)}")


def _binary(name: str, forward: Callable[[Any, Any, Any], Any], grad: bool) -> None:
    @op(name, "X Y", "Out", {"axis": -1}, infer=_infer, grad=grad)
    def kernel(k: Call, x: Any, y: Any) -> Any:
        y = fit(k, x, y)
        if x.shape != y.shape:
            check_broadcast(x, y)
        return forward(k.xp, x, y)

    kernel.__doc__ = f"Out = {name.removeprefix('elementwise_')}(X, Y)."


def _fluid_div(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return x / y
    quotient = xp.floor_divide(xp.abs(x), xp.abs(y))
    return (quotient * (xp.sign(x) * xp.sign(y))).astype(x.dtype)  # C++ truncates towards zero


_binary("elementwise_add", lambda xp, x, y: x + y, True)
_binary("elementwise_sub", lambda xp, x, y: x - y, True)
_binary("elementwise_mul", lambda xp, x, y: x * y, True)
_binary("elementwise_div", _fluid_div, True)
_binary("elementwise_max", lambda xp, x, y: xp.maximum(x, y), True)
_binary("elementwise_min", lambda xp, x, y: xp.minimum(x, y), True)
_binary("elementwise_pow", lambda xp, x, y: xp.power(x, y), True)
# Fluid: whole numbers as in C, where the remainder has the sign of X and quotients go towards zero.
_binary("elementwise_mod", lambda xp, x, y: xp.fmod(x, y) if x.dtype.kind in "iu" else xp.mod(x, y), False)
_binary("elementwise_floordiv", lambda xp, x, y: _fluid_div(xp, x, y) if x.dtype.kind in "iu" else x // y, False)


@gradient("elementwise_add", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def add_grad(k: Call, x: Any, y: Any, dout: Any) -> Any:
    return (
        reduced(dout, x.shape) if k.wants("X@GRAD") else None,
        _to_y(k, x, y, dout) if k.wants("Y@GRAD") else None,
    )


def _to_y(k: Call, x: Any, y: Any, array: Any) -> Any:
    """Reduce a gradient of X's shape to Y's."""
    return reduced(array, fit(k, x, y).shape).reshape(y.shape)


@gradient("elementwise_sub", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def sub_grad(k: Call, x: Any, y: Any, dout: Any) -> Any:
    return (
        reduced(dout, x.shape) if k.wants("X@GRAD") else None,
        -_to_y(k, x, y, dout) if k.wants("Y@GRAD") else None,
    )


@gradient("elementwise_mul", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def mul_grad(k: Call, x: Any, y: Any, dout: Any) -> Any:
    return (
        reduced(dout * fit(k, x, y), x.shape) if k.wants("X@GRAD") else None,
        _to_y(k, x, y, dout * x) if k.wants("Y@GRAD") else None,
    )


@gradient("elementwise_div", "X Y Out Out@GRAD", "X@GRAD Y@GRAD")
def div_grad(k: Call, x: Any, y: Any, out: Any, dout: Any) -> Any:
    scaled = dout / fit(k, x, y)
    return (
        reduced(scaled, x.shape) if k.wants("X@GRAD") else None,
        _to_y(k, x, y, -scaled * out) if k.wants("Y@GRAD") else None,
    )


def _choice_grad(name: str, x_wins: Callable[[Any, Any], Any]) -> None:
    @gradient(name, "X Y Out@GRAD", "X@GRAD Y@GRAD")
    def kernel(k: Call, x: Any, y: Any, dout: Any) -> Any:
        wins = x_wins(x, fit(k, x, y))
        return (
            reduced(dout * wins, x.shape) if k.wants("X@GRAD") else None,
            _to_y(k, x, y, dout * ~wins) if k.wants("Y@GRAD") else None,
        )


_choice_grad("elementwise_max", lambda x, y: x > y)
_choice_grad("elementwise_min", lambda x, y: x < y)


@gradient("elementwise_pow", "X Y Out? Out@GRAD", "X@GRAD Y@GRAD")
def pow_grad(k: Call, x: Any, y: Any, out: Any, dout: Any) -> Any:
    fitted = fit(k, x, y)
    dx = reduced(dout * fitted * k.xp.power(x, fitted - 1), x.shape) if k.wants("X@GRAD") else None
    dy = None
    if k.wants("Y@GRAD"):
        out = k.xp.power(x, fitted) if out is None else out
        dy = _to_y(k, x, y, dout * out * k.xp.log(x))
    return dx, dy
