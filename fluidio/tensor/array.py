"""The types of arrays and of array libraries, whether NumPy or CuPy."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "ArrayFunction", "ArrayLibrary", "DType"]

Array = npt.NDArray[Any]
"""An array on the host or on a device.

CuPy's arrays do what NumPy's do, so NumPy's type stands for both. A Protocol would say so more exactly, but pyright
takes minutes to match `ndarray` with a Protocol that has all the operators.
"""

DType = np.dtype[Any]
"""A dtype of NumPy's, known only when the program runs."""


class ArrayFunction(Protocol):
    """A function, ufunc, dtype or submodule of an array library."""

    def __call__(self, *args: Any, **kwargs: Any) -> Array: ...

    def __getattr__(self, name: str, /) -> ArrayFunction: ...


class ArrayLibrary(Protocol):
    """NumPy or CuPy."""

    def __getattr__(self, name: str, /) -> ArrayFunction: ...
