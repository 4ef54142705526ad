"""The arrays `exe.run` returns, which still convert with float(), int() and %f."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["FetchedArray"]


class FetchedArray(np.ndarray[Any, np.dtype[Any]]):  # not the alias: from NumPy 2.5 on it is not a class
    """An ndarray of one element is also a number.

    Every Fluid loss has shape [1] and scripts write `float(loss)`; NumPy 2.4 refuses that. Otherwise a plain ndarray.
    """

    def __float__(self) -> float:
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def __complex__(self) -> complex:
        return complex(self._single())

    def __index__(self) -> int:
        value = self._single()
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(value)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._single(), digits) if self.size == 1 else np.round(np.asarray(self), digits or 0)

    def __format__(self, spec: str) -> str:
        return format(self._single(), spec) if spec and self.size == 1 else format(np.asarray(self), spec)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return a NumPy scalar for a sum or a mean, as a plain array does."""
        return array[()] if array.ndim == 0 else array.view(FetchedArray)

    def _single(self) -> Any:
        if self.size != 1:
            raise TypeError(f"only arrays of one element convert to a number, this one has shape {self.shape}")
        return self.item()

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()
