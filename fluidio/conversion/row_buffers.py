"""Buffers that collect the values of one slot, row by row, and return them as a column."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import Column
from fluidio.recordio.files.schema import Field
from fluidio.recordio.write.narrowing import is_exact, unmasked
from fluidio.tensor.array import Array, DType

__all__ = ["Buffer", "buffer_of", "cast", "short"]


class Buffer(Protocol):
    """Collects the values of one slot."""

    def add(self, value: object) -> int:
        """Take a value and return its size in bytes."""
        ...

    def convert(self, value: object) -> Any:
        """Return the items of a value as an array or bytes; a list of such where sequences are nested.

        Raises:
            ConversionError: the slot does not take it.
        """
        ...

    def take(self) -> Column:
        """Return all values as a column and start over."""
        ...


def short(value: object) -> str:
    """Return a value and its type in a few words."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def buffer_of(slot: Field, max_rows: int, max_bytes: int) -> Buffer:
    """Return a buffer for the values of a slot."""
    if slot.lod_level == 2:
        return _Nested(slot)
    if slot.kind in ("str", "bytes"):
        return _Texts(slot)
    if slot.lod_level == 1:
        return _Lists(slot)
    if slot.kind in ("int", "float", "bool"):
        return _Numbers(slot)
    return _Arrays(slot, max_rows, max_bytes)


class _Numbers:
    def __init__(self, slot: Field) -> None:
        self._dtype = np.dtype(slot.dtype)
        self._kinds = {"int": (int,), "bool": (bool,), "float": (float, int)}[slot.kind]
        self._values: list[Any] = []

    def add(self, value: object) -> int:
        self._check(value)
        self._values.append(value)
        return 8

    def convert(self, value: object) -> Any:
        self._check(value)
        return np.array([value], self._dtype)

    def _check(self, value: object) -> None:
        if type(value) not in self._kinds:
            if not isinstance(value, np.generic) or not np.can_cast(value.dtype, self._dtype):
                raise ConversionError(f"{short(value)}, but the first row holds {self._dtype}")
            cast(np.asarray(value), self._dtype, "the first row holds")
        elif type(value) is int and not -(1 << 63) <= value < 1 << 63:
            raise ConversionError(f"{value} does not fit 64 bits")
        elif type(value) is int and value != self._kinds[0](value):
            raise ConversionError(f"{value} is not a float64, but the first row holds one")

    def take(self) -> Column:
        data, self._values = np.array(self._values, self._dtype).reshape(-1, 1), []
        return Column(data)


class _Arrays:
    """Arrays of one shape, copied at once: a template may fill the same array again and again."""

    def __init__(self, slot: Field, max_rows: int, max_bytes: int) -> None:
        self._dtype = np.dtype(slot.dtype)
        self._declared = slot.kind.startswith("cast")
        self._shape = slot.shape
        self._nbytes = self._dtype.itemsize * int(np.prod(slot.shape, dtype=np.int64))
        self._room = min(max_rows, max_bytes // self._nbytes + 1) if self._nbytes else max_rows
        self._data: Array | None = None
        self._count = 0

    def add(self, value: object) -> int:
        array = self._checked(value)
        if self._data is None:
            self._data = np.empty((self._room, *self._shape), self._dtype)
        self._data[self._count] = array.reshape(self._shape)
        self._count += 1
        return self._nbytes

    def convert(self, value: object) -> Any:
        return np.ascontiguousarray(self._checked(value), self._dtype)

    def _checked(self, value: object) -> Array:
        array = value if type(value) is np.ndarray else _numbers(value)
        if not self._declared and not np.can_cast(array.dtype, self._dtype):
            raise ConversionError(f"an array of {array.dtype}, but the first row holds {self._dtype}")
        array = cast(array, self._dtype, "SCHEMA says" if self._declared else "the first row holds")
        if array.shape != self._shape and not (array.size == 1 and self._shape == (1,)):
            raise ConversionError(
                f"an array of shape {array.shape}, but the first row has {self._shape}; "
                'where lengths vary say so in SCHEMA: {"name": ("int64", 1)}'
            )
        return array

    def take(self) -> Column:
        data = np.empty((0, *self._shape), self._dtype) if self._data is None else self._data[: self._count]
        self._data, self._count = None, 0
        return Column(data)


def cast(array: Array, dtype: DType, why: str) -> Array:
    """Convert numbers to a dtype, which may be narrower; numbers that do not fit are refused, never wrapped."""
    if np.can_cast(array.dtype, dtype) and not (array.dtype.kind in "iu" and dtype.kind == "f"):
        return array
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        for value in (int(array.min()), int(array.max())) if array.size else ():
            if not limits.min <= value <= limits.max:
                raise ConversionError(f"{value} does not fit {dtype}")
        return array.astype(dtype)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ConversionError(f"numbers of {array.dtype}, but {why} {dtype}")
    try:
        with np.errstate(over="raise"):
            found = array.astype(dtype)
    except FloatingPointError:
        raise ConversionError(f"a number of {array.dtype} does not fit {dtype}") from None
    if dtype == np.float64 and not is_exact(found, array):
        raise ConversionError("an integer that float64 cannot hold exactly")
    return found


def _numbers(value: object) -> Array:
    """Return the numbers of a value; bytes do not count, though NumPy converts a bytearray to numbers."""
    if isinstance(value, (bytes, bytearray)):
        raise ConversionError(f"{short(value)}, but numbers are expected")
    return unmasked(value)


class _Texts:
    def __init__(self, slot: Field) -> None:
        self._is_str = slot.kind == "str"
        self._parts: list[bytes] = []

    def add(self, value: object) -> int:
        data = self.convert(value)
        self._parts.append(data)
        return len(data)

    def convert(self, value: object) -> bytes:
        return _as_bytes(value, self._is_str)

    def take(self) -> Column:
        parts, self._parts = self._parts, []
        offsets = _offsets([len(part) for part in parts])
        return Column(np.frombuffer(b"".join(parts), np.uint8).reshape(-1, 1), offsets, (offsets,))


def _as_bytes(value: object, is_str: bool) -> bytes:
    if is_str:
        if isinstance(value, str):
            return value.encode()
        raise ConversionError(f"{short(value)}, but the first row holds str")
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return value.tobytes()
    raise ConversionError(f"{short(value)}, but the first row holds bytes")


class _Lists:
    """Lists of numbers: plain ones are collected in one list and converted together."""

    def __init__(self, slot: Field) -> None:
        self._dtype = np.dtype(slot.dtype)
        self._shape = slot.shape
        plain: dict[str, set[type]] = {"int64": {int}, "float64": {float}}
        plain = plain if slot.shape == (1,) and slot.kind != "arrays" else {}
        self._kinds = plain.get(slot.dtype)
        self._is_float = slot.dtype == "float64"
        self._of_arrays = slot.kind == "arrays"
        self._plain: list[Any] = []
        self._parts: list[Array] = []
        self._lengths: list[int] = []

    def add(self, value: object) -> int:
        if type(value) is list and set(map(type, value)) == self._kinds and (self._is_float or _fits(value)):
            self._plain += value
            self._lengths.append(len(value))
            return 8 * len(value)
        array = self.convert(value)
        self._flush()
        self._parts.append(array)
        self._lengths.append(len(array))
        return array.nbytes

    def convert(self, value: object) -> Array:
        return _as_rows(value, self._dtype, self._shape, self._of_arrays)

    def _flush(self) -> None:
        if self._plain:
            self._parts.append(np.array(self._plain, self._dtype).reshape(-1, 1))
            self._plain = []

    def take(self) -> Column:
        self._flush()
        offsets = _offsets(self._lengths)
        data = np.concatenate([*self._parts, np.empty((0, *self._shape), self._dtype)])
        self._parts, self._lengths = [], []
        return Column(data, offsets, (offsets,))


def _fits(values: list[int]) -> bool:
    """Return whether whole numbers fit 64 bits."""
    return min(values) >= -(1 << 63) and max(values) < 1 << 63


def _as_rows(value: object, dtype: DType, shape: tuple[int, ...], of_arrays: bool = False) -> Array:
    array = _numbers(value)
    if array.ndim and not len(array):
        return np.empty((0, *shape), dtype)
    if array.dtype.kind not in "biuf":
        raise ConversionError(f"a list of {array.dtype}, but the first row holds {dtype}")
    if of_arrays and array.ndim == 1:
        raise ConversionError("a list of numbers, but the first row holds a list of arrays")
    if not of_arrays and array.ndim == 2 and shape == (1,) and not isinstance(value, np.ndarray):
        raise ConversionError("a list of lists or arrays, but the first row holds a list of numbers")
    if array.ndim == 0 or (array.shape[1:] or (1,)) != shape:
        raise ConversionError(f"a list of shape {array.shape}, but items of the first row have {shape}")
    if array.dtype.kind == "f" and not isinstance(value, np.ndarray):
        _check_whole(value)
    found = cast(array, dtype, "the first row holds")
    return found.astype(dtype, "C", copy=found is array).reshape(-1, *shape)


def _check_whole(value: Any) -> None:
    """Raise for whole numbers that NumPy rounded because they are mixed with fractions."""
    for item in value if isinstance(value, (list, tuple)) else ():
        if isinstance(item, (list, tuple)):
            _check_whole(item)
        elif not _is_float64(item):
            raise ConversionError(f"{item} is not a float64, but other numbers of the list are")


def _is_float64(item: object) -> bool:
    """Return whether a number, or each one of an array, is the same as a float64."""
    if isinstance(item, (np.integer, np.ndarray)):
        return is_exact(np.asarray(item, np.float64), np.asarray(item))
    return type(item) is not int or item == float(item)


class _Nested:
    """Lists of strings or of lists: two levels of sequences."""

    def __init__(self, slot: Field) -> None:
        self._dtype = np.dtype(slot.dtype)
        self._texts = slot.kind in ("strings", "byte strings")
        self._is_str = slot.kind == "strings"
        self._counts: list[int] = []
        self._parts: list[Array] = []

    def add(self, value: object) -> int:
        parts = self.convert(value)
        self._counts.append(len(parts))
        self._parts += parts
        return sum(part.nbytes for part in parts)

    def convert(self, value: object) -> list[Array]:
        if not isinstance(value, (list, tuple)):
            raise ConversionError(f"{short(value)}, but the first row holds a list of lists or strings")
        if self._texts:
            return [np.frombuffer(_as_bytes(item, self._is_str), np.uint8).reshape(-1, 1) for item in value]
        return [_as_rows(item, self._dtype, (1,)) for item in value]

    def take(self) -> Column:
        counts, parts = self._counts, self._parts
        self._counts, self._parts = [], []
        outer, inner = _offsets(counts), _offsets([len(part) for part in parts])
        data = np.concatenate([*parts, np.empty((0, 1), self._dtype)])
        return Column(data, inner[outer], (outer, inner))


def _offsets(lengths: list[int]) -> npt.NDArray[np.int64]:
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out
