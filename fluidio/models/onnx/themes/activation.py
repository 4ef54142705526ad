"""Unary functions and activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__ = ["ACTIVATIONS", "activate", "in_float32", "sigmoid"]

_PLAIN = {
    "tanh": "Tanh",
    "exp": "Exp",
    "sqrt": "Sqrt",
    "reciprocal": "Reciprocal",
    "log": "Log",
    "abs": "Abs",
    "sin": "Sin",
    "cos": "Cos",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "floor": "Floor",
    "ceil": "Ceil",
    "sign": "Sign",
    "erf": "Erf",
    "logical_not": "Not",
}
_FLOAT32_ONLY = frozenset(
    ["Erf", "Asin", "Acos", "Atan", "Softsign", "ThresholdedRelu", "Selu", "Softplus", "Cos", "Elu", "LeakyRelu"]
)


def in_float32(k: Op, op_type: str, *inputs: Any, **attrs: Any) -> Value:
    """Append a node that ONNX Runtime supports only for float32."""
    first = inputs[0]
    if first.dtype != np.float64:
        return k(op_type, *inputs, **attrs)
    narrow = [k.g.cast(each, np.float32) if isinstance(each, Value) else each for each in inputs]
    return k.g.cast(k(op_type, *narrow, **attrs), np.float64)


def _plain(name: str, op_type: str) -> None:
    @maps(name)
    def mapping(k: Op, x: Value) -> Value:
        if op_type in _FLOAT32_ONLY:
            return in_float32(k, op_type, x)
        return k(op_type, x)


for _name, _type in _PLAIN.items():
    _plain(_name, _type)


@maps("relu")
def relu(k: Op, x: Value) -> Value:
    return k("Relu", x) if x.dtype.kind == "f" else k("Max", x, 0)


@maps("sigmoid")
def sigmoid(k: Op, x: Value) -> Value:
    return k("Sigmoid", x)


@maps("rsqrt")
def rsqrt(k: Op, x: Value) -> Value:
    return k("Reciprocal", k("Sqrt", x))


@maps("square")
def square(k: Op, x: Value) -> Value:
    return k("Mul", x, x)


@maps("log1p")
def log1p(k: Op, x: Value) -> Value:
    # Near zero log(1 + x) loses digits: x log(1 + x) / ((1 + x) - 1) keeps them.
    more = k("Add", x, 1)
    rest = k("Sub", more, 1)
    zero = k("Equal", rest, 0)
    safe = k("Where", zero, k.g.value(1, x), rest)
    return k("Where", zero, x, k("Div", k("Mul", x, k("Log", more)), safe))


@maps("round")
def round_(k: Op, x: Value) -> Value:
    # Fluid rounds halves away from zero, ONNX to the even neighbour.
    return k("Mul", k("Sign", x), k("Floor", k("Add", k("Abs", x), 0.5)))


def softplus(k: Op, x: Value) -> Value:
    """Return log(1 + exp(x)) without overflow."""
    tail = log1p(k, k("Exp", k("Neg", k("Abs", x))))
    return k("Add", k("Max", x, 0), tail)


@maps("softplus")
def softplus_(k: Op, x: Value) -> Value:
    return softplus(k, x)


@maps("logsigmoid")
def logsigmoid(k: Op, x: Value) -> Value:
    return k("Neg", softplus(k, k("Neg", x)))


@maps("softsign")
def softsign(k: Op, x: Value) -> Value:
    return k("Div", x, k("Add", k("Abs", x), 1))


@maps("tanh_shrink")
def tanh_shrink(k: Op, x: Value) -> Value:
    return k("Sub", x, k("Tanh", x))


@maps("relu6")
def relu6(k: Op, x: Value) -> Value:
    return clipped(k, x, 0.0, k.attr("threshold"))


def clipped(k: Op, x: Value, low: float, high: float) -> Value:
    return k("Clip", x, np.asarray(low, x.dtype), np.asarray(high, x.dtype))


@maps("leaky_relu")
def leaky_relu(k: Op, x: Value) -> Value:
    return k("Max", x, k("Mul", x, k.attr("alpha")))  # Fluid: above 1, alpha applies to positive elements


def _expm1(k: Op, x: Value) -> Value:
    return k("Sub", k("Exp", x), 1)


@maps("elu")
def elu(k: Op, x: Value) -> Value:
    alpha = float(k.attr("alpha"))
    if alpha < 0:  # Fluid: the sum of both branches
        return k("Add", k("Max", x, 0), k("Min", k("Mul", _expm1(k, x), alpha), 0))
    return _elu(k, x, alpha)


def _elu(k: Op, x: Value, alpha: float) -> Value:
    below = k("Mul", _expm1(k, k("Min", x, 0)), alpha)
    return k("Where", k("Greater", x, 0), x, below)


@maps("selu")
def selu(k: Op, x: Value) -> Value:
    return k("Mul", _elu(k, x, float(k.attr("alpha"))), k.attr("scale"))


@maps("brelu")
def brelu(k: Op, x: Value) -> Value:
    return clipped(k, x, k.attr("t_min"), k.attr("t_max"))


@maps("soft_relu")
def soft_relu(k: Op, x: Value) -> Value:
    limit = k.attr("threshold")
    return log1p(k, k("Exp", clipped(k, x, -limit, limit)))


@maps("stanh")
def stanh(k: Op, x: Value) -> Value:
    return k("Mul", k("Tanh", k("Mul", x, k.attr("scale_a"))), k.attr("scale_b"))


@maps("hard_sigmoid")
def hard_sigmoid(k: Op, x: Value) -> Value:
    return clipped(k, k("Add", k("Mul", x, k.attr("slope")), k.attr("offset")), 0.0, 1.0)


@maps("swish")
def swish(k: Op, x: Value) -> Value:
    return k("Mul", x, k("Sigmoid", k("Mul", x, k.attr("beta"))))


@maps("hard_swish")
def hard_swish(k: Op, x: Value) -> Value:
    gate = clipped(k, k("Add", x, k.attr("offset")), 0.0, k.attr("threshold"))
    return k("Div", k("Mul", x, gate), k.attr("scale"))


@maps("hard_shrink")
def hard_shrink(k: Op, x: Value) -> Value:
    return _beyond(k, x, x, x, float(k.attr("threshold")))


def _beyond(k: Op, x: Value, above: Value, below: Value, limit: float) -> Value:
    """Return the values above the limit plus those below minus the limit; a negative limit counts both."""
    return k("Add", k("Where", k("Greater", x, limit), above, 0), k("Where", k("Less", x, -limit), below, 0))


@maps("softshrink")
def softshrink(k: Op, x: Value) -> Value:
    limit = float(k.attr("lambda"))
    return _beyond(k, x, k("Sub", x, limit), k("Add", x, limit), limit)


@maps("thresholded_relu")
def thresholded_relu(k: Op, x: Value) -> Value:
    return k("Where", k("Greater", x, k.attr("threshold")), x, 0)


@maps("mish")
def mish(k: Op, x: Value) -> Value:
    limit = k.attr("threshold")
    soft = softplus(k, x)
    if limit <= 0:
        return k("Mul", x, k("Tanh", soft))
    soft = k("Where", k("Less", x, -limit), k("Exp", k("Min", x, 0)), soft)
    return k("Mul", x, k("Tanh", k("Where", k("Greater", x, limit), x, soft)))


@maps("gelu")
def gelu(k: Op, x: Value) -> Value:
    if k.attr("approximate"):
        cube = k("Mul", k("Mul", x, x), x)
        inner = k("Mul", k("Add", x, k("Mul", cube, 0.044715)), math.sqrt(2 / math.pi))
        return k("Mul", k("Mul", x, 0.5), k("Add", k("Tanh", inner), 1))
    error = in_float32(k, "Erf", k("Div", x, math.sqrt(2)))
    return k("Mul", k("Mul", x, 0.5), k("Add", error, 1))


@maps("pow")
def pow_(k: Op, x: Value, factor: Value | None) -> Value:
    if factor is None:
        return k("Pow", x, np.asarray(k.attr("factor"), x.dtype))
    return k("Pow", x, k.g.scalar(factor))


@maps("clip")
def clip(k: Op, x: Value, low: Value | None, high: Value | None) -> Value:
    bounds = [
        np.asarray(k.attr(name), x.dtype) if given is None else k.g.scalar(k.g.cast(given, x.dtype))
        for name, given in (("min", low), ("max", high))
    ]
    return k("Clip", x, *bounds)


@maps("prelu")
def prelu(k: Op, x: Value, alpha: Value) -> Value:
    rank = k.rank(x)
    mode = k.attr("mode")
    if mode == "all":
        slope = k.g.reshape(alpha, [1] * rank)
    elif mode == "channel":
        slope = k.g.reshape(alpha, [1, -1] + [1] * (rank - 2))
    else:
        slope = k.g.reshape(alpha, k.g("Concat", np.array([1]), k.g("Shape", x, start=1), axis=0, rank=1))
    return k("Where", k("Greater", x, 0), x, k("Mul", x, slope))


@maps("maxout")
def maxout(k: Op, x: Value) -> Value:
    rank, groups = k.rank(x), int(k.attr("groups"))
    axis = k.axis(int(k.attr("axis", 1)), rank)
    before = k.g("Shape", x, start=0, end=axis) if axis else None
    after = k.g("Shape", x, start=axis + 1) if axis + 1 < rank else None
    parts = [each for each in (before, np.array([-1, groups]), after) if each is not None]
    apart = k.g("Reshape", x, k.g("Concat", *parts, axis=0, dtype=np.int64, rank=1), rank=rank + 1)
    return k("ReduceMax", apart, np.array([axis + 1]), keepdims=0, rank=rank)


def _identity(k: Op, x: Value) -> Value:
    return x


ACTIVATIONS: dict[str, Any] = {
    "sigmoid": sigmoid,
    "tanh": lambda k, x: k("Tanh", x),
    "relu": relu,
    "identity": _identity,
    "": _identity,
}


def activate(k: Op, name: str, x: Value) -> Value:
    """Apply the activation that an attribute names."""
    if name not in ACTIVATIONS:
        k.refuse(f"the activation {name!r} has no mapping")
    found: Value = ACTIVATIONS[name](k, x)
    return found
