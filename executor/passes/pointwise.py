"""Ops that treat every element by itself, computed into given memory; the same bits as their kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fluidio.ops.compiled import curves
from fluidio.ops.kernel import Call
from fluidio.tensor.array import Array

__all__ = ["BINARY", "SINGLE", "UNARY", "Binary", "Unary"]

Unary = Callable[[Call, Array, Array], object]
"""Compute the second array from the first; both may be the same."""
Binary = Callable[[Array, Array, Array], object]
"""Compute the third array from the first two; the third may be the first."""


def _relu(k: Call, x: Array, out: Array) -> None:
    np.maximum(x, x.dtype.type(0), out=out)


def _square(k: Call, x: Array, out: Array) -> None:
    np.multiply(x, x, out=out)


def _scale(k: Call, x: Array, out: Array) -> None:
    factor, bias = k.attrs["scale"], k.attrs["bias"]
    if not bias:
        np.multiply(x, factor, out=out)
    elif k.attrs["bias_after_scale"]:
        np.multiply(x, factor, out=out)
        np.add(out, bias, out=out)
    else:
        np.add(x, bias, out=out)
        np.multiply(out, factor, out=out)


def _curve(number: int, keys: tuple[str, ...], k: Call, x: Array, out: Array) -> None:
    curves.curve(number, x, None, [k.attrs[key] for key in keys], out)


SINGLE = curves.NUMBERS.keys() & {
    *("brelu", "gelu", "hard_sigmoid", "hard_swish", "leaky_relu"),
    *("relu6", "sigmoid", "softplus", "softsign", "swish"),
}
"""Those of the unary ops that are in C: for single precision."""
UNARY: dict[str, Unary] = {
    **{name: partial(_curve, curves.NUMBERS[name], curves.ATTRS.get(name, ())) for name in SINGLE},
    "abs": lambda k, x, out: np.abs(x, out=out),
    "exp": lambda k, x, out: np.exp(x, out=out),
    "relu": _relu,
    "scale": _scale,
    "sqrt": lambda k, x, out: np.sqrt(x, out=out),
    "square": _square,
    "tanh": lambda k, x, out: np.tanh(x, out=out),
}
BINARY: dict[str, Binary] = {
    "elementwise_add": lambda x, y, out: np.add(x, y, out=out),
    "elementwise_div": lambda x, y, out: np.divide(x, y, out=out),
    "elementwise_max": lambda x, y, out: np.maximum(x, y, out=out),
    "elementwise_min": lambda x, y, out: np.minimum(x, y, out=out),
    "elementwise_mul": lambda x, y, out: np.multiply(x, y, out=out),
    "elementwise_sub": lambda x, y, out: np.subtract(x, y, out=out),
}
