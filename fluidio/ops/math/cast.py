"""Change the dtype of a tensor."""

from __future__ import annotations

import warnings
from types import ModuleType

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _cast_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    attrs = {"in_dtype": forward.attr("out_dtype"), "out_dtype": forward.attr("in_dtype")}
    if to_numpy(attrs["out_dtype"]).kind == "f" and to_numpy(attrs["in_dtype"]).kind in "biu":
        warnings.warn(
            f"like Fluid 1.8.5, fluidio passes the gradient of {x} back through cast to "
            f"{to_numpy(attrs['in_dtype']).name}, which cuts it to whole numbers; set "
            f"{forward.output('Out')[0]}.stop_gradient = True to have none",
            stacklevel=2,
        )
    return [GradOp("cast", {"X": [grad_name(forward.output("Out")[0])]}, {"Out": [grad_name(x)]}, attrs)]


def _infer_cast(c: InferContext) -> None:
    c.set("Out", c.shape("X"), c.attrs["out_dtype"], c.input("X").lod_level)


@op("cast", "X", "Out", {"in_dtype": VarType.FP32, "out_dtype": VarType.FP32}, infer=_infer_cast, grad=_cast_grad)
def cast(k: Call, x: Array) -> Array:
    """Out = X in another dtype."""
    dtype = to_numpy(k.attrs["out_dtype"])
    if dtype == np.float16 and x.dtype != np.float16 and not k.dev.is_gpu:
        return _truncated_half(k.xp, x.astype(np.float32))
    return x.astype(dtype)


def _truncated_half(xp: ArrayLibrary | ModuleType, x: Array) -> Array:
    """Return float32 numbers as float16, truncated toward zero and infinite above 65504.

    Fluid: its CPU kernels truncate, its GPU kernels round.
    """
    with np.errstate(over="ignore"):
        rounded = x.astype(np.float16)
    away = abs(rounded.astype(np.float32)) > abs(x)
    cut = xp.where(away, xp.nextafter(rounded, np.float16(0)), rounded)
    return xp.where(abs(x) > 65504, xp.copysign(np.float16(np.inf), rounded), cut)
