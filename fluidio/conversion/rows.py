"""Rows (dicts of Python values) become blocks of columns: one buffer for each slot, checked row by row."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from fluidio.conversion.collecting import collector_of
from fluidio.conversion.row_buffers import cast, short
from fluidio.dtypes import to_numpy, to_vartype
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files.schema import Field
from fluidio.recordio.write.writer import Writer
from fluidio.tensor.array import DType

__all__ = ["RowBuffer", "cast", "slots_of", "tells_its_type", "tensor_dtype", "typical_row"]

Declared = Mapping[str, Any]
_SCALARS: dict[type, tuple[str, str]] = {bool: ("bool", "bool"), int: ("int64", "int"), float: ("float64", "float")}
_TEXTS = (bytes, bytearray, memoryview, str)


class RowBuffer:
    """Collect rows until they fill a chunk.

    Args:
        slots: the slots every row must have.
        max_rows, max_bytes: `add` returns True when either is reached.
        for_writing: the rows are written, never taken, which is faster.
    """

    def __init__(self, slots: list[Field], max_rows: int, max_bytes: int, *, for_writing: bool = False) -> None:
        self._names = tuple(slot.name for slot in slots)
        self._keys = frozenset(self._names)
        # Without a reference to this buffer: collectors in C take no part in the search for cycles.
        refuse = partial(_refuse, self._names)
        self._collector = collector_of(slots, refuse, max_rows, max_bytes, for_writing=for_writing)

    @property
    def rows(self) -> int:
        """Number of rows waiting to be taken."""
        return self._collector.rows

    def add(self, row: Mapping[str, object]) -> bool:
        """Take a row; True when it is time to `take` or `write`.

        Raises:
            ConversionError: the row differs from the slots; the text says where.
        """
        if type(row) is dict:
            return self._collector.add(row)
        if row.keys() != self._keys:
            _refuse(self._names, row)
        return self._collector.add({name: row[name] for name in self._names})

    def fill(self, rows: Iterator[object]) -> bool | tuple[object]:
        """Take dicts until it is time to `take` or `write`, or until they end.

        Returns:
            False when `rows` ended; or the next of them in a tuple, if it is no dict.
        """
        return self._collector.fill(rows)

    def take(self) -> RecordBlock:
        """Return the rows so far and start over."""
        return self._collector.take()

    def write(self, writer: Writer) -> None:
        """Write the rows so far and start over."""
        self._collector.write(writer)


def _refuse(names: tuple[str, ...], row: Mapping[str, object]) -> None:
    """Raise for a row that has other names."""
    missing = [name for name in names if name not in row]
    extra = [str(name) for name in row if name not in names]
    said = [f"{word} {', '.join(found)}" for word, found in (("lacks", missing), ("has the new", extra)) if found]
    problem = f"the row {' and '.join(said)}; all rows need the names of the first: {', '.join(names)}"
    raise ConversionError(problem)


def slots_of(row: object, declared: Declared | None = None) -> list[Field]:
    """Return the slots inferred from a first row.

    Args:
        declared: name -> dtype or (dtype, lod_level), in the order of the slots; rows decide without it.
    """
    if not isinstance(row, Mapping):
        raise ConversionError(f"a row must be a dict of names and values, got {short(row)}")
    if not row:
        raise ConversionError("the first row is an empty dict, so the records would hold nothing")
    if declared is None:
        return [_found(name, value) for name, value in row.items()]
    if not isinstance(declared, Mapping):
        raise ConversionError(f'SCHEMA must be a dict, for example {{"x": "float32"}}; got {short(declared)}')
    if row.keys() != declared.keys():
        raise ConversionError(
            f"SCHEMA names {', '.join(declared)}, but the row has {', '.join(map(str, row))}: SCHEMA must "
            "name all of them or none"
        )
    return [_found(name, row[name], declared) for name in declared]


def _found(name: str, value: object, declared: Declared | None = None) -> Field:
    """Return the slot of a value; the error for a value that NumPy cannot convert names the slot."""
    try:
        return _slot(name, value) if declared is None else _declared(name, declared[name], value)
    except ConversionError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise ConversionError(f"{name}: {error}") from error


def _slot(name: str, value: object) -> Field:
    if not isinstance(name, str):
        raise ConversionError(f"the name of a column must be a str, got {short(name)}")
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
    raise ConversionError(f"{name}: {short(value)} cannot become a tensor; use numbers, bytes, str, lists or arrays")


def tells_its_type(value: object) -> bool:
    """Return whether a value determines what its slot holds; empty lists, and lists of them, do not."""
    return not isinstance(value, (list, tuple)) or any(map(tells_its_type, value))


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def typical_row(
    rows: Iterator[Any],
    most: int = 1000,
    reading: Callable[[int], None] = lambda number: None,
    is_row: Callable[[object], bool] = _is_mapping,
) -> tuple[dict[str, Any], Iterator[Any]]:
    """Return a row that determines all types, and all rows; if the first has empty lists, later ones are used.

    Args:
        most: how many rows may be used.
        reading: called with the number of each row before it is requested.
        is_row: returns whether an item is a row; nothing after another item is used.

    Returns:
        The row ({} if the first is no row), and an iterator over all of them, the first included.
    """
    read = list(itertools.islice(rows, 1))
    told = dict(read[0]) if read and is_row(read[0]) else {}
    while not all(map(tells_its_type, told.values())) and len(read) < most:
        read[-1] = copy.deepcopy(read[-1])  # whoever makes the rows may fill the same lists and arrays again
        reading(len(read))
        more = list(itertools.islice(rows, 1))
        read += more
        if not more or not is_row(more[0]):
            break
        told.update((name, more[0][name]) for name in told if not tells_its_type(told[name]) and name in more[0])
    reading(0)
    return told, itertools.chain(read, rows)


def _list_slot(name: str, value: Any) -> Field:
    if not len(value):
        raise ConversionError(f"{name}: the first lists are all empty, so their type is unknown: declare it in SCHEMA")
    first = value[0]
    if isinstance(first, _TEXTS):
        return Field(name, "uint8", (1,), 2, None, "strings" if isinstance(first, str) else "byte strings")
    if isinstance(first, (list, tuple)):
        inner = _list_slot(name, next((item for item in value if len(item)), ()))
        if inner.lod_level != 1:
            raise ConversionError(
                f"{name}: lists are nested three levels deep, one too many; recordio.Writer takes any LoD"
            )
        return Field(name, inner.dtype, inner.shape, 2, None, "lists")
    if isinstance(first, np.ndarray) and first.ndim:
        return Field(name, tensor_dtype(name, first.dtype), first.shape, 1, None, "arrays")
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
    if isinstance(value, _TEXTS) and (level == 1 or not isinstance(value, memoryview)):
        if level == 0 or dtype != "uint8":
            raise ConversionError(
                f"{name}: SCHEMA says {dtype}, but the value is {short(value)}; use str or bytes there"
            )
        return Field(name, dtype, (1,), 1, None, "bytes")
    shape = np.shape(value)
    if level == 1:
        return Field(name, dtype, shape[1:] or (1,), 1, None, "list")
    if shape:
        return Field(name, dtype, shape, kind="cast")
    return Field(name, dtype, (1,), kind="cast scalar" if isinstance(value, np.generic) else "cast number")


def _said(name: str, said: Any) -> tuple[Any, int]:
    """Return the dtype (or str, or bytes) and the LoD level of an entry of SCHEMA."""
    entry = said if isinstance(said, tuple) else (said, 0)
    if len(entry) != 2 or entry[1] not in (0, 1, 2):
        raise ConversionError(f"{name}: SCHEMA must give a dtype, or (dtype, LoD level 0, 1 or 2); got {said!r}")
    texts = {"str": str, "bytes": bytes, str: str, bytes: bytes}
    try:
        return texts[entry[0]] if entry[0] in texts else np.dtype(entry[0]), entry[1]
    except TypeError as error:
        raise ConversionError(f"{name}: SCHEMA says {said!r}: {error}") from error


def _text_slot(name: str, is_str: bool, level: int) -> Field:
    if level == 2:
        return Field(name, "uint8", (1,), 2, None, "strings" if is_str else "byte strings")
    return Field(name, "uint8", (1,), 1, None, "str" if is_str else "bytes")


def tensor_dtype(name: str, dtype: DType) -> str:
    """Return the name of a dtype that tensors can hold; uint16 is excluded, as Fluid stores its bits as int16."""
    try:
        held = to_numpy(to_vartype(dtype)) == dtype.newbyteorder("=")
    except (ValueError, TypeError, KeyError):
        held = False
    if not held:
        raise ConversionError(f"{name}: a tensor cannot hold {dtype}: convert it, for example to int64 or float32")
    return dtype.newbyteorder("=").name
