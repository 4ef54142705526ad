"""Handle layers' arguments: shapes that contain Variables, one number for all dims."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable
from fluidio.program.arguments import Attrs

__all__ = []


_WARNED: set[tuple[str, str]] = set()


def warn_ignored(layer: str, keyword: str) -> None:
    """Warn once for each layer and keyword that an argument of older versions has no effect."""
    if (layer, keyword) not in _WARNED:
        _WARNED.add((layer, keyword))
        warnings.warn(f"{layer}: {keyword} has no effect", stacklevel=3)


def warn_like_fluid(layer: str, what: str) -> None:
    """Warn once for each layer that an argument has no effect because it has none in Fluid 1.8.5."""
    if (layer, "") not in _WARNED:
        _WARNED.add((layer, ""))
        warnings.warn(f"{layer}: like Fluid 1.8.5, {what}", stacklevel=3)


def check_variable(layer: str, name: str, value: object) -> Variable:
    """Return a layer's argument if it is a Variable (in 1.8, or a list of one); TypeError otherwise."""
    if isinstance(value, list) and era().checks_layer_arguments and all(isinstance(v, Variable) for v in value):
        if len(value) > 1:
            raise ValueError(f"{layer}: {name} takes one Variable, got {len(value)}")
        value = value[0] if value else None
    if not isinstance(value, Variable):
        raise TypeError(f"{layer}: {name} must be a Variable, got {type(value).__name__}")
    return value


def check_part(layer: str, name: str, value: object) -> Variable:
    """Return an element of an argument that is a list of Variables; TypeError if it is not a Variable."""
    if not isinstance(value, Variable):
        raise TypeError(f"{layer}: {name} must be a list of Variables, but one entry is {type(value).__name__}")
    return value


def per_dim(value: Any, dims: int, what: str) -> list[int]:
    """Return one integer for each dim from a number or a list."""
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        numbers = [whole(v) for v in value]
        if len(numbers) == 1:
            return numbers * dims
        if len(numbers) != dims:
            raise ValueError(f"{what} must be one number or {dims}, got {list(value)}")
        return numbers
    number: Any = value
    return [int(number)] * dims


def as_list(values: object) -> Any:
    """Return a sequence of numbers as a list; the op refuses anything else, and numbers of another type."""
    return list(values) if isinstance(values, (list, tuple, range, np.ndarray)) and np.ndim(values) else values


def has_variables(values: object) -> bool:
    return isinstance(values, (list, tuple)) and any(isinstance(v, Variable) for v in values)


def whole(value: Any) -> int:
    """Return an entry of a shape as an int; an array of one element, which NumPy does not convert, is its number."""
    return int(value.item() if isinstance(value, np.ndarray) and value.size == 1 else value)


def plain_dims(values: Sequence[Any]) -> list[int]:
    """Return a shape for an attribute: Variables become -1."""
    return [-1 if isinstance(v, Variable) else whole(v) for v in values]


def dims_as_variables(helper: LayerHelper, values: Sequence[Any], dtype: str = "int32") -> list[Variable]:
    """Return a shape as a list of one-element Variables; plain numbers become constants."""
    from fluidio.layers._create.tensors import fill_constant

    found = []
    for value in values:
        if isinstance(value, Variable):
            value.stop_gradient = True
            found.append(value)
        else:
            out = helper.create_variable_for_type_inference(dtype)
            found.append(fill_constant([1], dtype, int(value), force_cpu=True, out=out))
    return found


def as_int32(dims: Variable) -> Variable:
    """Return a shape, or a dim of it, as a constant of int32."""
    from fluidio.layers._create.tensors import cast

    dims.stop_gradient = True
    return cast(dims, "int32") if dims.dtype is VarType.INT64 else dims


def dims_as_int32(values: Sequence[Any]) -> list[Variable]:
    """Return a shape as one-element int32 Variables, as `fill_constant` and `gaussian_random` require."""
    from fluidio.layers._create.tensors import fill_constant

    return [as_int32(v) if isinstance(v, Variable) else fill_constant([1], "int32", v, force_cpu=True) for v in values]


def apply(helper: LayerHelper, op_type: str, x: Variable, attrs: Attrs | None = None) -> Variable:
    """Append an op with one input and one output "Out"; return the output."""
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]}, attrs=attrs)
    return out
