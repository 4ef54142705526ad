"""Scale and increment: multiply by a number, add a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op, passed_on, same_as
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []


def _scale_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    attrs = {"scale": forward.attr("scale"), "bias": 0.0, "bias_after_scale": True}
    inputs = {"X": [grad_name(forward.output("Out")[0])]}
    if forward.input("ScaleTensor"):
        inputs["ScaleTensor"] = list(forward.input("ScaleTensor"))
    return [GradOp("scale", inputs, {"Out": [grad_name(x)]}, attrs)]


@op(
    "scale",
    "X ScaleTensor?",
    "Out",
    {"scale": 1.0, "bias": 0.0, "bias_after_scale": True},
    infer=same_as("X"),
    grad=_scale_grad,
)
def scale(k: Call, x: Any, scale_tensor: Any) -> Any:
    """Out = scale * X + bias, or scale * (X + bias)."""
    a = k.attrs
    factor = a["scale"] if scale_tensor is None else scale_tensor.reshape(-1)[0]
    if isinstance(x, SelectedRows):
        return SelectedRows(x.rows(), x.height(), x.value * factor)
    if x.dtype.kind in "iu":  # Fluid: integers are scaled by integers
        factor = np.int64(factor).astype(x.dtype) if scale_tensor is None else x.dtype.type(factor)
        bias = np.int64(a["bias"]).astype(x.dtype)  # a negative number wraps around
    else:
        bias = a["bias"]
    if not bias:
        # The gradient of a sum scales by 1: no copy is needed, because gradients are never changed in place.
        return x[...] if factor == 1.0 and scale_tensor is None and a.get("op_role", 0) & 1 else x * factor
    return x * factor + bias if a["bias_after_scale"] else (x + bias) * factor


def _infer_increment(c: InferContext) -> None:
    shape = c.shape("X")
    c.check(abs(math.prod(shape)) == 1, f"X must have one element, its shape is {list(shape)}")
    c.same("Out", "X")


@op("increment", "X", "Out", {"step": 1.0}, infer=_infer_increment, grad=passed_on)
def increment(k: Call, x: Array) -> Array:
    """Out = X + step."""
    return x + x.dtype.type(k.attrs["step"])
