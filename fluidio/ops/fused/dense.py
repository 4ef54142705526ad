"""Matrix products fused with the ops that follow: fc, fusion_repeated_fc_relu, fusion_squared_mat_sub."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from fluidio.ops.compiled.products import product
from fluidio.ops.fused.mkldnn import check_is_float
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.math.activation import sigmoid
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__ = ["activated"]

_FC: dict[str, Any] = {
    "in_num_col_dims": 1,
    "activation_type": "",
    "padding_weights": False,
    "use_quantizer": False,
    "Scale_in": 1.0,
    "Scale_weights": [1.0],
    "Scale_out": 1.0,
    "force_fp32_output": False,
}


def activated(xp: ArrayLibrary | ModuleType, x: Array, kind: str) -> Array:
    """Return an activation by its name in fused ops."""
    if kind == "relu":
        return xp.maximum(x, 0)
    if kind == "tanh":
        return xp.tanh(x)
    if kind == "sigmoid":
        return sigmoid(xp, x)
    return x


def _infer_fc(c: InferContext) -> None:
    x, dims = c.shape("Input"), c.attrs["in_num_col_dims"]
    columns = c.shape("W")[1] - (4 if c.attrs["padding_weights"] else 0)
    c.set("Out", (*x[:dims], columns), c.dtype("Input"), c.input("Input").lod_level)


@op("fc", "Input W Bias?", "Out", _FC, infer=_infer_fc, grad=False)
def fc(k: Call, x: Any, w: Any, bias: Any) -> Any:
    """Out = the activation of Input @ W + Bias."""
    check_is_float(x)
    dims = k.attrs["in_num_col_dims"]
    weight = w[:-4, :-4] if k.attrs["padding_weights"] else w
    out = product(x.reshape(math.prod(x.shape[:dims]), -1), weight)
    if bias is not None:
        out += bias.reshape(-1)
    return activated(k.xp, out, k.attrs["activation_type"]).reshape(*x.shape[:dims], weight.shape[1])


def _infer_repeated(c: InferContext) -> None:
    c.set("Out", (c.shape("X")[0], c.inputs("W")[-1].shape[1]), c.dtype("X"), c.input("X").lod_level)


@op("fusion_repeated_fc_relu", "X W* Bias*", "ReluOut* Out", infer=_infer_repeated, grad=False)
def fusion_repeated_fc_relu(k: Call, x: Array, weights: list[Array], biases: list[Array]) -> KernelResult:
    """Out = X after several fully connected layers with relu."""
    found = []
    for weight, bias in zip(weights, biases):
        x = k.xp.maximum(product(x, weight) + bias.reshape(-1), 0)
        found.append(x)
    return found[:-1], found[-1]


def _infer_mat_sub(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    for slot, shape in (("SquaredX", x), ("SquaredY", y), ("SquaredXY", (x[0], y[1])), ("Out", (x[0], y[1]))):
        c.set(slot, shape, c.dtype("X"))


@op(
    "fusion_squared_mat_sub",
    "X Y",
    "SquaredX SquaredY SquaredXY Out",
    {"scalar": 1.0},
    infer=_infer_mat_sub,
    grad=False,
    lod="none",
)
def fusion_squared_mat_sub(k: Call, x: Array, y: Array) -> tuple[Array, ...]:
    """Out = scalar * ((X @ Y)^2 - X^2 @ Y^2)."""
    xx, yy, xy = x * x, y * y, product(x, y)
    squared = xy * xy
    return xx, yy, squared, (squared - xx @ yy) * x.dtype.type(k.attrs["scalar"])
