"""Restore NumPy 1's dtypes for arithmetic with scalars, which NumPy 2 (NEP 50) has changed.

Two scalars were combined by dtype, with a Python int as int64 and a float as float64: `np.uint8(200) + 100` was 300 and
is 44 today. A scalar combined with an array did not change the array's dtype unless its kind or value required it:
float32 array / np.sqrt(2.0) was float32 and is float64 today; uint8 array + 300 was uint16 and is an error today.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fluidio.tensor.array import DType

__all__ = ["FUNCTIONS", "NAMES", "OPERATORS", "clip", "in_place", "promoted", "sum_numbers", "two", "where"]

_NUMPY = (np.ndarray, np.generic)
_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_PLAIN = frozenset((int, float, bool, str, bytes, list, tuple))
_PYTHON: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def promoted(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two operands for which NumPy 2 computes what NumPy 1 computed for the given ones."""
    if not isinstance(left, _NUMPY) and not isinstance(right, _NUMPY):
        return left, right
    left_array = isinstance(left, np.ndarray) and left.ndim > 0
    right_array = isinstance(right, np.ndarray) and right.ndim > 0
    if left_array:
        return (left, right) if right_array else (left, _beside(left.dtype, right))
    if right_array:
        return _beside(right.dtype, left), right
    return _scalar(left, right), _scalar(right, left)


def _beside(dtype: DType, value: object) -> Any:
    """Return a scalar in the dtype it was promoted to when combined with an array."""
    if type(value) is int:
        return value if dtype.kind not in "iu" or _fits(dtype, value) else _widened(dtype, value)
    if not isinstance(value, _NUMPY) or dtype.kind not in _RANKS or value.dtype.kind not in _RANKS:
        return value
    if _RANKS[value.dtype.kind] > _RANKS[dtype.kind] or value.dtype.char in "gG":
        return value
    plain = value.item()
    if dtype.kind in "iu" and not _fits(dtype, plain):
        return _widened(dtype, plain)
    if dtype.kind in "fc" and np.result_type(dtype, np.min_scalar_type(plain)) != dtype and type(plain) is not int:
        return value
    return plain


def _fits(dtype: DType, value: int) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max)


def _widened(dtype: DType, value: int) -> Any:
    target = np.result_type(dtype, np.min_scalar_type(value))
    return target.type(value) if target.kind in "iuf" else value


def _scalar(value: Any, other: Any) -> Any:
    """Return a Python number as the NumPy scalar it became when combined with another scalar."""
    make = _PYTHON.get(type(value))
    if make is None or not isinstance(other, _NUMPY) or other.dtype.kind not in _RANKS:
        return value
    if make is np.int64 and not -(1 << 63) <= value < 1 << 63:
        return value
    return make(value)


def two(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function of two operands with the dtypes of NumPy 1."""

    def with_promotion(left: object, right: object, *args: object, **kwargs: object) -> Any:
        return function(*promoted(left, right), *args, **kwargs)

    return with_promotion


def _add(left: Any, right: Any) -> Any:
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        left, right = promoted(left, right)
    return left + right


def _subtract(left: Any, right: Any) -> Any:
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        left, right = promoted(left, right)
    return left - right


def _multiply(left: Any, right: Any) -> Any:
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        left, right = promoted(left, right)
    return left * right


def _divide(left: Any, right: Any) -> Any:
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        left, right = promoted(left, right)
    return left / right


def _floor_divide(left: Any, right: Any) -> Any:
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        left, right = promoted(left, right)
    return left // right


def _power(left: Any, right: Any) -> Any:
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        left, right = promoted(left, right)
    return left**right


def _shift_left(left: Any, right: Any) -> Any:
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        left, right = promoted(left, right)
    return left << right


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": _add,
    "Sub": _subtract,
    "Mult": _multiply,
    "Div": _divide,
    "FloorDiv": _floor_divide,
    "Pow": _power,
    "LShift": _shift_left,
}
"""An operator of the syntax tree -> its function."""

_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Pow": operator.ipow,
    "LShift": operator.ilshift,
}


def in_place(name: str, left: object, right: object) -> Any:
    """Return the value of `left` after an assignment such as `left += right`."""
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        left, right = promoted(left, right)
    return _IN_PLACE[name](left, right)


def where(condition: Any, *choices: Any, **kwargs: Any) -> Any:
    """Return numpy.where(...)."""
    return np.where(condition, *(promoted(*choices) if len(choices) == 2 else choices), **kwargs)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return numpy.clip(...)."""
    return np.clip(a, promoted(a, a_min)[1], promoted(a, a_max)[1], *args, **kwargs)


def sum_numbers(iterable: Iterable[Any], /, start: Any = 0) -> Any:
    """Return the builtin sum(...), with NumPy's small floats and integers added as large ones."""
    values = list(iterable)
    if not any(isinstance(value, np.generic) for value in values):
        return sum(values, start)
    total = start
    for value in values:
        total = OPERATORS["Add"](total, value)
    return total


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "numpy.add": two(np.add),
    "numpy.subtract": two(np.subtract),
    "numpy.multiply": two(np.multiply),
    "numpy.divide": two(np.divide),
    "numpy.true_divide": two(np.true_divide),
    "numpy.power": two(np.power),
    "numpy.maximum": two(np.maximum),
    "numpy.minimum": two(np.minimum),
    "numpy.where": where,
    "numpy.clip": clip,
}
"""A function of NumPy -> the same with the dtypes of NumPy 1."""

NAMES = {f"__fluidio_{name}__": function for name, function in OPERATORS.items()}
"""The operators under the names that rewritten modules call."""
