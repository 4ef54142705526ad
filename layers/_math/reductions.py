"""Sums, means and extremes over dims, running sums, cosines."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import apply, check_variable
from fluidio.program import Variable
from fluidio.program.arguments import Sizes

__all__ = [
    "cos_sim",
    "cumsum",
    "logsumexp",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "sum",
]


# The only types in which Fluid 1.8 accepts several dims.
_DIMS: dict[bool, tuple[type, ...]] = {True: (list,), False: (list, tuple, np.ndarray)}


def _reduce(op_type: str, input: Variable, dim: Any, keep_dim: bool, name: str | None) -> Variable:
    helper = LayerHelper(op_type, name=name)
    several = isinstance(dim, _DIMS[era().checks_layer_arguments])
    dims: list[Any] = [] if dim is None else list(dim) if several else [dim]
    attrs = {"dim": dims or [0], "keep_dim": keep_dim, "reduce_all": not dims}
    return apply(helper, op_type, check_variable(op_type, "input", input), attrs)


def reduce_all(input: Variable, dim: Sizes | None = None, keep_dim: bool = False, name: str | None = None) -> Variable:
    """Whether all elements are true, over dims (all by default); keep_dim keeps those with size 1."""
    return _reduce("reduce_all", input, dim, keep_dim, name)


def reduce_any(input: Variable, dim: Sizes | None = None, keep_dim: bool = False, name: str | None = None) -> Variable:
    """Whether any element is true, over dims (all by default); keep_dim keeps those with size 1."""
    return _reduce("reduce_any", input, dim, keep_dim, name)


def reduce_max(input: Variable, dim: Sizes | None = None, keep_dim: bool = False, name: str | None = None) -> Variable:
    """The largest element over dims (all by default); keep_dim keeps those with size 1."""
    return _reduce("reduce_max", input, dim, keep_dim, name)


def reduce_mean(input: Variable, dim: object = None, keep_dim: bool = False, name: str | None = None) -> Variable:
    """The mean over dims (all by default); keep_dim keeps those with size 1."""
    return _reduce("reduce_mean", input, dim, keep_dim, name)


def reduce_min(input: Variable, dim: Sizes | None = None, keep_dim: bool = False, name: str | None = None) -> Variable:
    """The smallest element over dims (all by default); keep_dim keeps those with size 1."""
    return _reduce("reduce_min", input, dim, keep_dim, name)


def reduce_prod(input: Variable, dim: Sizes | None = None, keep_dim: bool = False, name: str | None = None) -> Variable:
    """The product over dims (all by default); keep_dim keeps those with size 1."""
    return _reduce("reduce_prod", input, dim, keep_dim, name)


def reduce_sum(input: Variable, dim: object = None, keep_dim: bool = False, name: str | None = None) -> Variable:
    """The sum over dims (all by default); keep_dim keeps those with size 1."""
    return _reduce("reduce_sum", input, dim, keep_dim, name)


def sum(x: Variable) -> Variable:
    """The sum of a list of tensors of one shape."""
    helper = LayerHelper("sum")
    parts = list(x) if isinstance(x, (list, tuple)) else [x]
    out = helper.create_variable_for_type_inference(parts[0].dtype)
    helper.append_op(type="sum", inputs={"X": x}, outputs={"Out": [out]}, attrs={"use_mkldnn": False})
    return out


def cumsum(
    x: Variable, axis: int | None = None, exclusive: bool | None = None, reverse: bool | None = None
) -> Variable:
    """Running sums along axis (the last by default)."""
    attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    return apply(LayerHelper("cumsum"), "cumsum", x, {k: v for k, v in attrs.items() if v is not None})


def logsumexp(
    x: Variable, dim: Sizes | None = None, keepdim: bool = False, out: Any = None, name: str | None = None
) -> Variable:
    """The logarithm of the sum of exponentials over dims."""
    from fluidio.layers._math.elementwise import exp, log

    total = reduce_sum(exp(x), dim=dim, keep_dim=keepdim)
    if out is None:
        return log(total, name)
    LayerHelper("log", name=name).append_op(type="log", inputs={"X": [total]}, outputs={"Out": [out]})
    checked: Variable = out
    return checked


def cos_sim(X: Variable, Y: Variable) -> Variable:
    """The cosine of the angle between rows of X and of Y."""
    helper = LayerHelper("cos_sim")
    out = helper.create_variable_for_type_inference(X.dtype)
    x_norm = helper.create_variable_for_type_inference(X.dtype)
    y_norm = helper.create_variable_for_type_inference(X.dtype)
    helper.append_op(
        type="cos_sim",
        inputs={"X": [X], "Y": [Y]},
        outputs={"Out": [out], "XNorm": [x_norm], "YNorm": [y_norm]},
    )
    return out
