"""Second derivatives of element-wise ops, activations and products.

Ops without second derivatives in 1.8.5 are marked `complete`: tanh, sigmoid, softmax, matmul.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.math import activation, elementwise, matmul, reduce_dims, softmax  # noqa: F401  (they bring the ops)
from fluidio.ops.math.elementwise import fit, reduced, tell_of_swap
from fluidio.ops.math.matmul import matmul_by, matmul_gradients
from fluidio.ops.second_order import linear, second, total
from fluidio.tensor.array import Array

__all__: list[str] = []

_PAIR = "X Y DOut=Out@GRAD DDX=+X@GRAD DDY=+Y@GRAD"


@second("square", "X DOut=Out@GRAD DDX=+X@GRAD", "DX=X DDOut=Out@GRAD")
def square_second(k: Call, x: Array, dout: Array, ddx: Array) -> tuple[Array, Array]:
    return 2 * dout * ddx, 2 * x * ddx


@second("sqrt", "Out DX=X@GRAD DDX=+X@GRAD", "DOut=Out DDOut=Out@GRAD")
def sqrt_second(k: Call, out: Array, dx: Array, ddx: Array) -> tuple[Array, Array]:
    return -dx * ddx / out, 0.5 * ddx / out


@second("elu", "X DOut=Out@GRAD DDX=+X@GRAD", "DX=X DDOut=Out@GRAD")
def elu_second(k: Call, x: Array, dout: Array, ddx: Array) -> tuple[Array, Array]:
    curve = k.xp.where(x > 0, 0, k.attrs["alpha"] * k.xp.exp(k.xp.minimum(x, 0))).astype(x.dtype)
    return ddx * dout * curve, ddx * k.xp.where(x > 0, 1, curve)


@second("relu", "Out DDX=+X@GRAD", "DDOut=Out@GRAD")
def relu_second(k: Call, out: Array, ddx: Array) -> Array:
    return ddx * (out > 0)


@second("leaky_relu", "Out DDX=+X@GRAD", "DDOut=Out@GRAD")
def leaky_relu_second(k: Call, out: Array, ddx: Array) -> Array:
    return ddx * k.xp.where(out > 0, out.dtype.type(1), out.dtype.type(k.attrs["alpha"]))


def _of_result(name: str, slope: Callable[[Any], Any], bend: Callable[[Any], Any]) -> None:
    """Register an activation whose derivative is a function of its result; `bend` is that function's derivative."""

    @second(name, "Out DOut=Out@GRAD DDX=+X@GRAD", "DOutNew=Out DDOut=Out@GRAD", complete=True)
    def kernel(k: Call, out: Any, dout: Any, ddx: Any) -> Any:
        return dout * ddx * bend(out), ddx * slope(out)


_of_result("tanh", lambda y: 1 - y * y, lambda y: -2 * y)
_of_result("sigmoid", lambda y: y * (1 - y), lambda y: 1 - 2 * y)


@second("softmax", "Out DOut=Out@GRAD DDX=+X@GRAD", "DOutNew=Out DDOut=Out@GRAD", complete=True)
def softmax_second(k: Call, out: Array, dout: Array, ddx: Array) -> tuple[Array, Array]:
    axis = k.attrs["axis"]
    mean, bent = ((part * out).sum(axis=axis, keepdims=True) for part in (dout, ddx))
    return ddx * (dout - mean) - dout * bent, out * (ddx - bent)


# -- two operands --------------------------------------------------------------------------------------------------


def _wide(k: Call, x: Array, y: Array, ddx: Array | None, ddy: Array | None) -> tuple[Any, Any]:
    """Return the incoming gradients, reshaped so that they broadcast; None stays None.

    If an op does not read X, Out is passed instead: it has X's shape unless X was broadcast.
    """
    wide_x, wide_y = fit(k, x if ddx is None else ddx, y if ddy is None else ddy)
    return None if ddx is None else wide_x, None if ddy is None else wide_y


def _to(k: Call, x: Array, y: Array, value: Array, of: int) -> Array:
    """Sum a value of Out's shape down to the shape of X (0) or Y (1)."""
    return reduced(value, fit(k, x, y)[of].shape).reshape((x, y)[of].shape)


def _sum_second(name: str, sign: int) -> None:
    @second(name, "Y DOut=Out@GRAD DDX=+X@GRAD DDY=+Y@GRAD", "DDOut=Out@GRAD")
    def kernel(k: Call, y: Any, dout: Any, ddx: Any, ddy: Any) -> Any:
        swapped = sign < 0 and ddx is not None and ddx.ndim < y.ndim
        ddx, ddy = _wide(k, dout, y, ddx, ddy)
        both = total(ddx, ddy if ddy is None else sign * ddy)
        if swapped:
            tell_of_swap(f"{name}_grad_grad")
            both = -both
        return both if both.shape == dout.shape else k.xp.broadcast_to(both, dout.shape).copy()


_sum_second("elementwise_add", 1)
_sum_second("elementwise_sub", -1)


@second("elementwise_mul", _PAIR, "X@GRAD=X Y@GRAD=Y DDOut=Out@GRAD")
def mul_second(k: Call, x: Array, y: Array, dout: Array, ddx: Array | None, ddy: Array | None) -> KernelResult:
    fx, fy = fit(k, x, y)
    ddx, ddy = _wide(k, x, y, ddx, ddy)
    return (
        None if ddy is None else _to(k, x, y, dout * ddy, 0),
        None if ddx is None else _to(k, x, y, dout * ddx, 1),
        total(None if ddx is None else ddx * fy, None if ddy is None else fx * ddy),
    )


@second("elementwise_div", "Y Out DX=X@GRAD DDX=+X@GRAD DDY=+Y@GRAD", "Y@GRAD=Y DOut=Out DDOut=Out@GRAD")
def div_second(k: Call, y: Array, out: Array, dx: Array, ddx: Array | None, ddy: Array | None) -> tuple[Array, ...]:
    fx, fy = fit(k, dx, y)
    ddx, ddy = _wide(k, out, y, ddx, ddy)
    bent = total(ddx, None if ddy is None else -ddy * out)
    return (
        _to(k, out, y, k.xp.broadcast_to(-fx * bent / fy, out.shape), 1),
        k.xp.zeros_like(out) if ddy is None else k.xp.broadcast_to(-ddy * fx, out.shape),
        k.xp.broadcast_to(bent / fy, out.shape),
    )


@second("mul", _PAIR, "DX=X DY=Y DDOut=Out@GRAD")
def product_second(k: Call, x: Array, y: Array, dout: Array, ddx: Array, ddy: Array) -> tuple[Array, ...]:
    rows, columns = k.attrs["x_num_col_dims"], k.attrs["y_num_col_dims"]

    def left(value: Any) -> Any:
        return None if value is None else value.reshape(_product(x.shape[:rows]), -1)

    def right(value: Any) -> Any:
        return None if value is None else value.reshape(_product(y.shape[:columns]), -1)

    a, b, da, db = left(x), right(y), left(ddx), right(ddy)
    d = dout.reshape(a.shape[0], b.shape[1])
    return (
        k.xp.zeros_like(x) if db is None else (d @ db.T).reshape(x.shape),
        k.xp.zeros_like(y) if da is None else (da.T @ d).reshape(y.shape),
        total(None if da is None else da @ b, None if db is None else a @ db).reshape(dout.shape),
    )


def _product(dims: tuple[int, ...]) -> int:
    size = 1
    for dim in dims:
        size *= dim
    return size


@second("matmul", _PAIR, "DX=X DY=Y DDOut=Out@GRAD", complete=True)
def matmul_second(k: Call, x: Array, y: Array, dout: Array, ddx: Array | None, ddy: Array | None) -> KernelResult:
    return (
        k.xp.zeros_like(x) if ddy is None else matmul_gradients(k, x, ddy, dout, True, False)[0],
        k.xp.zeros_like(y) if ddx is None else matmul_gradients(k, ddx, y, dout, False, True)[1],
        total(None if ddx is None else matmul_by(k, ddx, y), None if ddy is None else matmul_by(k, x, ddy)),
    )


linear("reduce_sum", "X=+X@GRAD")
linear("reduce_mean", "X=+X@GRAD")
