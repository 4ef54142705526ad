"""Tensors of the inference API: buffers with a shape, a dtype and a LoD as offsets."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.tensor.array import Array

__all__ = ["PaddleBuf", "PaddleDType", "PaddleTensor", "dtype_of"]


class PaddleDType(enum.IntEnum):
    """Dtypes of the inference API."""

    FLOAT32 = 0
    INT64 = 1
    INT32 = 2

    def __str__(self) -> str:
        return f"PaddleDType.{self.name}"


_NUMPY: dict[PaddleDType, np.dtype[Any]] = {
    PaddleDType.FLOAT32: np.dtype(np.float32),
    PaddleDType.INT64: np.dtype(np.int64),
    PaddleDType.INT32: np.dtype(np.int32),
}
_OWN = {dtype: kind for kind, dtype in _NUMPY.items()}


def dtype_of(array: Array) -> PaddleDType:
    try:
        return _OWN[array.dtype]
    except KeyError:
        raise TypeError(f"a PaddleTensor takes float32, int64 or int32, got {array.dtype}") from None


class PaddleBuf:
    """Raw memory: numbers without a shape."""

    def __init__(self, data: object = 0) -> None:
        self._array: Any = np.empty(0, np.float32)
        if isinstance(data, (int, np.integer)):
            self.resize(int(data))
        else:
            self.reset(data)

    def reset(self, data: object) -> None:
        """Hold these numbers; a list of floats is float32, of ints int64."""
        if isinstance(data, bytes):
            self._array = np.frombuffer(data, np.uint8).copy()
            return
        array = np.asarray(data)
        if not isinstance(data, np.ndarray):
            array = array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
        self._array = np.ascontiguousarray(array).reshape(-1)

    def resize(self, length: int) -> None:
        """Hold `length` bytes of zeros."""
        self._array = np.zeros(length, np.uint8)

    def empty(self) -> bool:
        return not self._array.size

    def length(self) -> int:
        """Return the number of bytes."""
        return int(self._array.nbytes)

    def view(self, dtype: object) -> Any:
        """Return the memory as an array of a dtype."""
        return self._array.view(dtype)

    def float_data(self) -> list[float]:
        numbers: list[float] = self.view(np.float32).tolist()
        return numbers

    def int64_data(self) -> list[int]:
        numbers: list[int] = self.view(np.int64).tolist()
        return numbers

    def int32_data(self) -> list[int]:
        numbers: list[int] = self.view(np.int32).tolist()
        return numbers

    def tolist(self, dtype: str = "float32") -> list[Any]:
        """Return the numbers: dtype is "float32", "int64" or "int32"."""
        if dtype not in ("float32", "int64", "int32"):
            raise ValueError(f"dtype must be float32, int64 or int32, got {dtype!r}")
        numbers: list[Any] = self.view(np.dtype(dtype)).tolist()
        return numbers


class PaddleTensor:
    """A named input or output of a predictor.

    Attributes:
        name, shape, dtype: as they say.
        lod: offsets, a list for each level.
        data: the PaddleBuf.
    """

    def __init__(
        self, data: object = None, name: str = "", lod: Sequence[Sequence[int]] = (), copy: bool = True
    ) -> None:
        self.name = name
        self.shape: list[int] = []
        self.dtype = PaddleDType.FLOAT32
        self.lod = [list(level) for level in lod]
        self.data = PaddleBuf()
        if data is not None:
            array = np.asarray(data)
            self.dtype = dtype_of(array)
            self.shape = list(array.shape)
            self.data.reset(array.copy() if copy else array)

    def as_ndarray(self) -> Any:
        """Return the numbers in their shape."""
        return self.data.view(_NUMPY[self.dtype]).reshape(self.shape)
