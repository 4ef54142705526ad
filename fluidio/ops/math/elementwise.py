"""Binary ops on two tensors, the second broadcast along an axis of the first."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.reductions import total
from fluidio.ops.registry import gradient, op
from fluidio.ops.row_blocks import elementwise
from fluidio.program.infer import InferContext, Shape
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def aligned(long: Shape, short: Shape, axis: int) -> Shape:
    """Return the shorter shape padded with ones so that its first dim is at `axis` of the longer one."""
    if len(short) == len(long):
        return short
    while len(short) > 1 and short[-1] == 1 and axis >= 0 and len(short) + axis > len(long):
        short = short[:-1]  # Fluid: trailing ones do not count
    start = len(long) - len(short) if axis == -1 else axis
    return (1,) * start + tuple(short) + (1,) * (len(long) - start - len(short))


_aligned = functools.lru_cache(4096)(aligned)  # for kernels, which meet the same few shapes in every step


def aligned_pair(x: Shape, y: Shape, axis: int) -> tuple[Shape, Shape]:
    """Return both shapes with the same rank; the shorter one is padded."""
    return (x, aligned(x, y, axis)) if len(x) >= len(y) else (aligned(y, x, axis), y)


def broadcast_shape(c: InferContext) -> Shape:
    """Return the shape of Out as far as it is known: a dim above 1 takes precedence over -1, and -1 over 1."""
    axis = c.attrs.get("axis", -1)
    x, y = aligned_pair(c.shape("X"), c.shape("Y"), axis)
    c.check(
        len(x) == len(y) and all(a == b or a in (-1, 1) or b in (-1, 1) for a, b in zip(x, y)),
        f"X {list(c.shape('X'))} and Y {list(c.shape('Y'))} cannot be broadcast together with axis {axis}",
    )
    return tuple(max(a, b) if a == b or max(a, b) > 1 else -1 for a, b in zip(x, y))


def _infer(c: InferContext) -> None:
    c.set("Out", broadcast_shape(c), c.dtype("X"), c.input("X").lod_level)


def fit(k: Call, x: Array, y: Array) -> tuple[Array, Array]:
    """Return X and Y with the same rank, so that they broadcast."""
    if x.ndim == y.ndim:
        return x, y
    if x.ndim > y.ndim:
        return x, y.reshape(_aligned(x.shape, y.shape, k.attrs["axis"]))
    return x.reshape(_aligned(y.shape, x.shape, k.attrs["axis"])), y


def reduced(array: Array, shape: tuple[int, ...]) -> Array:
    """Sum `array` over the broadcast dims, so that it has `shape`."""
    if array.shape == shape:
        return array
    axes = _summed_dims(array.shape, shape)
    return total(array, axes).reshape(shape) if axes else array.reshape(shape)


@functools.lru_cache(4096)
def _summed_dims(long: tuple[int, ...], short: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims that `short` lacks or has as ones, when both end with the same dim."""
    extra = len(long) - len(short)
    ones = [i + extra for i, (have, want) in enumerate(zip(long[extra:], short)) if want == 1 and have != 1]
    return (*range(extra), *ones)


def check_broadcast(x: Array, y: Array) -> None:
    for a, b in zip(x.shape[::-1], y.shape[::-1]):
        if a != b and a != 1 and b != 1:
            raise EnforceNotMet(f"X {list(x.shape)} and Y {list(y.shape)} cannot be broadcast together")


_warned = False


def tell_of_swap(name: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{name} with fewer dims in X than in Y: like Fluid 1.8.5, fluidio swaps X and Y; unsqueeze X to "
            "as many dims as Y to compute what is written",
            stacklevel=2,
        )


def _binary(name: str, forward: Callable[[Any, Any, Any], Any], grad: bool, swaps: bool = False) -> None:
    """Register an op; if it `swaps`, the operand with more dims comes first."""

    @op(name, "X Y", "Out", {"axis": -1}, infer=_infer, grad=grad)
    def kernel(k: Call, x: Any, y: Any) -> Any:
        if isinstance(x, SelectedRows):  # by a single number
            return SelectedRows(x.index, x.height(), forward(k.xp, x.value, y.reshape(-1)[0]))
        if x.ndim != y.ndim:
            if swaps and x.ndim < y.ndim:
                tell_of_swap(name)
                y, x = fit(k, x, y)
            else:
                x, y = fit(k, x, y)
        try:
            return forward(k.xp, x, y)
        except ValueError:
            check_broadcast(x, y)
            raise

    kernel.__doc__ = f"Out = {name.removeprefix('elementwise_')}(X, Y)."


def _fluid_div(xp: ArrayLibrary | ModuleType, x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return x / y
    quotient = xp.floor_divide(xp.abs(x), xp.abs(y))
    return (quotient * (xp.sign(x) * xp.sign(y))).astype(x.dtype)  # C++ truncates towards zero


def _power(xp: ArrayLibrary | ModuleType, x: Array, y: Array) -> Array:
    """Return x ** y; integers as in C++, by way of float64: 2 ** -1 is 0, and what does not fit the smallest number."""
    if x.dtype.kind not in "iu":
        return xp.power(x, y)
    limits = np.iinfo(x.dtype)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        size = xp.power(x.astype("float64"), y.astype("float64"))
        fits = (size > float(limits.min) - 1) & (size < float(limits.max) + 1)
        whole = xp.power(xp.where(fits, x, 0), xp.maximum(y, 0)).astype("float64")
        return xp.where(fits, xp.where(y < 0, size, whole), float(limits.min)).astype(x.dtype)


_binary("elementwise_add", lambda xp, x, y: elementwise(xp.add, x, y), True)
_binary("elementwise_sub", lambda xp, x, y: elementwise(xp.subtract, x, y), True)
_binary("elementwise_mul", lambda xp, x, y: elementwise(xp.multiply, x, y), True)
_binary("elementwise_div", _fluid_div, True)
_binary("elementwise_max", lambda xp, x, y: xp.maximum(x, y), True)
_binary("elementwise_min", lambda xp, x, y: xp.minimum(x, y), True)
_binary("elementwise_pow", _power, True, swaps=True)
# Fluid: integers as in C, where the remainder has the sign of X and quotients are truncated.
_binary("elementwise_mod", lambda xp, x, y: xp.fmod(x, y) if x.dtype.kind in "iu" else xp.mod(x, y), False, swaps=True)
_binary(
    "elementwise_floordiv", lambda xp, x, y: _fluid_div(xp, x, y) if x.dtype.kind in "iu" else x // y, False, swaps=True
)


def _gradients(k: Call, x: Array, y: Array, dx: Callable[[], Any], dy: Callable[[], Any]) -> Any:
    """Reduce two gradients of Out's shape to the shapes of X and Y, as far as they are wanted."""
    wanted, axis = k.wanted, k.attrs["axis"]
    return (
        _summed(dx(), x.shape, axis) if "X@GRAD" in wanted else None,
        _summed(dy(), y.shape, axis) if "Y@GRAD" in wanted else None,
    )


def _summed(gradient_: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Reduce a gradient of Out's shape to the shape of X or Y."""
    if gradient_.shape == shape:
        return gradient_
    padded = _aligned(gradient_.shape, shape, axis) if len(shape) < gradient_.ndim else shape
    result = reduced(gradient_, padded)
    return result if result.shape == shape else result.reshape(shape)


def sum_gradients(k: Call, x: tuple[int, ...], y: tuple[int, ...], dout: Array) -> tuple[Array | None, Array | None]:
    """Return the gradients of a sum by the shapes of X and Y."""
    wanted, axis = k.wanted, k.attrs["axis"]
    return (
        _summed(dout, x, axis) if "X@GRAD" in wanted else None,
        _summed(dout, y, axis) if "Y@GRAD" in wanted else None,
    )


def difference_gradients(
    k: Call, x: tuple[int, ...], y: tuple[int, ...], dout: Array
) -> tuple[Array | None, Array | None]:
    """Return the gradients of a difference by the shapes of X and Y."""
    dx, dy = sum_gradients(k, x, y, dout)
    return dx, None if dy is None else -dy


@gradient("elementwise_add", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def add_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    return sum_gradients(k, x.shape, y.shape, dout)


@gradient("elementwise_sub", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def sub_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    return difference_gradients(k, x.shape, y.shape, dout)


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
