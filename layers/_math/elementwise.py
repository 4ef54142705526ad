"""Layers that append one unary or binary op: `relu(x)`, `elementwise_add(x, y)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = [
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "elementwise_add",
    "elementwise_div",
    "elementwise_floordiv",
    "elementwise_max",
    "elementwise_min",
    "elementwise_mod",
    "elementwise_mul",
    "elementwise_pow",
    "elementwise_sub",
    "equal",
    "exp",
    "floor",
    "greater_equal",
    "greater_than",
    "less_equal",
    "less_than",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "not_equal",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "tanh",
    "tanh_shrink",
]


def _unary(op_type: str) -> Callable[..., Variable]:
    def layer(x: Variable, name: str | None = None) -> Variable:
        helper = LayerHelper(op_type, name=name)
        if not isinstance(x, Variable):
            raise TypeError(f"{op_type} takes a Variable, got {type(x).__name__}")
        out = helper.create_variable_for_type_inference(x.dtype)
        helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]})
        return out

    layer.__name__ = layer.__qualname__ = op_type
    layer.__doc__ = f"Apply `{op_type}` to every element."
    return layer


def _binary(op_type: str) -> Callable[..., Variable]:
    def layer(x: Variable, y: Variable, axis: int = -1, act: str | None = None, name: str | None = None) -> Variable:
        helper = LayerHelper(op_type, act=act, name=name)
        for side, value in (("x", x), ("y", y)):
            if not isinstance(value, Variable):
                raise TypeError(f"{op_type}: {side} must be a Variable, got {type(value).__name__}")
        out = helper.create_variable_for_type_inference(x.dtype)
        helper.append_op(type=op_type, inputs={"X": [x], "Y": [y]}, outputs={"Out": [out]}, attrs={"axis": axis})
        return helper.append_activation(out)

    layer.__name__ = layer.__qualname__ = op_type
    layer.__doc__ = f"Apply `{op_type}`; y is broadcast with its first dim at `axis` of x (-1: trailing dims)."
    return layer


def _comparison(op_type: str) -> Callable[..., Variable]:
    def layer(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
        return _compare(op_type, x, y, cond, None)

    layer.__name__ = layer.__qualname__ = op_type
    layer.__doc__ = f"Apply `{op_type}` to every pair of elements; the result is bool and goes to `cond` if given."
    return layer


def _compare(op_type: str, x: Variable, y: Variable, cond: Variable | None, force_cpu: bool | None) -> Variable:
    helper = LayerHelper(op_type)
    for side, value in (("x", x), ("y", y)):
        if not isinstance(value, Variable):
            raise TypeError(f"{op_type}: {side} must be a Variable, got {type(value).__name__}")
    if cond is None:
        cond = helper.create_variable_for_type_inference("bool")
        cond.stop_gradient = True
    attrs = {} if force_cpu is None else {"force_cpu": force_cpu}
    helper.append_op(type=op_type, inputs={"X": [x], "Y": [y]}, outputs={"Out": [cond]}, attrs=attrs)
    return cond


def less_than(x: Variable, y: Variable, force_cpu: bool | None = None, cond: Variable | None = None) -> Variable:
    """Whether x < y, for every pair of elements; the bool result is written to `cond` if given."""
    return _compare("less_than", x, y, cond, force_cpu)


def _logical(op_type: str) -> Callable[..., Variable]:
    def layer(x: Variable, y: Variable, out: Variable | None = None, name: str | None = None) -> Variable:
        return _logic(op_type, {"X": [x], "Y": [y]}, out, name)

    layer.__name__ = layer.__qualname__ = op_type
    layer.__doc__ = f"Apply `{op_type}` to every pair of elements; the result goes to `out` if given."
    return layer


def _logic(op_type: str, inputs: dict[str, Any], out: Variable | None, name: str | None) -> Variable:
    helper = LayerHelper(op_type, name=name)
    for slot, (value,) in inputs.items():
        if not isinstance(value, Variable):
            raise TypeError(f"{op_type}: {slot.lower()} must be a Variable, got {type(value).__name__}")
    if out is None:
        out = helper.create_variable_for_type_inference("bool")
    helper.append_op(type=op_type, inputs=inputs, outputs={"Out": [out]})
    return out


def logical_not(x: Variable, out: Variable | None = None, name: str | None = None) -> Variable:
    """Apply `logical_not` to every element; the result is written to `out` if given."""
    return _logic("logical_not", {"X": [x]}, out, name)


abs = _unary("abs")
acos = _unary("acos")
asin = _unary("asin")
atan = _unary("atan")
ceil = _unary("ceil")
cos = _unary("cos")
equal = _comparison("equal")
exp = _unary("exp")
floor = _unary("floor")
greater_equal = _comparison("greater_equal")
greater_than = _comparison("greater_than")
less_equal = _comparison("less_equal")
log = _unary("log")


def log1p(x: Variable, out: Variable | None = None, name: str | None = None) -> Variable:
    """Apply `log1p` to every element; the result is written to `out` if given."""
    helper = LayerHelper("log1p", name=name)
    if out is None:
        out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="log1p", inputs={"X": [x]}, outputs={"Out": [out]})
    return out


logical_and = _logical("logical_and")
logical_or = _logical("logical_or")
logical_xor = _logical("logical_xor")
logsigmoid = _unary("logsigmoid")
not_equal = _comparison("not_equal")
reciprocal = _unary("reciprocal")
relu = _unary("relu")
round = _unary("round")
rsqrt = _unary("rsqrt")
sigmoid = _unary("sigmoid")
_sign = _unary("sign")


def sign(x: Variable | Any) -> Variable:
    """Return -1, 0 or 1 for every element of a Variable or of an array."""
    if isinstance(x, np.ndarray):
        from fluidio.layers._create.tensors import assign  # imported here because it builds on this module

        x = assign(x)
    return _sign(x)


sin = _unary("sin")
softplus = _unary("softplus")
softsign = _unary("softsign")
sqrt = _unary("sqrt")
square = _unary("square")
tanh = _unary("tanh")
tanh_shrink = _unary("tanh_shrink")
elementwise_add = _binary("elementwise_add")
elementwise_div = _binary("elementwise_div")
elementwise_floordiv = _binary("elementwise_floordiv")
elementwise_max = _binary("elementwise_max")
elementwise_min = _binary("elementwise_min")
elementwise_mod = _binary("elementwise_mod")
elementwise_mul = _binary("elementwise_mul")
elementwise_pow = _binary("elementwise_pow")
elementwise_sub = _binary("elementwise_sub")
