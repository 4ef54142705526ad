"""The type and dtype checks of Fluid 1.8's layers, which users' layers call too."""

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
    """Return the name of a dtype given as a name, a NumPy dtype or a VarType."""
    if isinstance(dtype, VarType):
        if dtype in _NAMES:
            return _NAMES[dtype]
    elif isinstance(dtype, (str, np.dtype)) or (isinstance(dtype, type) and issubclass(dtype, (np.generic, bool))):
        name = str(dtype) if isinstance(dtype, str) else np.dtype(dtype).name
        if name in _NAMES.values():
            return name
    raise ValueError(f"dtype must be one of {', '.join(_NAMES.values())}, got {dtype!r}")


def check_type(input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = "") -> None:
    """Raise TypeError if an argument is not of an expected type."""
    if not isinstance(input, expected_type):
        found = type(input).__name__
        raise TypeError(f"{op_name}: {input_name} must be {_any_of(expected_type)}, got {found}{_more(extra_message)}")


def check_dtype(
    input_dtype: Any, input_name: str, expected_dtype: Container[str], op_name: str, extra_message: str = ""
) -> None:
    """Raise TypeError if a dtype is not among the expected ones."""
    found = convert_dtype(input_dtype)
    if found not in expected_dtype:
        wanted = _any_of(expected_dtype)
        raise TypeError(f"{op_name}: {input_name} must have dtype {wanted}, got {found}{_more(extra_message)}")


def _any_of(kinds: Any) -> str:
    listed = kinds if isinstance(kinds, (tuple, list, set, frozenset)) else (kinds,)
    *most, last = ["None" if kind is type(None) else getattr(kind, "__name__", str(kind)) for kind in listed]
    return f"{', '.join(most)} or {last}" if most else last


def _more(message: str) -> str:
    return f": {message}" if message else ""


def check_variable_and_dtype(
    input: Any, input_name: str, expected_dtype: Container[str], op_name: str, extra_message: str = ""
) -> None:
    """Raise TypeError if an argument is not a Variable of an expected dtype."""
    check_type(input, input_name, Variable, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)
