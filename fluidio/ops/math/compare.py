"""Comparisons, logic and checks for non-finite numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.dtypes import VarType
from fluidio.ops.kernel import Call
from fluidio.ops.math.elementwise import aligned_pair, broadcast_shape, check_broadcast, fit
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext, Shape
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_bool(c: InferContext) -> None:
    c.set("Out", c.shape("X"), VarType.BOOL, c.input("X").lod_level)


def _is_column(x: Shape, y: Shape, axis: int) -> bool:
    """Return whether X has the dims of Y followed by ones, such as labels [N, 1] and limits [N].

    Fluid: up to 0.12 these were compared one by one; 1.8.5 writes past its output, which has the shape of X.
    """
    return axis == -1 and len(x) > len(y) and tuple(x[: len(y)]) == tuple(y) and all(n == 1 for n in x[len(y) :])


def _infer_comparison(c: InferContext) -> None:
    if _is_column(c.shape("X"), c.shape("Y"), c.attrs["axis"]):
        _infer_bool(c)
        return
    if len(c.shape("X")) < len(c.shape("Y")):
        broadcast_shape(c)  # called for its check
    x, y = aligned_pair(c.shape("X"), c.shape("Y"), c.attrs["axis"])
    shape = tuple(b if a == 1 and b > 1 else a for a, b in zip(x, y))  # Fluid: X decides; it is never broadcast
    c.set("Out", shape, VarType.BOOL, c.input("X").lod_level)


def _comparison(name: str, sign: str, compare: Callable[[Any, Any], Any]) -> None:
    @op(name, "X Y", "Out", {"axis": -1, "force_cpu": False}, infer=_infer_comparison, grad=False)
    def kernel(k: Call, x: Array, y: Array) -> Array:
        if _is_column(x.shape, y.shape, k.attrs["axis"]):
            return compare(x, y.reshape(x.shape))
        x, y = fit(k, x, y)
        if x.shape != y.shape:
            check_broadcast(x, y)
        return compare(x, y)

    kernel.__doc__ = f"Out = X {sign} Y, element by element."


_comparison("less_than", "<", lambda x, y: x < y)
_comparison("less_equal", "<=", lambda x, y: x <= y)
_comparison("greater_than", ">", lambda x, y: x > y)
_comparison("greater_equal", ">=", lambda x, y: x >= y)
_comparison("equal", "==", lambda x, y: x == y)
_comparison("not_equal", "!=", lambda x, y: x != y)


def _logic(name: str, combine: Callable[[Any, Any, Any], Any]) -> None:
    @op(name, "X Y", "Out", infer=_infer_bool, grad=False)
    def kernel(k: Call, x: Array, y: Array) -> Array:
        return combine(k.xp, x, y.reshape(x.shape) if x.size == y.size else y)  # Fluid: one by one, whatever the dims

    kernel.__doc__ = f"Out = X {name.removeprefix('logical_')} Y."


_logic("logical_and", lambda xp, x, y: xp.logical_and(x, y))
_logic("logical_or", lambda xp, x, y: xp.logical_or(x, y))
_logic("logical_xor", lambda xp, x, y: xp.logical_xor(x, y))


@op("logical_not", "X", "Out", infer=_infer_bool, grad=False)
def logical_not(k: Call, x: Array) -> Array:
    """Out = not X."""
    return k.xp.logical_not(x)


def _check_op(name: str, doc: str, check: Callable[[Any, Any], Any]) -> None:
    def infer(c: InferContext) -> None:
        # Fluid: Out keeps the dtype it was declared with, which layers take from their input.
        c.set("Out", (1,), VarType.BOOL if name == "isfinite" else None, 0)

    @op(name, "X", "Out", infer=infer, grad=False, lod="none")
    def kernel(k: Call, x: Array) -> Array:
        values = x.value if isinstance(x, SelectedRows) else x
        return check(k.xp, values).reshape(1)

    kernel.__doc__ = doc


_check_op("isfinite", "Out = whether all elements are finite.", lambda xp, x: xp.isfinite(x).all())
_check_op("isinf", "Out = whether any element is infinite.", lambda xp, x: xp.isinf(x).any())
_check_op("isnan", "Out = whether any element is not a number.", lambda xp, x: xp.isnan(x).any())


def _infer_all_close(c: InferContext) -> None:
    c.set("Out", (1,), VarType.BOOL, 0)


@op(
    "allclose",
    "Input Other",
    "Out",
    {"rtol": 1e-5, "atol": 1e-8, "equal_nan": False},
    infer=_infer_all_close,
    grad=False,
    lod="none",
)
def allclose(k: Call, x: Array, y: Array) -> Array:
    """Out = whether |Input - Other| <= atol + rtol |Other| everywhere."""
    a = k.attrs
    close = k.xp.isclose(x, y, rtol=float(a["rtol"]), atol=float(a["atol"]), equal_nan=a["equal_nan"])
    return close.all().reshape(1)
