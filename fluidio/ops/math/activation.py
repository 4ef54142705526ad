"""Unary functions and activations, each with its gradient in terms of X or Out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Literal

import numpy as np

from fluidio.ops.compiled import channels, curves, elements
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.math.special import erf
from fluidio.ops.registry import gradient, op, same_as
from fluidio.ops.row_blocks import in_blocks
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []

Forward = Callable[[Call, Any], Any]
Backward = Callable[[Call, Any, Any], Any]


_PLAIN_GRADIENTS = {"selu", "mish"}  # Fluid: these gradients have no LoD


def _by_out(name: str, forward: Forward, backward: Backward, attrs: Mapping[str, object] | None = None) -> None:
    """Register an op whose gradient needs only its output: backward(k, out, dout)."""
    _by("Out", name, forward, backward, attrs or {})


def _by_x(name: str, forward: Forward, backward: Backward, attrs: Mapping[str, object] | None = None) -> None:
    """Register an op whose gradient needs its input: backward(k, x, dout)."""
    _by("X", name, forward, backward, attrs or {})


def _by(needed: str, name: str, forward: Forward, backward: Backward, attrs: Mapping[str, object]) -> None:
    op(name, "X", "Out", attrs, infer=same_as("X"), grad=True)(_one_pass(name, in_blocks(forward)))
    lod: Literal["none"] | None = "none" if name in _PLAIN_GRADIENTS else None
    gradient(name, f"{needed} Out@GRAD", "X@GRAD", lod=lod)(_one_pass(f"{name}_grad", in_blocks(backward)))


def _one_pass(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Let C compute a function that it has."""
    number = curves.NUMBERS.get(name)
    if number is None:
        return kernel
    keys = curves.ATTRS.get(name.removesuffix("_grad"), ())

    def work(k: Call, x: Any, *others: Any) -> Any:
        if not curves.fits(x, *others) or (name == "elu" and k.attrs["alpha"] < 0):
            return kernel(k, x, *others)
        return curves.curve(number, x, others[0] if others else None, [k.attrs[key] for key in keys])

    return work


def _flat(name: str, forward: Forward) -> None:
    """Register a step function: its gradient is zero everywhere."""
    op(name, "X", "Out", infer=same_as("X"), grad=True)(_one_pass(name, forward))
    gradient(name, "Out@GRAD", "X@GRAD")(lambda k, d: k.xp.zeros_like(d))


_LOWEST = {2: -11.0, 4: -88.0}  # by item size


def sigmoid(xp: ArrayLibrary | ModuleType, x: Array) -> Array:
    """Return 1 / (1 + exp(-x)); x is clipped where exp would overflow."""
    out = xp.maximum(x, x.dtype.type(_LOWEST.get(x.dtype.itemsize, -700.0)))
    xp.negative(out, out=out)
    xp.exp(out, out=out)
    out += 1
    return xp.reciprocal(out, out=out)


def _relu(k: Call, x: Array) -> Array:
    if x.size >= elements.LARGE and elements.fits(x):
        return elements.relu(x, np.empty_like(x))
    return k.xp.maximum(x, x.dtype.type(0))


def _relu_grad(k: Call, out: Array, d: Array) -> Array:
    if channels.fits(out, d) and out.shape == d.shape:
        return channels.relu_grad(out, d)
    return d * (out > 0)


def _rows_or_dense(one: Forward) -> Forward:
    """Let a unary op accept sparse rows too; it computes their values."""

    def forward(k: Call, x: Array) -> Any:
        if isinstance(x, SelectedRows):
            return SelectedRows(x.index, x.height(), one(k, x.value))
        return one(k, x)

    return forward


op("relu", "X", "Out", infer=same_as("X"), grad=True)(_relu)
gradient("relu", "Out Out@GRAD", "X@GRAD")(_relu_grad)
_by_out("tanh", lambda k, x: k.xp.tanh(x), lambda k, out, d: d * (1 - out * out))
_by_out("sigmoid", lambda k, x: sigmoid(k.xp, x), lambda k, out, d: d * out * (1 - out))
_by_out("exp", lambda k, x: k.xp.exp(x).astype(x.dtype, copy=False), lambda k, out, d: d * out)
_by_out("sqrt", _rows_or_dense(lambda k, x: k.xp.sqrt(x)), lambda k, out, d: d * 0.5 / out)
_by_out("rsqrt", lambda k, x: 1 / k.xp.sqrt(x), lambda k, out, d: d * -0.5 * out * out * out)
_by_out("reciprocal", lambda k, x: 1 / x, lambda k, out, d: -d * out * out)
_by_x("log", lambda k, x: k.xp.log(x), lambda k, x, d: d / x)
_by_x("log1p", lambda k, x: k.xp.log1p(x), lambda k, x, d: d / (1 + x))
_by_x("square", _rows_or_dense(lambda k, x: x * x), lambda k, x, d: d * 2 * x)
_by_x("abs", _rows_or_dense(lambda k, x: k.xp.abs(x)), lambda k, x, d: d * k.xp.sign(x))
_by_x("sin", lambda k, x: k.xp.sin(x), lambda k, x, d: d * k.xp.cos(x))
_by_x("cos", lambda k, x: k.xp.cos(x), lambda k, x, d: -d * k.xp.sin(x))
_by_x("asin", lambda k, x: k.xp.arcsin(x), lambda k, x, d: d / k.xp.sqrt(1 - x * x))
_by_x("acos", lambda k, x: k.xp.arccos(x), lambda k, x, d: -d / k.xp.sqrt(1 - x * x))
_by_x("atan", lambda k, x: k.xp.arctan(x), lambda k, x, d: d / (1 + x * x))
_flat("floor", lambda k, x: k.xp.floor(x))
_flat("ceil", lambda k, x: k.xp.ceil(x))


def _sign_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Return a zero gradient by `scale`, as Fluid does."""
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    return [GradOp("scale", {"X": [grad_name(forward.output("Out")[0])]}, {"Out": [grad_name(x)]}, {"scale": 0.0})]


op("sign", "X", "Out", infer=same_as("X"), grad=_sign_grad)(_one_pass("sign", lambda k, x: k.xp.sign(x)))


def _rounded(k: Call, x: Array) -> Array:
    """Return X rounded, halves away from zero; NumPy rounds them to the even neighbour."""
    whole = k.xp.trunc(x)
    with np.errstate(invalid="ignore"):  # infinities have no fraction
        return whole + k.xp.copysign(k.xp.abs(x - whole) >= 0.5, x)


_flat("round", _rounded)


def softplus(xp: ArrayLibrary | ModuleType, x: Array) -> Array:
    """Return log(1 + exp(x)) without overflow."""
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x)))


_by_x("softplus", lambda k, x: softplus(k.xp, x), lambda k, x, d: d * sigmoid(k.xp, x))
_by_x("logsigmoid", lambda k, x: -softplus(k.xp, -x), lambda k, x, d: d * sigmoid(k.xp, -x))
_by_x("softsign", lambda k, x: x / (1 + k.xp.abs(x)), lambda k, x, d: d / k.xp.square(1 + k.xp.abs(x)))
_by_x("tanh_shrink", lambda k, x: x - k.xp.tanh(x), lambda k, x, d: d * k.xp.square(k.xp.tanh(x)))
_by_out(
    "relu6",
    lambda k, x: k.xp.clip(x, 0, k.attrs["threshold"]),
    lambda k, out, d: d * ((out > 0) & (out < k.attrs["threshold"])),
    {"threshold": 6.0},
)


def _elu(k: Call, x: Array) -> Array:
    xp, alpha = k.xp, k.attrs["alpha"]
    if alpha >= 0:
        return xp.maximum(x, 0) + alpha * xp.expm1(xp.minimum(x, 0))
    with np.errstate(over="ignore"):
        return xp.maximum(x, 0) + xp.minimum(alpha * xp.expm1(x), 0)  # Fluid: the sum of both branches


def _elu_grad(k: Call, x: Array, d: Array) -> Array:
    alpha = k.attrs["alpha"]
    slope = alpha * k.xp.exp(k.xp.minimum(x, 0))
    if 0 <= alpha <= 1:
        return d * k.xp.maximum(slope, x > 0)  # faster than `where`, which mispredicts branches
    return d * k.xp.where(x > 0, x.dtype.type(1), slope)


_by_out(
    "leaky_relu",
    lambda k, x: k.xp.maximum(x, x * k.attrs["alpha"]),  # Fluid: above 1, alpha applies to positive elements
    lambda k, out, d: (
        d * k.xp.asarray([k.attrs["alpha"], 1], d.dtype).take((out > 0).view("int8"))
    ),  # faster than where
    {"alpha": 0.02},
)
_by_x(
    "elu",
    _elu,
    _elu_grad,
    {"alpha": 1.0},
)
_by_x(
    "brelu",
    lambda k, x: k.xp.clip(x, k.attrs["t_min"], k.attrs["t_max"]),
    lambda k, x, d: d * ((x > k.attrs["t_min"]) & (x < k.attrs["t_max"])),
    {"t_min": 0.0, "t_max": 24.0},
)
_by_out(
    "soft_relu",
    lambda k, x: k.xp.log1p(k.xp.exp(k.xp.clip(x, -k.attrs["threshold"], k.attrs["threshold"]))),
    lambda k, out, d: d * (1 - k.xp.exp(-out)) * ((out > -k.attrs["threshold"]) & (out < k.attrs["threshold"])),
    {"threshold": 40.0},
)
_by_x(
    "stanh",
    lambda k, x: k.attrs["scale_b"] * k.xp.tanh(k.attrs["scale_a"] * x),
    lambda k, x, d: d * k.attrs["scale_a"] * k.attrs["scale_b"] * (1 - k.xp.square(k.xp.tanh(k.attrs["scale_a"] * x))),
    {"scale_a": 0.67, "scale_b": 1.7159},
)
_by_out(
    "hard_sigmoid",
    lambda k, x: k.xp.clip(x * k.attrs["slope"] + k.attrs["offset"], 0, 1),
    lambda k, out, d: d * k.attrs["slope"] * ((out > 0) & (out < 1)),
    {"slope": 0.2, "offset": 0.5},
)


def _swish_grad(k: Call, x: Array, d: Array) -> Array:
    beta = k.attrs["beta"]
    s = sigmoid(k.xp, beta * x)
    return d * (s + beta * x * s * (1 - s))


def _swish(k: Call, x: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return x / (1 + k.xp.exp(-k.attrs["beta"] * x))


_by_x("swish", _swish, _swish_grad, {"beta": 1.0})


def _hard_swish_grad(k: Call, x: Array, d: Array) -> Array:
    a = k.attrs
    shifted = x + a["offset"]
    inside = (shifted > 0) & (shifted < a["threshold"])
    return d * ((2 * x + a["offset"]) / a["scale"] * inside + (shifted >= a["threshold"]))


_by_x(
    "hard_swish",
    lambda k, x: x * k.xp.clip(x + k.attrs["offset"], 0, k.attrs["threshold"]) / k.attrs["scale"],
    _hard_swish_grad,
    {"threshold": 6.0, "scale": 6.0, "offset": 3.0},
)


def _shrink(name: str, attr: str, shift: bool) -> None:
    """Register an op that keeps X where it is beyond the threshold on either side, minus the threshold if `shift`.

    Fluid: with a negative threshold both sides count where they overlap.
    """

    def forward(k: Call, x: Array) -> Any:
        t = x.dtype.type(k.attrs[attr])
        if shift:
            return (x - t) * (x > t) + (x + t) * (x < -t)
        zero = x.dtype.type(0)
        return k.xp.where(x > t, x, zero) + k.xp.where(x < -t, x, zero)

    def backward(k: Call, x: Array, d: Array) -> Array:
        t = x.dtype.type(k.attrs[attr])
        return d * (x > t) + d * (x < -t)

    _by_x(name, forward, backward, {attr: 0.5})


_shrink("hard_shrink", "threshold", False)
_shrink("softshrink", "lambda", True)
_by_x(
    "thresholded_relu",
    lambda k, x: x * (x > x.dtype.type(k.attrs["threshold"])),
    lambda k, x, d: d * (x > x.dtype.type(k.attrs["threshold"])),
    {"threshold": 1.0},
)


def _selu_grad(k: Call, out: Array, d: Array) -> Array:
    scale, alpha = k.attrs["scale"], k.attrs["alpha"]
    both = float(np.float32(scale) * np.float32(alpha))  # Fluid: the product has 32 bits
    slope = k.xp.where(out > 0, out.dtype.type(scale), out + both)
    return d * slope.astype(np.float32).astype(out.dtype)  # Fluid: in 32 bits even for doubles


_by_out(
    "selu",
    lambda k, x: k.attrs["scale"] * k.xp.where(x > 0, x, k.attrs["alpha"] * k.xp.expm1(k.xp.minimum(x, 0))),
    _selu_grad,
    {"scale": 1.0507009873554804934193349852946, "alpha": 1.6732632423543772848170429916717},
)


def _mish_softplus(k: Call, x: Array) -> Array:
    """Return log(1 + exp(x)): Fluid takes x above the threshold and exp(x) below minus the threshold."""
    xp, threshold = k.xp, k.attrs["threshold"]
    inside = softplus(xp, x)
    if threshold <= 0:
        return inside
    below = xp.where(x < -threshold, xp.exp(xp.minimum(x, 0)), inside)
    return xp.where(x > threshold, x, below)


def _mish_grad(k: Call, x: Array, d: Array) -> Array:
    soft = _mish_softplus(k, x)
    t = k.xp.tanh(soft)
    return d * (t + x * (1 - t * t) * -k.xp.expm1(-soft))


_by_x("mish", lambda k, x: x * k.xp.tanh(_mish_softplus(k, x)), _mish_grad, {"threshold": 20.0})

_ROOT_2_PI = math.sqrt(2 / math.pi)


def _gelu(k: Call, x: Array) -> Array:
    if k.attrs["approximate"]:
        return 0.5 * x * (1 + k.xp.tanh(_ROOT_2_PI * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(k.xp, x / math.sqrt(2)))


def _gelu_grad(k: Call, x: Array, d: Array) -> Array:
    xp = k.xp
    if k.attrs["approximate"]:
        t = xp.tanh(_ROOT_2_PI * (x + 0.044715 * x * x * x))
        return d * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _ROOT_2_PI * (1 + 3 * 0.044715 * x * x))
    density = xp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return d * (0.5 * (1 + erf(xp, x / math.sqrt(2))) + x * density)


_by_x("gelu", _gelu, _gelu_grad, {"approximate": False})
_by_x("erf", lambda k, x: erf(k.xp, x), lambda k, x, d: d * (2 / math.sqrt(math.pi)) * k.xp.exp(-x * x))


def _factor(k: Call, tensor: Array | None) -> Array:
    return k.attrs["factor"] if tensor is None else tensor.reshape(-1)[0]


def _power(k: Call, x: Array, power: Any) -> Array:
    """Return X to the power of a number. NumPy takes some 50 times as long where elements are negative."""
    xp = k.xp
    if xp is not np or x.dtype.kind != "f" or not (x < 0).any():
        return xp.power(x, power)
    found, whole = np.power(np.abs(x), power), float(power).is_integer()
    if whole:
        return np.copysign(found, x) if power % 2 else found
    return np.where((x < 0) & (x > -np.inf), x.dtype.type(np.nan), found)


@op("pow", "X FactorTensor?", "Out", {"factor": 1.0}, infer=same_as("X"), grad=True)
def pow_(k: Call, x: Array, factor: Array) -> Array:
    """Out = X to the power of factor. Fluid: integers use the integer part of the factor."""
    power = _factor(k, factor)
    if x.dtype.kind not in "iu":
        return _power(k, x, power).astype(x.dtype, copy=False)
    whole = int(power)
    base = x if whole >= 0 else x.astype(np.float64)  # Fluid: crashes for a negative one
    return k.xp.power(base, whole).astype(x.dtype, copy=False)


@gradient("pow", "X FactorTensor Out@GRAD", "X@GRAD")
def pow_grad(k: Call, x: Array, factor: Array, dout: Array) -> Array:
    power = _factor(k, factor)
    return dout * power * _power(k, x, power - 1)


@op("clip", "X Min? Max?", "Out", {"min": 0.0, "max": 0.0}, infer=same_as("X"), grad=True)
def clip(k: Call, x: Array, low: Array, high: Array) -> KernelResult:
    """Out = X clipped to [min, max]."""
    lo, hi = _limits(k, low, high)
    if isinstance(x, SelectedRows):
        rows, values = x.merged(k.xp)
        return SelectedRows(rows, x.height(), k.xp.clip(values, lo, hi))
    if curves.fits(x):
        return curves.curve(curves.NUMBERS["clip"], x, None, (float(lo), float(hi)))
    return k.xp.clip(x, lo, hi).astype(x.dtype, copy=False)


def _limits(k: Call, low: Array | None, high: Array | None) -> tuple[Array, Array]:
    """Return the bounds. Fluid: the lower one in 32 bits even for doubles."""
    return (
        k.attrs["min"] if low is None else low.reshape(-1)[0].astype(np.float32).astype(low.dtype),
        k.attrs["max"] if high is None else high.reshape(-1)[0],
    )


@gradient("clip", "X Min Max Out@GRAD", "X@GRAD", lod="none")
def clip_grad(k: Call, x: Array, low: Array, high: Array, dout: Array) -> Array:
    lo, hi = _limits(k, low, high)
    if curves.fits(x, dout):
        return curves.curve(curves.NUMBERS["clip_grad"], x, dout, (float(lo), float(hi)))
    return dout * ((x > lo) & (x < hi))
