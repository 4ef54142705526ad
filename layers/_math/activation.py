"""Activations that take parameters."""

from __future__ import annotations

from typing import Any

from fluidio.dtypes import DTypeLike
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import apply, check_variable, warn_like_fluid
from fluidio.param_attr import AttrLike
from fluidio.program import Variable

__all__ = [
    "brelu",
    "clip",
    "clip_by_norm",
    "elu",
    "erf",
    "gelu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_swish",
    "leaky_relu",
    "log_softmax",
    "maxout",
    "mish",
    "pow",
    "prelu",
    "relu6",
    "selu",
    "soft_relu",
    "softshrink",
    "stanh",
    "swish",
    "thresholded_relu",
]


def _layer(op_type: str, x: Variable, name: str | None = None, **attrs: object) -> Variable:
    helper = LayerHelper(op_type, name=name)
    return apply(helper, op_type, check_variable(op_type, "x", x), attrs)


def relu6(x: Variable, threshold: float = 6.0, name: str | None = None) -> Variable:
    """min(max(x, 0), threshold)."""
    return _layer("relu6", x, name, threshold=threshold)


def leaky_relu(x: Variable, alpha: float = 0.02, name: str | None = None) -> Variable:
    """x where positive, alpha * x elsewhere."""
    return _layer("leaky_relu", x, name, alpha=alpha)


def elu(x: Variable, alpha: float = 1.0, name: str | None = None) -> Variable:
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    return _layer("elu", x, name, alpha=alpha)


def selu(x: Variable, scale: float | None = None, alpha: float | None = None, name: str | None = None) -> Variable:
    """scale * x where positive, scale * alpha * (exp(x) - 1) elsewhere."""
    return _layer("selu", x, name, scale=scale, alpha=alpha)


def brelu(x: Variable, t_min: float = 0.0, t_max: float = 24.0, name: str | None = None) -> Variable:
    """x clipped to [t_min, t_max]."""
    return _layer("brelu", x, name, t_min=t_min, t_max=t_max)


def soft_relu(x: Variable, threshold: float = 40.0, name: str | None = None) -> Variable:
    """log(1 + exp(x)) with x clipped to [-threshold, threshold]."""
    return _layer("soft_relu", x, name, threshold=threshold)


def stanh(x: Variable, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Variable:
    """scale_b * tanh(scale_a * x)."""
    return _layer("stanh", x, name, scale_a=scale_a, scale_b=scale_b)


def hard_sigmoid(x: Variable, slope: float = 0.2, offset: float = 0.5, name: str | None = None) -> Variable:
    """slope * x + offset, clipped to [0, 1]."""
    return _layer("hard_sigmoid", x, name, slope=slope, offset=offset)


def swish(x: Variable, beta: float = 1.0, name: str | None = None, *, own_beta: bool = False) -> Variable:
    """x * sigmoid(beta * x).

    Args:
        own_beta: let `beta` take effect.

    Fluid: beta is stored under a name that the op does not read, so it is 1. The same happens here, with a warning.
    """
    if own_beta:
        return _layer("swish", x, name, beta=beta)
    if isinstance(beta, Variable) or beta != 1.0:
        warn_like_fluid("swish", f"beta is 1.0 instead of {beta}; swish(..., own_beta=True) uses it")
    return _layer("swish", x, name)


def hard_swish(
    x: Variable, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0, name: str | None = None
) -> Variable:
    """x * min(max(x + offset, 0), threshold) / scale."""
    return _layer("hard_swish", x, name, threshold=threshold, scale=scale, offset=offset)


def mish(x: Variable, threshold: float = 20, name: str | None = None) -> Variable:
    """x * tanh(log(1 + exp(x)))."""
    return _layer("mish", x, name, threshold=threshold)


def hard_shrink(x: Variable, threshold: float | None = None) -> Variable:
    """x where |x| > threshold (0.5), zero elsewhere."""
    return _layer("hard_shrink", x, threshold=threshold)


def softshrink(x: Variable, alpha: float | None = None) -> Variable:
    """x moved towards zero by alpha (0.5), zero where |x| < alpha."""
    attrs: dict[str, Any] = {"lambda": alpha}
    return _layer("softshrink", x, None, **attrs)


def thresholded_relu(x: Variable, threshold: float | None = None) -> Variable:
    """x where x > threshold (1.0), zero elsewhere."""
    return _layer("thresholded_relu", x, threshold=threshold)


def gelu(x: Variable, approximate: bool = False) -> Variable:
    """x times the standard normal CDF at x, computed with erf or approximated with tanh."""
    return _layer("gelu", x, approximate=approximate)


def erf(x: Variable) -> Variable:
    """The error function."""
    return _layer("erf", x)


def clip(x: Variable, min: float | Variable, max: float | Variable, name: str | None = None) -> Variable:
    """x clipped to [min, max]; both may be Variables."""
    helper = LayerHelper("clip", name=name)
    inputs: dict[str, Any] = {"X": [x]}
    attrs: dict[str, Any] = {"min": 0.0, "max": 0.0}
    for slot, value in (("Min", min), ("Max", max)):
        if isinstance(value, Variable):
            inputs[slot] = [value]
        else:
            attrs[slot.lower()] = value
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="clip", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def clip_by_norm(x: Variable, max_norm: float, name: str | None = None) -> Variable:
    """x scaled down to norm max_norm if its norm is larger. No gradient passes."""
    return _layer("clip_by_norm", x, name, max_norm=max_norm)


def pow(x: Variable, factor: float | Variable = 1.0, name: str | None = None) -> Variable:
    """x to the power of factor."""
    helper = LayerHelper("pow", name=name)
    inputs: dict[str, Any] = {"X": [x]}
    attrs: dict[str, Any] = {}
    if isinstance(factor, Variable):
        factor.stop_gradient = True
        inputs["FactorTensor"] = [factor]
    else:
        attrs["factor"] = factor
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="pow", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def maxout(x: Variable, groups: int, name: str | None = None, axis: int = 1) -> Variable:
    """The largest of each group of channels."""
    return _layer("maxout", x, name, groups=groups, axis=len(x.shape) - 1 if axis == -1 else axis)


def log_softmax(
    input: Variable, axis: int | None = None, dtype: DTypeLike | None = None, name: str | None = None
) -> Variable:
    """log(softmax(input))."""
    from fluidio.layers._create.tensors import cast

    helper = LayerHelper("log_softmax", name=name)
    if dtype is not None:
        input = cast(input, dtype)
    prob = apply(helper, "softmax", input, {"axis": -1 if axis is None else axis, "use_cudnn": False})
    return apply(helper, "log", prob)


def prelu(x: Variable, mode: str, param_attr: AttrLike = None, name: str | None = None) -> Variable:
    """x where positive, alpha * x elsewhere, with a learned alpha for "all", for each "channel" or each "element"."""
    if mode not in ("all", "channel", "element"):
        raise ValueError(f"prelu: mode must be 'all', 'channel' or 'element', got {mode!r}")
    helper = LayerHelper("prelu", param_attr=param_attr, name=name)
    shape = [1]
    if mode == "channel":
        shape = [1, x.shape[1], 1, 1]
    elif mode == "element":
        shape = [1, *x.shape[1:]]
    alpha = helper.create_parameter(helper.param_attr, shape, "float32", default_initializer=Constant(0.25))
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="prelu", inputs={"X": [x], "Alpha": [alpha]}, outputs={"Out": [out]}, attrs={"mode": mode})
    return out
