"""Binary ops on two tensors, the second broadcast along an axis of the first."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext, Shape
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def aligned(long: Shape, short: Shape, axis: int) -> Shape:
    """Return the shorter shape padded with ones so that its first dim stands at `axis` of the longer one."""
    if len(short) == len(long):
        return short
    while len(short) > 1 and short[-1] == 1 and axis >= 0 and len(short) + axis > len(long):
        short = short[:-1]  # Fluid: trailing ones do not count
    start = len(long) - len(short) if axis == -1 else axis
    return (1,) * start + tuple(short) + (1,) * (len(long) - start - len(short))


def aligned_pair(x: Shape, y: Shape, axis: int) -> tuple[Shape, Shape]:
    """Return both shapes with one rank; whichever is shorter is padded."""
    return (x, aligned(x, y, axis)) if len(x) >= len(y) else (aligned(y, x, axis), y)


def broadcast_shape(c: InferContext) -> Shape:
    """Return the shape of Out as far as it is known: a dim above 1 wins over -1, -1 over 1."""
    axis = c.attrs.get("axis", -1)
    x, y = aligned_pair(c.shape("X"), c.shape("Y"), axis)
    c.check(
        len(x) == len(y) and all(a == b or a in (-1, 1) or b in (-1, 1) for a, b in zip(x, y)),
        f"Broadcast dimension mismatch: X {list(c.shape('X'))} and Y {list(c.shape('Y'))} with axis {axis}",
    )
    return tuple(max(a, b) if a == b or max(a, b) > 1 else -1 for a, b in zip(x, y))


def _infer(c: InferContext) -> None:
    c.set("Out", broadcast_shape(c), c.dtype("X"), c.input("X").lod_level)


def fit(k: Call, x: Array, y: Array) -> tuple[Array, Array]:
    """Return X and Y with one rank, so that they broadcast."""
    if x.ndim == y.ndim:
        return x, y
    x_shape, y_shape = aligned_pair(x.shape, y.shape, k.attrs["axis"])
    return x.reshape(x_shape), y.reshape(y_shape)


def reduced(array: Array, shape: tuple[int, ...]) -> Array:
    """Sum `array` over what was broadcast, so that it has `shape`."""
    if array.shape == shape:
        return array
    extra = array.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, (have, want) in enumerate(zip(array.shape[extra:], shape)) if want == 1 and have != 1
    )
    return array.sum(axis=axes, keepdims=True).reshape(shape) if axes else array.reshape(shape)


def check_broadcast(x: Array, y: Array) -> None:
    for a, b in zip(x.shape[::-1], y.shape[::-1]):
        if a != b and a != 1 and b != 1:
            raise EnforceNotMet(f"Broadcast dimension mismatch: X {list(x.shape)} against Y {list(y.shape)}")


_warned = False


def tell_of_swap(name: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{name} with fewer dims in X than in Y: Fluid 1.8.5 takes Y for X and X for Y, and so does fluidio, for "
            "the same numbers; unsqueeze X to as many dims as Y for what is written",
            stacklevel=2,
        )


def _binary(name: str, forward: Callable[[Any, Any, Any], Any], grad: bool, swaps: bool = False) -> None:
    """Register an op; one that `swaps` takes the operand with more dims for the first."""

    @op(name, "X Y", "Out", {"axis": -1}, infer=_infer, grad=grad)
    def kernel(k: Call, x: Any, y: Any) -> Any:
        if isinstance(x, SelectedRows):  # by one number
            return SelectedRows(x.index, x.height(), forward(k.xp, x.value, y.reshape(-1)[0]))
        swapped = swaps and x.ndim < y.ndim
        x, y = fit(k, x, y)
        if x.shape != y.shape:
            check_broadcast(x, y)
        if swapped:
            tell_of_swap(name)
            x, y = y, x
        return forward(k.xp, x, y)

    kernel.__doc__ = f"Out = {name.removeprefix('elementwise_')}(X, Y)."


def _fluid_div(xp: ArrayLibrary | ModuleType, x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return x / y
    quotient = xp.floor_divide(xp.abs(x), xp.abs(y))
    return (quotient * (xp.sign(x) * xp.sign(y))).astype(x.dtype)  # C++ truncates towards zero


def _power(xp: ArrayLibrary | ModuleType, x: Array, y: Array) -> Array:
    """Return x ** y; whole numbers as in C, where 2 ** -1 is 0.5 cut to 0."""
    if x.dtype.kind in "iu" and bool((y < 0).any()):
        with np.errstate(divide="ignore", invalid="ignore"):
            return xp.power(x.astype("float64"), y).astype(x.dtype)
    return xp.power(x, y)


_binary("elementwise_add", lambda xp, x, y: x + y, True)
_binary("elementwise_sub", lambda xp, x, y: x - y, True)
_binary("elementwise_mul", lambda xp, x, y: x * y, True)
_binary("elementwise_div", _fluid_div, True)
_binary("elementwise_max", lambda xp, x, y: xp.maximum(x, y), True)
_binary("elementwise_min", lambda xp, x, y: xp.minimum(x, y), True)
_binary("elementwise_pow", _power, True, swaps=True)
# Fluid: whole numbers as in C, where the remainder has the sign of X and quotients go towards zero.
_binary("elementwise_mod", lambda xp, x, y: xp.fmod(x, y) if x.dtype.kind in "iu" else xp.mod(x, y), False, swaps=True)
_binary(
    "elementwise_floordiv", lambda xp, x, y: _fluid_div(xp, x, y) if x.dtype.kind in "iu" else x // y, False, swaps=True
)


def _gradients(k: Call, x: Array, y: Array, dx: Callable[[], Any], dy: Callable[[], Any]) -> Any:
    """Reduce what is wanted of two gradients of Out's shape to the shapes of X and Y."""
    fitted = fit(k, x, y)
    return tuple(
        reduced(make(), padded.shape).reshape(array.shape) if k.wants(slot) else None
        for slot, make, padded, array in zip(("X@GRAD", "Y@GRAD"), (dx, dy), fitted, (x, y))
    )


@gradient("elementwise_add", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def add_grad(k: Call, x: Array, y: Array, dout: Array) -> Array:
    return _gradients(k, x, y, lambda: dout, lambda: dout)


@gradient("elementwise_sub", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def sub_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    dx, dy = _gradients(k, x, y, lambda: dout, lambda: dout)
    return dx, None if dy is None else -dy


@gradient("elementwise_mul", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def mul_grad(k: Call, x: Array, y: Array, dout: Array) -> Array:
    fx, fy = fit(k, x, y)
    return _gradients(k, x, y, lambda: dout * fy, lambda: dout * fx)


@gradient("elementwise_div", "X Y Out Out@GRAD", "X@GRAD Y@GRAD")
def div_grad(k: Call, x: Array, y: Array, out: Array, dout: Array) -> Array:
    scaled = dout / fit(k, x, y)[1]
    return _gradients(k, x, y, lambda: scaled, lambda: -scaled * out)


def _choice_grad(name: str, x_wins: Callable[[Any, Any], Any]) -> None:
    @gradient(name, "X Y Out@GRAD", "X@GRAD Y@GRAD")
    def kernel(k: Call, x: Any, y: Any, dout: Any) -> Any:
        wins = x_wins(*fit(k, x, y))
        return _gradients(k, x, y, lambda: dout * wins, lambda: dout * ~wins)


_choice_grad("elementwise_max", lambda x, y: x > y)
_choice_grad("elementwise_min", lambda x, y: x < y)


@gradient("elementwise_pow", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def pow_grad(k: Call, x: Array, y: Array, dout: Array) -> Array:
    xp = k.xp
    fx, fy = fit(k, x, y)
    return _gradients(k, x, y, lambda: dout * fy * xp.power(fx, fy - 1), lambda: dout * xp.power(fx, fy) * xp.log(fx))
