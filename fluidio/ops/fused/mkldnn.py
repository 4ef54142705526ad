"""What ops of models that were optimized for MKL-DNN do besides: a bias, a sum, an activation, a turned result.

Optimized models hold these as inputs and attributes of the op before them; 1.8.5 heeds them where `use_mkldnn` is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.math.activation import sigmoid
from fluidio.tensor.array import Array

__all__ = ["ATTRS", "TURNED", "check_is_float", "completed", "is_turned", "turned_shape"]

ATTRS: dict[str, Any] = {
    "use_mkldnn": False,
    "fuse_activation": "",
    "fuse_alpha": 0.0,
    "fuse_residual_connection": False,
}
"""Attributes of convolutions; Fluid 1.8.5 does not look at `fuse_relu` and `fuse_brelu` of older models."""

TURNED: dict[str, Any] = {"use_mkldnn": False, "fused_transpose_Out": [], "fused_reshape_Out": []}
"""Attributes of matrix products."""


def completed(k: Call, out: Array, bias: Array | None, residual: Array | None) -> Array:
    """Return the output of a convolution, its channels at axis 1, with bias, residual and activation."""
    if not k.attrs["use_mkldnn"]:
        return out
    if bias is not None:
        out = out + bias.reshape(-1, *(1,) * (out.ndim - 2))
    if residual is not None and k.attrs["fuse_residual_connection"]:
        out = out + residual
    return _activated(k, out)


def _activated(k: Call, x: Array) -> Array:
    """Apply the activation; 1.8.5 ignores others than these."""
    xp, kind, alpha = k.xp, k.attrs["fuse_activation"], x.dtype.type(k.attrs["fuse_alpha"])
    if kind in ("relu", "leaky_relu"):
        return xp.where(x > 0, x, alpha * x)
    if kind == "relu6":
        return xp.clip(x, 0, alpha)
    if kind == "swish":
        return x * sigmoid(xp, alpha * x)
    return x


def is_turned(attrs: Mapping[str, Any]) -> bool:
    """Return whether a matrix product transposes and reshapes its result: 1.8.5 wants both attributes."""
    return bool(attrs["fused_transpose_Out"] and attrs["fused_reshape_Out"])


def turned_shape(shape: Sequence[int], attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the shape of a product after `fused_transpose_Out` and `fused_reshape_Out` (0 keeps a dim)."""
    turned = [shape[axis] for axis in attrs["fused_transpose_Out"]]
    wanted = [turned[axis] if size == 0 else size for axis, size in enumerate(attrs["fused_reshape_Out"])]
    return tuple(wanted)


def check_is_float(x: Array) -> None:
    """Refuse the integers of quantised models, which mean fractions by the op's scales."""
    if x.dtype.kind in "iu":
        raise EnforceNotMet(
            f"the input is {x.dtype}: this op of a model quantised for MKL-DNN computes with 8-bit integers "
            "and scales, which is not supported; use the model from before its quantisation"
        )
