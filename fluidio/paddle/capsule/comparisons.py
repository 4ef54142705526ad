"""NumPy's comparisons, which used to take the dtype in which they compare; what they return is bool."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__: list[str] = []


def _in_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def compare(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if dtype is None or np.dtype(dtype).kind in "bO":
            return function(*args, dtype=dtype, **kwargs)
        left, right, *rest = args
        return function(*(_cast(operand, dtype) for operand in (left, right)), *rest, **kwargs)

    return compare


def _cast(operand: Any, dtype: Any) -> Any:
    casting: Any = "same_kind" if isinstance(operand, (np.ndarray, np.generic)) else "unsafe"
    return np.asarray(operand).astype(dtype, casting=casting)


equal = _in_dtype(np.equal)
greater = _in_dtype(np.greater)
greater_equal = _in_dtype(np.greater_equal)
less = _in_dtype(np.less)
less_equal = _in_dtype(np.less_equal)
logical_and = _in_dtype(np.logical_and)
logical_or = _in_dtype(np.logical_or)
not_equal = _in_dtype(np.not_equal)
