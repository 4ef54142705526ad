"""Unary maths and activations, each with its gradient in terms of X or of Out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op, same_as

__all__: list[str] = []

Forward = Callable[[Call, Any], Any]
Backward = Callable[[Call, Any, Any], Any]


def _by_out(name: str, forward: Forward, backward: Backward, attrs: Mapping[str, Any] | None = None) -> None:
    """Register an op whose gradient needs its output only: backward(k, out, dout)."""
    op(name, "X", "Out", attrs, infer=same_as("X"), grad=True)(forward)
    gradient(name, "Out Out@GRAD", "X@GRAD")(backward)


def _by_x(name: str, forward: Forward, backward: Backward, attrs: Mapping[str, Any] | None = None) -> None:
    """Register an op whose gradient needs its input: backward(k, x, dout)."""
    op(name, "X", "Out", attrs, infer=same_as("X"), grad=True)(forward)
    gradient(name, "X Out@GRAD", "X@GRAD")(backward)


def _sigmoid(k: Call, x: Any) -> Any:
    xp = k.xp
    # Fluid limits the argument to [-40, 13]; exp of the negative side alone would do otherwise.
    return 1 / (1 + xp.exp(-xp.clip(x, -40.0, 13.0)))


_by_out("relu", lambda k, x: k.xp.maximum(x, x.dtype.type(0)), lambda k, out, d: d * (out > 0))
_by_out("tanh", lambda k, x: k.xp.tanh(x), lambda k, out, d: d * (1 - out * out))
_by_out("sigmoid", _sigmoid, lambda k, out, d: d * out * (1 - out))
_by_out("exp", lambda k, x: k.xp.exp(x), lambda k, out, d: d * out)
_by_out("sqrt", lambda k, x: k.xp.sqrt(x), lambda k, out, d: d * 0.5 / out)
_by_x("log", lambda k, x: k.xp.log(x), lambda k, x, d: d / x)
_by_x("square", lambda k, x: x * x, lambda k, x, d: d * 2 * x)
_by_x("abs", lambda k, x: k.xp.abs(x), lambda k, x, d: d * k.xp.sign(x))
