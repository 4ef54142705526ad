"""Make, copy and describe tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.era import era
from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.layers._create.joined import join_array
from fluidio.layers.arguments import apply, as_int32, check_part, check_variable, dims_as_int32, plain_dims
from fluidio.param_attr import ParamAttr
from fluidio.program import Variable
from fluidio.program.arguments import ShapeLike, Sizes

__all__ = [
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "assign",
    "cast",
    "concat",
    "create_global_var",
    "create_parameter",
    "create_tensor",
    "diag",
    "eye",
    "fill_constant",
    "fill_constant_batch_size_like",
    "has_inf",
    "has_nan",
    "isfinite",
    "linspace",
    "ones",
    "ones_like",
    "range",
    "reverse",
    "sums",
    "zeros",
    "zeros_like",
]


def create_tensor(dtype: DTypeLike, name: str | None = None, persistable: bool = False) -> Variable:
    """Create an empty variable."""
    helper = LayerHelper("create_tensor", **locals())
    return helper.create_variable(name=helper.name, dtype=dtype, persistable=persistable)


def create_global_var(
    shape: Sequence[int],
    value: float,
    dtype: DTypeLike,
    persistable: bool = False,
    force_cpu: bool = False,
    name: str | None = None,
) -> Variable:
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
    value: float | str | Variable,
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
        attrs["str_value"] = str(int(value) if kind in (VarType.INT32, VarType.INT64) else float(value))
    if isinstance(shape, Variable):
        inputs["ShapeTensor"] = [as_int32(shape)]
        attrs["shape"] = [-1] * (shape.shape[0] if shape.shape else 1)
    elif any(isinstance(d, Variable) for d in shape):
        inputs["ShapeTensorList"] = dims_as_int32(shape)
        attrs["shape"] = plain_dims(shape)
    else:
        attrs["shape"] = plain_dims(shape)
    out = helper.create_variable_for_type_inference(kind) if out is None else out
    helper.append_op(type="fill_constant", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = True
    return out


def create_parameter(
    shape: Sequence[int],
    dtype: DTypeLike,
    name: str | None = None,
    attr: object = None,
    is_bias: bool = False,
    default_initializer: object = None,
) -> Variable:
    """Create a parameter that is not part of a layer."""
    helper = LayerHelper("create_parameter", name=name)
    if attr is None:
        attr = ParamAttr(name=name)
    parameter: Variable = helper.create_parameter(
        attr, shape, dtype, is_bias=is_bias, default_initializer=default_initializer
    )
    return parameter


def assign(input: object, output: Variable | None = None) -> Variable:
    """Copy a Variable or a NumPy array (at most 1M elements) into a tensor."""
    helper = LayerHelper("assign")
    if isinstance(input, Variable):
        if output is None:
            output = helper.create_variable_for_type_inference(input.dtype)
        helper.append_op(type="assign", inputs={"X": [input]}, outputs={"Out": [output]})
        return output
    if not isinstance(input, (np.ndarray, np.generic)):
        raise TypeError(f"assign: input must be a Variable or a NumPy array, got {type(input).__name__}")
    values = np.asarray(input)
    if values.dtype == np.float64:
        values = values.astype(np.float32)  # Fluid: doubles become floats
    names = {"float32": "fp32_values", "int32": "int32_values", "int64": "int64_values", "bool": "bool_values"}
    if values.dtype.name not in names:
        raise TypeError(f"assign: the array is {values.dtype}, but assign takes only {', '.join(sorted(names))}")
    if values.size > 1024 * 1024:
        raise ValueError(f"assign: {values.size:,} numbers are too many for a program: feed them, or use layers.load")
    if output is None:
        output = helper.create_variable_for_type_inference(to_vartype(values.dtype))
    attrs = {
        "dtype": to_vartype(values.dtype),
        "shape": list(values.shape),
        names[values.dtype.name]: values.reshape(-1).tolist(),
    }
    helper.append_op(type="assign_value", outputs={"Out": [output]}, attrs=attrs)
    return output


def concat(input: Any, axis: Any = 0, name: str | None = None) -> Variable:
    """Join tensors along axis."""
    helper = LayerHelper("concat", name=name)
    if isinstance(input, Variable) and input.type is VarType.LOD_TENSOR_ARRAY:
        return join_array(helper, input, axis, use_stack=False)
    parts = list(input) if isinstance(input, (list, tuple)) else [input]
    inputs: dict[str, Any] = {"X": [check_part("concat", "input", part) for part in parts]}
    attrs: dict[str, Any] = {}
    if isinstance(axis, Variable):
        axis.stop_gradient = True
        inputs["AxisTensor"] = [axis]
    else:
        attrs["axis"] = axis
    out = helper.create_variable_for_type_inference(parts[0].dtype)
    helper.append_op(type="concat", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def sums(input: Any, out: Variable | None = None) -> Variable:
    """The sum of a list of tensors; written to `out` if given."""
    helper = LayerHelper("sum")
    parts = list(input) if isinstance(input, (list, tuple)) else [input]
    if out is None:
        if era().checks_layer_arguments and len({check_part("sums", "input", part).dtype for part in parts}) > 1:
            raise ValueError(f"sums: the inputs must have the same dtype, got {[part.dtype.name for part in parts]}")
        out = helper.create_variable_for_type_inference(check_variable("sums", "input", parts[0]).dtype)
    helper.append_op(type="sum", inputs={"X": input}, outputs={"Out": [out]}, attrs={"use_mkldnn": False})
    return out


def zeros(shape: ShapeLike, dtype: DTypeLike, force_cpu: bool = False) -> Variable:
    """A tensor of zeros."""
    return fill_constant(shape, dtype, _number(0.0, dtype), force_cpu)


def ones(shape: object, dtype: DTypeLike, force_cpu: bool = False) -> Variable:
    """A tensor of ones."""
    return fill_constant(shape, dtype, _number(1.0, dtype), force_cpu)


def _number(value: float, dtype: DTypeLike) -> Any:
    return value if to_vartype(dtype).name.startswith("FP") else int(value)


def zeros_like(x: Variable, out: Variable | None = None) -> Variable:
    """Zeros with the shape of x."""
    helper = LayerHelper("zeros_like")
    if out is None:
        out = helper.create_variable_for_type_inference(check_variable("zeros_like", "x", x).dtype)
    helper.append_op(type="fill_zeros_like", inputs={"X": [x]}, outputs={"Out": [out]})
    out.stop_gradient = True
    return out


def ones_like(x: Variable, out: Variable | None = None) -> Variable:
    """Ones with the shape of x."""
    helper = LayerHelper("ones_like")
    if out is None:
        out = helper.create_variable_for_type_inference(check_variable("ones_like", "x", x).dtype)
    helper.append_op(type="fill_any_like", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"value": 1.0})
    return out


def fill_constant_batch_size_like(
    input: Variable,
    shape: Sequence[int],
    dtype: DTypeLike,
    value: float | str,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    force_cpu: bool = False,
) -> Variable:
    """A tensor filled with `value`, with as many rows as the input (sequences, if the input has LoD)."""
    helper = LayerHelper("fill_constant_batch_size_like")
    kind = to_vartype(dtype)
    out = helper.create_variable_for_type_inference(kind)
    helper.append_op(
        type="fill_constant_batch_size_like",
        inputs={"Input": [check_variable("fill_constant_batch_size_like", "input", input)]},
        outputs={"Out": [out]},
        attrs={
            "shape": plain_dims(shape),
            "dtype": kind,
            "value": float(value),
            "str_value": str(float(value)) if kind.name.startswith("FP") else str(int(value)),
            "input_dim_idx": input_dim_idx,
            "output_dim_idx": output_dim_idx,
            "force_cpu": force_cpu,
        },
    )
    out.stop_gradient = True
    return out


def _arg(op_type: str, x: Variable, axis: int) -> Variable:
    helper = LayerHelper(op_type)
    check_variable(op_type, "x", x)
    out = helper.create_variable_for_type_inference("int64")
    helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"axis": axis})
    out.stop_gradient = True
    return out


def argmax(x: Variable, axis: int = 0) -> Variable:
    """The index of the largest entry along axis."""
    return _arg("arg_max", x, axis)


def argmin(x: Variable, axis: int = 0) -> Variable:
    """The index of the smallest entry along axis."""
    return _arg("arg_min", x, axis)


def argsort(
    input: Variable, axis: int = -1, descending: bool = False, name: str | None = None
) -> tuple[Variable, Variable]:
    """The entries sorted along axis, and the index each came from."""
    helper = LayerHelper("argsort", name=name)
    out = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    indices = helper.create_variable_for_type_inference("int64", stop_gradient=True)
    helper.append_op(
        type="argsort",
        inputs={"X": [input]},
        outputs={"Out": [out], "Indices": [indices]},
        attrs={"axis": axis, "descending": descending},
    )
    return out, indices


def reverse(x: Variable, axis: Sizes) -> Variable:
    """x reversed along axis (one or several)."""
    helper = LayerHelper("reverse")
    axes = [axis] if isinstance(axis, int) else list(axis)
    return apply(helper, "reverse", check_variable("reverse", "x", x), {"axis": axes})


def _check(op_type: str, x: Variable) -> Variable:
    helper = LayerHelper(op_type)
    out = helper.create_variable_for_type_inference("bool" if op_type == "isfinite" else x.dtype)
    helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]})
    return out


def isfinite(x: Variable) -> Variable:
    """Whether every element is finite, as one bool."""
    return _check("isfinite", x)


def has_inf(x: Variable) -> Variable:
    """Whether any element is infinite, as one bool."""
    return _check("isinf", x)


def has_nan(x: Variable) -> Variable:
    """Whether any element is not a number, as one bool."""
    return _check("isnan", x)


def _as_scalar(value: float | Variable, dtype: DTypeLike) -> Variable:
    if isinstance(value, Variable):
        return value if value.dtype == to_vartype(dtype) else cast(value, dtype)
    return fill_constant([1], dtype, value)


def range(start: float | Variable, end: float | Variable, step: float | Variable, dtype: DTypeLike) -> Variable:
    """start, start + step, ... up to but not including end."""
    helper = LayerHelper("range")
    bounds = [_as_scalar(value, dtype) for value in (start, end, step)]
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type="range",
        inputs={slot: [value] for slot, value in zip(("Start", "End", "Step"), bounds)},
        outputs={"Out": [out]},
    )
    out.stop_gradient = True
    return out


def arange(
    start: float | Variable,
    end: float | Variable | None = None,
    step: float | Variable = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Variable:
    """start, start + step, ... up to but not including end; float32 by default; with one argument, from 0."""
    if end is None:
        start, end = 0, start
    return range(start, end, step, "float32" if dtype is None else dtype)


def linspace(start: float | Variable, stop: float | Variable, num: int | Variable, dtype: DTypeLike) -> Variable:
    """num evenly spaced numbers from start to stop, both included."""
    helper = LayerHelper("linspace")
    first, last = (_as_scalar(value, dtype) for value in (start, stop))
    count = _as_scalar(num, "int32")
    out = helper.create_variable_for_type_inference(dtype)
    inputs = {"Start": [first], "Stop": [last], "Num": [count]}
    helper.append_op(type="linspace", inputs=inputs, outputs={"Out": [out]})
    return out


def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: Sequence[int] | None = None,
    dtype: DTypeLike = "float32",
) -> Variable:
    """An identity matrix; batch_shape repeats it."""
    from fluidio.layers._shape.manipulate import stack

    helper = LayerHelper("eye")
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type="eye",
        outputs={"Out": [out]},
        attrs={
            "num_rows": num_rows,
            "num_columns": num_rows if num_columns is None else num_columns,
            "dtype": to_vartype(dtype),
        },
    )
    out.stop_gradient = True
    for count in reversed(list(batch_shape or [])):
        if not isinstance(count, int) or count <= 0:
            raise TypeError(f"batch_shape must be a list of ints above 0, got {batch_shape!r}")
        out = stack([out] * count, axis=0)
    return out


def diag(diagonal: object) -> Variable:
    """A matrix with the given diagonal (a Variable or a numpy array)."""
    helper = LayerHelper("diag")
    if not isinstance(diagonal, Variable):
        diagonal = assign(diagonal)
    out = helper.create_variable_for_type_inference(diagonal.dtype)
    helper.append_op(type="diag", inputs={"Diagonal": [diagonal]}, outputs={"Out": [out]})
    out.stop_gradient = True
    return out
