"""Rows of RecordIO files for display: dicts by slot name, with only the requested columns."""

from __future__ import annotations

import base64
import itertools
import pickle
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidio import pickles
from fluidio.conversion.formats import of_name
from fluidio.conversion.formats.recordio import content_of, sample_row, sample_rows
from fluidio.conversion.formats.records import records_of
from fluidio.conversion.pictures import picture
from fluidio.conversion.reading import value_of
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files.notes import slots_beside
from fluidio.recordio.files.schema import Field, as_number
from fluidio.recordio.files.steady import steadily
from fluidio.recordio.format.tensor_codec import decode_record
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

_MOST_BITS = 14_000  # Python writes no number of more than 4,300 digits

__all__ = ["blocks_with_slots", "choose", "names_of", "plain", "row_of_record", "rows", "rows_of_records", "short"]


def blocks_with_slots(path: str) -> tuple[list[Field], Iterator[RecordBlock]]:
    """Return the slots and the blocks of a file of any kind of records: tensors, pickled samples or bytes."""
    return of_name("recordio").read(path, slots_beside(path))


def row_of_record(record: bytes, slots: Sequence[Field] | None = None) -> dict[str, Any]:
    """Return one record as a row: its tensors, the parts of its pickled sample, or its bytes."""
    try:
        tensors = decode_record(record)[0]
    except ValueError:
        tensors = []
    if tensors:
        known = slots or [_field(number, array, lod) for number, (array, lod) in enumerate(tensors)]
        return {slot.name: value_of(slot, array, lod) for slot, (array, lod) in zip(known, tensors)}
    try:
        sample = pickles.loads(record)
    except (pickle.UnpicklingError, EOFError, ValueError):
        return {"record": record}
    return sample_row(sample, slots)


def _field(number: int, array: Array, lod: LoD) -> Field:
    """Return the slot of one undescribed tensor; a sequence keeps all its rows."""
    rows = 1 if len(array) == 1 and not lod else None
    return as_number(Field(f"slot_{number}", array.dtype.name, array.shape[1:], len(lod), rows))


def rows_of_records(
    records: Iterable[tuple[str, int, bytes]], columns: Collection[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield rows of records that were drawn from files."""
    noted: dict[str, list[Field] | None] = {}
    for path, _, record in records:
        if path not in noted:
            noted[path] = slots_beside(path)
        yield _chosen(path, row_of_record(record, noted[path]), columns)


def rows(paths: Sequence[str], columns: Collection[str] | None = None) -> Generator[dict[str, Any], None, None]:
    """Yield the rows of some files; pickled samples of any form are rows, too.

    Args:
        columns: the names of the requested columns; others are not decoded.

    Raises:
        ConversionError: a name does not exist.
    """
    for path in steadily(paths):
        if content_of(path) == "samples":
            for row in sample_rows(path, slots_beside(path)):
                yield _chosen(path, row, columns)
            continue
        slots, blocks = blocks_with_slots(path)
        chosen = choose(path, slots, columns)
        for block in blocks:
            part = RecordBlock([block.columns[number] for number in chosen], len(block))
            wanted = [slots[number] for number in chosen]
            for record in records_of([part]) if chosen else itertools.repeat((), len(block)):
                yield {slot.name: value_of(slot, array, lod) for slot, (array, lod) in zip(wanted, record)}


def names_of(path: str) -> list[str]:
    """Return the names of a file's slots; [] if it has no records."""
    if content_of(path) == "samples":
        return list(next(sample_rows(path, slots_beside(path))))
    return [slot.name for slot in blocks_with_slots(path)[0]]


def _chosen(path: str, row: dict[str, Any], columns: Collection[str] | None) -> dict[str, Any]:
    if columns is None:
        return row
    if missing := [name for name in columns if name not in row]:
        raise ConversionError(f"{path}: there is no column {missing[0]}; it has {', '.join(row)}")
    return {name: row[name] for name in columns}


def choose(path: str, slots: Sequence[Field], columns: Collection[str] | None) -> list[int]:
    """Return the numbers of the requested columns."""
    names = [slot.name for slot in slots]
    if columns is None:
        return list(range(len(names)))
    missing = [name for name in columns if name not in names]
    if missing and names:
        raise ConversionError(f"{path}: there is no column {missing[0]}; it has {', '.join(names)}")
    return [names.index(name) for name in columns if name in names]


def plain(value: object) -> Any:
    """Return a value as JSON can hold it; bytes that are not text become {"base64": ...}, other types their text.

    Whole numbers of thousands of digits become their hexadecimal text.
    """
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return hex(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def short(value: object, limit: int = 60) -> str:
    """Return a short, readable form of a value."""
    if isinstance(value, bytes):
        found = picture(value)
        if found is not None:
            return f"{found} ({len(value)} bytes)"
        return f"{len(value)} bytes" if len(value) > 40 or not value.isascii() else repr(value)
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, np.ndarray):
        numbers = np.array2string(value.reshape(-1)[:4], separator=" ", precision=4)[1:-1]
        return f"{value.dtype} {value.shape} [{numbers}{' ...' if value.size > 4 else ''}]"
    if isinstance(value, dict):
        return ", ".join(f"{name}={short(item)}" for name, item in value.items())
    return pickles.preview(value, limit)
