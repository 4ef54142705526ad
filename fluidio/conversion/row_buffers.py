"""Buffers that collect the values of one slot, row by row, and give them back as a column."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import Column
from fluidio.recordio.files.schema import Field
from fluidio.recordio.write.narrowing import unmasked
from fluidio.tensor.array import Array, DType

__all__ = ["Buffer", "buffer_of", "cast", "short"]


class Buffer(Protocol):
    """Collects the values of one slot."""

    def add(self, value: object) -> int:
        """Take a value and return its size in bytes."""
        ...

    def take(self) -> Column:
        """Return all values as a column and start anew."""
        ...


def short(value: object) -> str:
    """Return a value and its type in a few words."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def buffer_of(slot: Field, max_rows: int, max_bytes: int) -> Buffer:
    """Return what collects the values of a slot."""
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
        if type(value) not in self._kinds:
            if not isinstance(value, np.generic) or not np.can_cast(value.dtype, self._dtype):
                raise ConversionError(f"{short(value)}, but the first row holds {self._dtype}")
        elif type(value) is int and not -(1 << 63) <= value < 1 << 63:
            raise ConversionError(f"{value} does not fit 64 bits")
        elif type(value) is int and value != self._kinds[0](value):
            raise ConversionError(f"{value} is no float64, and the first row holds one")
        self._values.append(value)
        return 8

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
        self._room = min(max_rows, max_bytes // max(1, self._nbytes) + 1)
        self._data: npt.NDArray[Any] | None = None
        self._count = 0

    def add(self, value: object) -> int:
        array = value if type(value) is np.ndarray else unmasked(value)
        if self._declared:
            array = cast(array, self._dtype, "SCHEMA says")
        elif not np.can_cast(array.dtype, self._dtype):
            raise ConversionError(f"an array of {array.dtype}, but the first row holds {self._dtype}")
        if array.shape != self._shape and not (array.size == 1 and self._shape == (1,)):
            raise ConversionError(
                f"an array of shape {array.shape}, but the first row has {self._shape}; "
                'where lengths vary say so in SCHEMA: {"name": ("int64", 1)}'
            )
        if self._data is None:
            self._data = np.empty((self._room, *self._shape), self._dtype)
        self._data[self._count] = array.reshape(self._shape)
        self._count += 1
        return self._nbytes

    def take(self) -> Column:
        data = np.empty((0, *self._shape), self._dtype) if self._data is None else self._data[: self._count]
        self._data, self._count = None, 0
        return Column(data)


def cast(array: Array, dtype: DType, why: str) -> Array:
    """Return numbers that fit a dtype, which may be narrower; those that do not are refused, never wrapped."""
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
    if array.dtype.kind in "iu" and dtype == np.float64 and not np.array_equal(found.astype(array.dtype), array):
        raise ConversionError("an integer that is no float64 exactly")
    return found


class _Texts:
    def __init__(self, slot: Field) -> None:
        self._is_str = slot.kind == "str"
        self._parts: list[bytes] = []

    def add(self, value: object) -> int:
        data = _as_bytes(value, self._is_str)
        self._parts.append(data)
        return len(data)

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
    """Lists of numbers: plain ones are gathered in one list and converted together."""

    def __init__(self, slot: Field) -> None:
        self._dtype = np.dtype(slot.dtype)
        self._shape = slot.shape
        plain: dict[str, set[type]] = {"int64": {int}, "float64": {float}}
        plain = plain if slot.shape == (1,) and slot.kind != "arrays" else {}
        self._kinds = plain.get(slot.dtype)
        self._is_float = slot.dtype == "float64"
        self._of_arrays = slot.kind == "arrays"
        self._plain: list[Any] = []
        self._parts: list[npt.NDArray[Any]] = []
        self._lengths: list[int] = []

    def add(self, value: object) -> int:
        if type(value) is list and set(map(type, value)) == self._kinds and (self._is_float or _fits(value)):
            self._plain += value
            self._lengths.append(len(value))
            return 8 * len(value)
        array = _as_rows(value, self._dtype, self._shape, self._of_arrays)
        self._flush()
        self._parts.append(array)
        self._lengths.append(len(array))
        return array.nbytes

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
    """Tell whether whole numbers fit 64 bits."""
    return min(values) >= -(1 << 63) and max(values) < 1 << 63


def _as_rows(value: object, dtype: DType, shape: tuple[int, ...], of_arrays: bool = False) -> Array:
    array = unmasked(value)
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
    found = cast(array, dtype, "the first row holds")
    return found.astype(dtype, copy=found is array).reshape(-1, *shape)


class _Nested:
    """Lists of strings or of lists: two levels of sequences."""

    def __init__(self, slot: Field) -> None:
        self._dtype = np.dtype(slot.dtype)
        self._texts = slot.kind in ("strings", "byte strings")
        self._is_str = slot.kind == "strings"
        self._counts: list[int] = []
        self._parts: list[npt.NDArray[Any]] = []

    def add(self, value: object) -> int:
        if not isinstance(value, (list, tuple)):
            raise ConversionError(f"{short(value)}, but the first row holds a list of lists or strings")
        if self._texts:
            parts = [np.frombuffer(_as_bytes(item, self._is_str), np.uint8).reshape(-1, 1) for item in value]
        else:
            parts = [_as_rows(item, self._dtype, (1,)) for item in value]
        self._counts.append(len(parts))
        self._parts += parts
        return sum(part.nbytes for part in parts)

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
