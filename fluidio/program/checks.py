"""Check a layer's arguments, with Fluid's messages: custom layers of scripts import these from `data_feeder`."""

from __future__ import annotations

import warnings
from collections.abc import Container
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType, to_numpy
from fluidio.program.variable import Variable

__all__ = ["check_dtype", "check_type", "check_variable_and_dtype", "convert_dtype"]

_DTYPES = ("bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")


def convert_dtype(dtype: DTypeLike) -> str:
    """Return the name of a dtype: `float32` for VarType.FP32, np.float32 or "float32"."""
    name = _name(dtype)
    if name not in _DTYPES:
        raise ValueError(f"dtype must be any of [{', '.join(_DTYPES)}]")
    return name


def _name(dtype: DTypeLike) -> str:
    if isinstance(dtype, (str, bytes)):
        return dtype.decode() if isinstance(dtype, bytes) else dtype
    is_numpy = isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.generic))
    if not (is_numpy or dtype is bool or isinstance(dtype, VarType)):
        return ""
    try:
        return to_numpy(dtype).name
    except ValueError:
        return ""  # a kind of variable


def check_type(input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = "") -> None:
    """Raise TypeError for an argument that is not of `expected_type` (a type or a tuple of types)."""
    if not isinstance(input, expected_type):
        raise TypeError(
            f"The type of '{input_name}' in {op_name} must be {expected_type}, but received {type(input)}. "
            f"{extra_message}"
        )


def check_dtype(
    input_dtype: Any, input_name: str, expected_dtype: Container[str], op_name: str, extra_message: str = ""
) -> None:
    """Raise TypeError for a dtype that is not among the expected names; warn about float16."""
    name = convert_dtype(input_dtype)
    if name == "float16":
        warnings.warn(f"The data type of '{input_name}' in {op_name} only support float16 in GPU now. {extra_message}")
    if name not in expected_dtype:
        raise TypeError(
            f"The data type of '{input_name}' in {op_name} must be {expected_dtype}, but received {name}. "
            f"{extra_message}"
        )


def check_variable_and_dtype(
    input: Any, input_name: str, expected_dtype: Container[str], op_name: str, extra_message: str = ""
) -> None:
    """Raise TypeError for an argument that is not a Variable or has another dtype."""
    check_type(input, input_name, Variable, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)
