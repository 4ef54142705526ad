"""One-to-one layers over unary and binary ops: `relu(x)`, `elementwise_add(x, y)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = [
    "abs",
    "elementwise_add",
    "elementwise_div",
    "elementwise_floordiv",
    "elementwise_max",
    "elementwise_min",
    "elementwise_mod",
    "elementwise_mul",
    "elementwise_pow",
    "elementwise_sub",
    "exp",
    "log",
    "relu",
    "sigmoid",
    "sqrt",
    "square",
    "tanh",
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
    def layer(x: Variable, y: Variable, axis: int = -1, act: Any = None, name: str | None = None) -> Variable:
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


abs = _unary("abs")
exp = _unary("exp")
log = _unary("log")
relu = _unary("relu")
sigmoid = _unary("sigmoid")
sqrt = _unary("sqrt")
square = _unary("square")
tanh = _unary("tanh")
elementwise_add = _binary("elementwise_add")
elementwise_div = _binary("elementwise_div")
elementwise_floordiv = _binary("elementwise_floordiv")
elementwise_max = _binary("elementwise_max")
elementwise_min = _binary("elementwise_min")
elementwise_mod = _binary("elementwise_mod")
elementwise_mul = _binary("elementwise_mul")
elementwise_pow = _binary("elementwise_pow")
elementwise_sub = _binary("elementwise_sub")
