"""Rows (dicts of Python values) become blocks of columns: one buffer for each slot, checked row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fluidio.dtypes import to_numpy, to_vartype
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.files.schema import Field

__all__ = ["RowBuffer", "cast", "slots_of", "tensor_dtype"]

Declared = Mapping[str, Any]
_SCALARS: dict[type, tuple[str, str]] = {bool: ("bool", "bool"), int: ("int64", "int"), float: ("float64", "float")}
_TEXTS = (bytes, bytearray, memoryview, str)


class _Buffer(Protocol):
    """Collects the values of one slot."""

    def add(self, value: Any) -> int:
        """Take a value and return its size in bytes."""
        ...

    def take(self) -> Column:
        """Return all values as a column and start anew."""
        ...


class RowBuffer:
    """Collect rows until they fill a chunk.

    Args:
        slots: what every row has to hold.
        max_rows, max_bytes: `add` returns True when either is reached.
    """

    def __init__(self, slots: list[Field], max_rows: int, max_bytes: int) -> None:
        self._names = tuple(slot.name for slot in slots)
        self._keys = frozenset(self._names)
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._buffers: list[_Buffer] = [_buffer(slot, max_rows, max_bytes) for slot in slots]
        self._adds: list[tuple[str, Callable[[Any], int]]] = [(n, b.add) for n, b in zip(self._names, self._buffers)]
        self.rows = 0
        self._bytes = 0

    def add(self, row: Mapping[str, Any]) -> bool:
        """Take a row; True when it is time to `take`.

        Raises:
            ConversionError: the row differs from the slots; the text says where.
        """
        if row.keys() != self._keys:
            raise ConversionError(_key_problem(self._names, row))
        size = 0
        for name, add in self._adds:
            try:
                size += add(row[name])
            except (ConversionError, ValueError, TypeError, OverflowError) as error:
                raise ConversionError(f"{name}: {error}") from error
        self._bytes += size
        self.rows += 1
        return self.rows >= self._max_rows or self._bytes >= self._max_bytes

    def take(self) -> RecordBlock:
        """Return the rows so far and start anew."""
        rows, self.rows, self._bytes = self.rows, 0, 0
        return RecordBlock([buffer.take() for buffer in self._buffers], rows)


def _key_problem(names: tuple[str, ...], row: Mapping[str, Any]) -> str:
    missing = [name for name in names if name not in row]
    extra = [str(name) for name in row if name not in names]
    said = [f"{word} {', '.join(found)}" for word, found in (("lacks", missing), ("has the new", extra)) if found]
    return f"the row {' and '.join(said)}; all rows need the names of the first: {', '.join(names)}"


def slots_of(row: Any, declared: Declared | None = None) -> list[Field]:
    """Return the slots that a first row asks for.

    Args:
        declared: name -> dtype or (dtype, lod_level), in the order of the slots; rows decide without it.
    """
    if not isinstance(row, Mapping) or not row:
        raise ConversionError(f"a row is a dict of names and values, not {_short(row)}")
    if declared is None:
        return [_slot(name, value) for name, value in row.items()]
    if not isinstance(declared, Mapping):
        raise ConversionError(f'SCHEMA is {_short(declared)}; a dict is expected, e.g. {{"x": "float32"}}')
    if row.keys() != declared.keys():
        raise ConversionError(_key_problem(tuple(declared), row))
    return [_declared(name, declared[name], row[name]) for name in declared]


def _slot(name: str, value: Any) -> Field:
    if not isinstance(name, str):
        raise ConversionError(f"names are text, not {_short(name)}")
    kind = type(value)
    if kind in _SCALARS:
        dtype, label = _SCALARS[kind]
        return Field(name, dtype, (1,), kind=label)
    if isinstance(value, _TEXTS):
        return Field(name, "uint8", (1,), 1, None, "str" if isinstance(value, str) else "bytes")
    if isinstance(value, np.ndarray | np.generic):
        dtype = tensor_dtype(name, value.dtype)
        return Field(name, dtype, value.shape) if value.shape else Field(name, dtype, (1,), kind="scalar")
    if isinstance(value, (list, tuple)):
        return _list_slot(name, value)
    raise ConversionError(f"{name}: {_short(value)} cannot be a tensor; use numbers, bytes, str, lists or arrays")


def _list_slot(name: str, value: Any) -> Field:
    if not len(value):
        raise ConversionError(f"{name}: the first list is empty, so its type is unknown: name it in SCHEMA")
    first = value[0]
    if isinstance(first, _TEXTS):
        return Field(name, "uint8", (1,), 2, None, "strings" if isinstance(first, str) else "byte strings")
    if isinstance(first, (list, tuple)):
        inner = _list_slot(name, next((item for item in value if len(item)), ()))
        if inner.lod_level != 1:
            raise ConversionError(f"{name}: lists are three levels deep; recordio.Writer takes any LoD")
        return Field(name, inner.dtype, inner.shape, 2, None, "lists")
    if isinstance(first, np.ndarray) and first.ndim:
        return Field(name, tensor_dtype(name, first.dtype), first.shape, 1, None, "list")
    kinds = set(map(type, value))
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) == 1 and (kind := kinds.pop()) in _SCALARS:
        return Field(name, _SCALARS[kind][0], (1,), 1, None, "list")
    array = np.asarray(value)
    return Field(name, tensor_dtype(name, array.dtype), array.shape[1:] or (1,), 1, None, "list")


def _declared(name: str, said: Any, value: Any) -> Field:
    dtype, level = _said(name, said)
    if dtype in (str, bytes):
        return _text_slot(name, dtype is str, level)
    dtype = tensor_dtype(name, dtype)
    if level == 2:
        numbers = isinstance(value, (list, tuple)) and value and not isinstance(value[0], _TEXTS)
        return Field(name, dtype, (1,), 2, None, "lists" if numbers or dtype != "uint8" else "byte strings")
    if level == 1:
        shape = np.shape(value)[1:] if not isinstance(value, _TEXTS) else ()
        return Field(name, dtype, tuple(shape) or (1,), 1, None, "bytes" if isinstance(value, _TEXTS) else "list")
    if np.shape(value):
        return Field(name, dtype, tuple(np.shape(value)), kind="cast")
    return Field(name, dtype, (1,), kind="cast scalar" if isinstance(value, np.generic) else "cast number")


def _said(name: str, said: Any) -> tuple[Any, int]:
    """Return the dtype (or str, or bytes) and the LoD level that an entry of SCHEMA means."""
    entry = said if isinstance(said, tuple) else (said, 0)
    if len(entry) != 2 or entry[1] not in (0, 1, 2):
        raise ConversionError(f"{name}: SCHEMA says {said!r}; a dtype or (dtype, LoD 0, 1 or 2) is expected")
    texts = {"str": str, "bytes": bytes, str: str, bytes: bytes}
    try:
        return texts[entry[0]] if entry[0] in texts else np.dtype(entry[0]), entry[1]
    except TypeError as error:
        raise ConversionError(f"{name}: SCHEMA says {said!r}: {error}") from error


def _text_slot(name: str, is_str: bool, level: int) -> Field:
    if level == 2:
        return Field(name, "uint8", (1,), 2, None, "strings" if is_str else "byte strings")
    return Field(name, "uint8", (1,), 1, None, "str" if is_str else "bytes")


def tensor_dtype(name: str, dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype that tensors can hold; uint16 is none, Fluid keeps its bits as int16."""
    try:
        held = to_numpy(to_vartype(dtype)) == dtype.newbyteorder("=")
    except (ValueError, TypeError, KeyError):
        held = False
    if not held:
        raise ConversionError(f"{name}: a tensor cannot hold {dtype}: convert it, e.g. to int64 or float32")
    return dtype.newbyteorder("=").name


def _short(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


# -- one buffer for each way to hold a slot ---------------------------------------------------------------------------


def _buffer(slot: Field, max_rows: int, max_bytes: int) -> _Buffer:
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

    def add(self, value: Any) -> int:
        if type(value) not in self._kinds:
            if not isinstance(value, np.generic) or not np.can_cast(value.dtype, self._dtype):
                raise ConversionError(f"{_short(value)}, but the first row holds {self._dtype}")
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

    def add(self, value: Any) -> int:
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
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


def cast(array: npt.NDArray[Any], dtype: np.dtype[Any], why: str) -> npt.NDArray[Any]:
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

    def add(self, value: Any) -> int:
        data = _as_bytes(value, self._is_str)
        self._parts.append(data)
        return len(data)

    def take(self) -> Column:
        parts, self._parts = self._parts, []
        offsets = _offsets([len(part) for part in parts])
        return Column(np.frombuffer(b"".join(parts), np.uint8).reshape(-1, 1), offsets, (offsets,))


def _as_bytes(value: Any, is_str: bool) -> bytes:
    if is_str:
        if isinstance(value, str):
            return value.encode()
        raise ConversionError(f"{_short(value)}, but the first row holds str")
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return value.tobytes()
    raise ConversionError(f"{_short(value)}, but the first row holds bytes")


class _Lists:
    """Lists of numbers: plain ones are gathered in one list and converted together."""

    def __init__(self, slot: Field) -> None:
        self._dtype = np.dtype(slot.dtype)
        self._shape = slot.shape
        plain: dict[str, set[type]] = {"int64": {int}, "float64": {float}} if slot.shape == (1,) else {}
        self._kinds = plain.get(slot.dtype)
        self._is_float = slot.dtype == "float64"
        self._plain: list[Any] = []
        self._parts: list[npt.NDArray[Any]] = []
        self._lengths: list[int] = []

    def add(self, value: Any) -> int:
        if type(value) is list and set(map(type, value)) == self._kinds and (self._is_float or _fits(value)):
            self._plain += value
            self._lengths.append(len(value))
            return 8 * len(value)
        array = _as_rows(value, self._dtype, self._shape)
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


def _as_rows(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    array = np.asarray(value)
    if not array.size:
        return np.empty((0, *shape), dtype)
    if array.dtype.kind not in "biuf":
        raise ConversionError(f"a list of {array.dtype}, but the first row holds {dtype}")
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

    def add(self, value: Any) -> int:
        if not isinstance(value, (list, tuple)):
            raise ConversionError(f"{_short(value)}, but the first row holds a list of lists or strings")
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
