"""Fluid's VarType numbers and the NumPy dtypes behind them."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DTypeLike", "VarType", "convert_np_dtype_to_dtype_", "to_numpy", "to_vartype"]


class VarType(enum.IntEnum):
    """`core.VarDesc.VarType`: dtypes and kinds of variables share one numbering."""

    BOOL = 0
    INT16 = 1
    INT32 = 2
    INT64 = 3
    FP16 = 4
    FP32 = 5
    FP64 = 6
    LOD_TENSOR = 7
    SELECTED_ROWS = 8
    FEED_MINIBATCH = 9
    FETCH_LIST = 10
    STEP_SCOPES = 11
    LOD_RANK_TABLE = 12
    LOD_TENSOR_ARRAY = 13
    PLACE_LIST = 14
    READER = 15
    RAW = 17
    TUPLE = 18
    SIZE_T = 19
    UINT8 = 20
    INT8 = 21

    def __repr__(self) -> str:
        return f"VarType.{self.name}"

    __str__ = __repr__


DTypeLike = VarType | int | npt.DTypeLike

_NUMPY: dict[VarType, np.dtype[Any]] = {
    VarType.BOOL: np.dtype(np.bool_),
    VarType.INT16: np.dtype(np.int16),
    VarType.INT32: np.dtype(np.int32),
    VarType.INT64: np.dtype(np.int64),
    VarType.FP16: np.dtype(np.float16),
    VarType.FP32: np.dtype(np.float32),
    VarType.FP64: np.dtype(np.float64),
    VarType.UINT8: np.dtype(np.uint8),
    VarType.INT8: np.dtype(np.int8),
    VarType.SIZE_T: np.dtype(np.uint64),
}
_VARTYPE: dict[np.dtype[Any], VarType] = {dtype: kind for kind, dtype in _NUMPY.items() if kind is not VarType.SIZE_T}
_VARTYPE[np.dtype(np.uint16)] = VarType.INT16  # Fluid: the 16 bits are kept under the signed name


def to_numpy(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the NumPy dtype of a VarType, a name, or anything np.dtype accepts."""
    if isinstance(dtype, VarType):
        try:
            return _NUMPY[dtype]
        except KeyError:
            raise ValueError(f"{dtype!r} is a type of variable, not a dtype") from None
    if isinstance(dtype, int):
        return to_numpy(VarType(dtype))
    return np.dtype(dtype)


def to_vartype(dtype: DTypeLike) -> VarType:
    """Return the VarType of a NumPy dtype, a name, or a VarType (or its number)."""
    if isinstance(dtype, VarType):
        return dtype
    if isinstance(dtype, int):
        if isinstance(dtype, bool) or dtype not in VarType._value2member_map_:
            raise TypeError(f"unknown dtype {dtype!r}: use 'float32', 'int64', ...")
        return VarType(dtype)
    return convert_np_dtype_to_dtype_(dtype)


def convert_np_dtype_to_dtype_(np_dtype: npt.DTypeLike) -> VarType:
    """Return the VarType of a NumPy dtype; ValueError for one that Fluid lacks, TypeError for anything but a dtype."""
    try:
        return _VARTYPE[np.dtype(np_dtype).newbyteorder("=")]
    except KeyError:
        raise ValueError(f"Fluid has no dtype for NumPy's {np_dtype}") from None
    except (TypeError, ValueError):
        raise TypeError(f"unknown dtype {np_dtype!r}: use 'float32', 'int64', ...") from None
