"""Collectors: rows in, columns or records out. In C if it could be compiled, else in Python with the same results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from fluidio.conversion.row_buffers import Buffer, buffer_of
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.files.schema import Field
from fluidio.recordio.write.encode import around_height
from fluidio.recordio.write.writer import Writer
from fluidio.tensor.lod import IntArray

compiled: Any
try:
    from fluidio.conversion import _rows as compiled
except ImportError:
    compiled = None

__all__ = ["Collector", "collector_of"]

Refuse = Callable[[Mapping[str, object]], None]
_ELEMENTS = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "float32": "f",
    "float64": "d",
    "bool": "?",
}
_TEXTS = {"str": "s", "strings": "s", "bytes": "y", "byte strings": "y"}
_NUMBERS = ("int", "float", "bool", "cast number")
_LISTS = ("list", "lists")


class Collector(Protocol):
    """Collects the rows of one chunk; `RowBuffer` documents the methods."""

    @property
    def rows(self) -> int: ...

    def add(self, row: dict[str, object], /) -> bool: ...

    def fill(self, rows: Iterator[object], /) -> bool | tuple[object]: ...

    def take(self) -> RecordBlock: ...

    def write(self, writer: Writer) -> None: ...


def collector_of(
    slots: list[Field], refuse: Refuse, max_rows: int, max_bytes: int, *, for_writing: bool = False
) -> Collector:
    """Return a collector of rows.

    Args:
        refuse: is called with a row that has other names.
        for_writing: the rows are written, never taken.
    """
    deep = next((slot.name for slot in slots if slot.lod_level > 2), None)
    if deep is not None:
        raise ConversionError(f"{deep}: lists are three levels deep; recordio.Writer takes any LoD")
    buffers = [buffer_of(slot, max_rows, max_bytes) for slot in slots]
    if compiled is None or any(slot.lod_level and not _width(slot) for slot in slots):
        return _Plain(slots, buffers, refuse, max_rows, max_bytes)
    direct = for_writing and sys.byteorder == "little"
    return _Compiled(slots, buffers, refuse, max_rows, max_bytes, direct)


class _Plain:
    def __init__(
        self, slots: list[Field], buffers: list[Buffer], refuse: Refuse, max_rows: int, max_bytes: int
    ) -> None:
        self._keys = frozenset(slot.name for slot in slots)
        self._refuse = refuse
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._buffers = buffers
        self._adds = [(slot.name, buffer.add) for slot, buffer in zip(slots, buffers)]
        self.rows = 0
        self._bytes = 0

    def add(self, row: dict[str, object]) -> bool:
        if row.keys() != self._keys:
            self._refuse(row)
        size = 0
        for name, add in self._adds:
            try:
                size += add(row[name])
            except (ConversionError, ValueError, TypeError, OverflowError) as error:
                raise ConversionError(f"{name}: {error}") from error
        self._bytes += size
        self.rows += 1
        return self.rows >= self._max_rows or self._bytes >= self._max_bytes

    def fill(self, rows: Iterator[object]) -> bool | tuple[object]:
        for row in rows:
            if type(row) is not dict:
                return (row,)
            if self.add(row):
                return True
        return False

    def take(self) -> RecordBlock:
        rows, self.rows, self._bytes = self.rows, 0, 0
        return RecordBlock([buffer.take() for buffer in self._buffers], rows)

    def write(self, writer: Writer) -> None:
        writer.write_block(self.take())


class _Compiled:
    def __init__(
        self, slots: list[Field], buffers: list[Buffer], refuse: Refuse, max_rows: int, max_bytes: int, direct: bool
    ) -> None:
        self._slots = slots
        self._direct = direct
        told = tuple(_told(slot, buffer) for slot, buffer in zip(slots, buffers))
        self._collector = compiled.Collector(told, refuse, max_rows, max_bytes, direct)
        self.add: Callable[[dict[str, object]], bool] = self._collector.add
        self.fill: Callable[[Iterator[object]], bool | tuple[object]] = self._collector.fill

    @property
    def rows(self) -> int:
        return int(self._collector.rows)

    def take(self) -> RecordBlock:
        rows = self.rows
        return RecordBlock(
            [_column(slot, rows, found) for slot, found in zip(self._slots, self._collector.take())], rows
        )

    def write(self, writer: Writer) -> None:
        if self._direct:
            rows = self.rows
            writer.write_encoded(self._collector.take(), rows)
        else:
            writer.write_block(self.take())


def _width(slot: Field) -> int:
    """Return the size of an item in bytes."""
    return np.dtype(slot.dtype).itemsize * int(np.prod(slot.shape, dtype=np.int64))


def _told(slot: Field, buffer: Buffer) -> tuple[Any, ...]:
    """Return the slot description for the compiled collector; see `Slot` in _row_values.h."""
    element = _TEXTS.get(slot.kind, "-")
    if slot.kind in _NUMBERS or (slot.kind in _LISTS and slot.shape == (1,)):
        element = _ELEMENTS.get(slot.dtype, "-")
    dtype, width = np.dtype(slot.dtype), _width(slot)
    like = None
    if slot.kind == "list" and dtype.kind in "biuf":
        like = np.empty((0, *slot.shape), dtype)
    elif not slot.lod_level and slot.kind not in ("int", "float", "bool") and dtype.kind in "biuf":
        like = np.empty(slot.shape, dtype)
    fixed, counted = (0, 0) if slot.lod_level else (width, 8 if slot.kind in _NUMBERS[:3] else width)
    sizes = slot.lod_level, max(1, width), fixed, counted
    head = around_height(dtype, slot.shape)
    return slot.name, element, *sizes, np.ndarray, dtype.type, like, _named(slot.name, buffer.convert), *head


def _named(name: str, convert: Callable[[object], Any]) -> Callable[[object], Any]:
    def otherwise(value: object) -> Any:
        try:
            return convert(value)
        except (ConversionError, ValueError, TypeError, OverflowError) as error:
            raise ConversionError(f"{name}: {error}") from error

    return otherwise


def _column(slot: Field, rows: int, found: tuple[Any, Any, Any]) -> Column:
    data = np.frombuffer(found[0], slot.dtype)
    if not slot.lod_level:
        return Column(data.reshape(rows, *slot.shape))
    data, outer = data.reshape(-1, *slot.shape), _edges(found[1])
    if slot.lod_level == 1:
        return Column(data, outer, (outer,))
    inner = _edges(found[2])
    return Column(data, inner[outer], (outer, inner))


def _edges(ends: bytearray) -> IntArray:
    edges = np.zeros(len(ends) // 8 + 1, np.int64)
    edges[1:] = np.frombuffer(ends, np.int64)
    return edges
