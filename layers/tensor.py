"""Make, copy and describe tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import DTypeLike, to_vartype
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = ["cast", "create_global_var", "create_tensor", "fill_constant"]


def create_tensor(dtype: DTypeLike, name: str | None = None, persistable: bool = False) -> Variable:
    """Create an empty variable."""
    helper = LayerHelper("create_tensor", **locals())
    return helper.create_variable(name=helper.name, dtype=dtype, persistable=persistable)


def create_global_var(
    shape: Sequence[int], value: float, dtype: DTypeLike, persistable: bool = False, force_cpu: bool = False,
    name: str | None = None,
) -> Variable:  # fmt: skip
    """Create a variable of the global block that the startup program fills with `value`."""
    helper = LayerHelper("global_var", **locals())
    variable = helper.create_global_variable(
        dtype=dtype, shape=shape, persistable=persistable, name=name, stop_gradient=True
    )
    helper.set_variable_initializer(variable, Constant(value=float(value), force_cpu=force_cpu))
    return variable


def cast(x: Variable, dtype: DTypeLike) -> Variable:
    """Convert to another dtype."""
    helper = LayerHelper("cast", **locals())
    kind = to_vartype(dtype)
    out = helper.create_variable_for_type_inference(kind)
    helper.append_op(
        type="cast", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"in_dtype": x.dtype, "out_dtype": kind}
    )
    return out


def fill_constant(
    shape: Any,
    dtype: DTypeLike,
    value: Any,
    force_cpu: bool = False,
    out: Variable | None = None,
    name: str | None = None,
) -> Variable:
    """Make a tensor filled with `value`; shape and value may be Variables."""
    helper = LayerHelper("fill_constant", **locals())
    kind = to_vartype(dtype)
    inputs: dict[str, Any] = {}
    attrs: dict[str, Any] = {"dtype": kind, "force_cpu": force_cpu}
    if isinstance(value, Variable):
        inputs["ValueTensor"] = [value]
    else:
        attrs["value"] = float(value)
        attrs["str_value"] = str(value)
    if isinstance(shape, Variable):
        inputs["ShapeTensor"] = [shape]
        attrs["shape"] = [-1] * (shape.shape[0] if shape.shape else 1)
    elif any(isinstance(d, Variable) for d in shape):
        dims = [d if isinstance(d, Variable) else fill_constant([1], "int32", d) for d in shape]
        inputs["ShapeTensorList"] = dims
        attrs["shape"] = [-1 if isinstance(d, Variable) else int(d) for d in shape]
    else:
        attrs["shape"] = [int(d) for d in shape]
    out = helper.create_variable_for_type_inference(kind) if out is None else out
    helper.append_op(type="fill_constant", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = True
    return out
