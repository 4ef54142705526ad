"""The argument checks of Fluid 1.8's layers, which users' layers call too: types and dtypes."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.program.variable import Variable

__all__ = ["check_dtype", "check_type", "check_variable_and_dtype", "convert_dtype"]

_NAMES = {
    VarType.BOOL: "bool",
    VarType.FP16: "float16",
    VarType.FP32: "float32",
    VarType.FP64: "float64",
    VarType.INT8: "int8",
    VarType.INT16: "int16",
    VarType.INT32: "int32",
    VarType.INT64: "int64",
    VarType.UINT8: "uint8",
}


def convert_dtype(dtype: Any) -> str:
    """Return the name of a dtype that is given as a name, a NumPy dtype or a VarType."""
    if isinstance(dtype, VarType):
        if dtype in _NAMES:
            return _NAMES[dtype]
    elif isinstance(dtype, (str, np.dtype)) or (isinstance(dtype, type) and issubclass(dtype, (np.generic, bool))):
        name = str(dtype) if isinstance(dtype, str) else np.dtype(dtype).name
        if name in _NAMES.values():
            return name
    raise ValueError(f"dtype must be any of [{', '.join(_NAMES.values())}], got {dtype!r}")


def check_type(input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = "") -> None:
    """Raise TypeError if an argument is not of an expected type."""
    if not isinstance(input, expected_type):
        raise TypeError(
            f"The type of '{input_name}' in {op_name} must be {expected_type}, but received {type(input)}. "
            f"{extra_message}"
        )


def check_dtype(
    input_dtype: Any, input_name: str, expected_dtype: Container[str], op_name: str, extra_message: str = ""
) -> None:
    """Raise TypeError if a dtype is not among the expected ones."""
    found = convert_dtype(input_dtype)
    if found not in expected_dtype:
        raise TypeError(
            f"The data type of '{input_name}' in {op_name} must be {expected_dtype}, but received {found}. "
            f"{extra_message}"
        )


def check_variable_and_dtype(
    input: Any, input_name: str, expected_dtype: Container[str], op_name: str, extra_message: str = ""
) -> None:
    """Raise TypeError if an argument is not a Variable of an expected dtype."""
    check_type(input, input_name, Variable, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)
