"""RecordIO as a format among others: tensor records, and pickled samples turned into tensors."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidio import pickles
from fluidio.conversion import storage
from fluidio.conversion.expansion import check_expansion
from fluidio.conversion.rows import RowBuffer, slots_of, tensor_dtype, typical_row
from fluidio.errors import ConversionError, RecordIOError, UnsafePickleError
from fluidio.recordio import BlockReader, Column, File, Writer, sample_reader
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files import schema
from fluidio.recordio.files.named import strings
from fluidio.recordio.files.schema import Field
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.tensor_codec import decode_record

__all__ = ["content_of", "read", "sample_row", "sample_rows", "write"]


def write(path: str, slots: list[Field], blocks: Iterable[RecordBlock]) -> None:
    """Write blocks as tensor records, or as their original bytes.

    Raises:
        ConversionError: a slot has a dtype that tensors cannot hold.
    """
    for slot in slots:
        tensor_dtype(slot.name, np.dtype(slot.dtype))
    raw = [slot.kind for slot in slots] == ["record"]
    with storage.writing(path) as file, Writer(file) as writer:
        for block in blocks:
            if not raw:
                writer.write_block(block)
                continue
            (column,) = block.columns
            for record in strings(column.data, column.lod[0], decode=False):
                writer.write(record)


def read(path: str, slots: list[Field] | None) -> tuple[list[Field], Iterator[RecordBlock]]:
    """Return the slots and the blocks of a file.

    Args:
        slots: known slots (from a manifest), else slot_0, slot_1, ... inferred from the first records.
    """
    content = content_of(path)
    if content == "samples":
        found, blocks = _samples(path, slots)
    else:
        blocks = _tensors(path) if content == "tensors" else _bytes(path)
        first = next(blocks, None)
        if first is None:
            return slots or [], iter(())
        found = [schema.as_number(slot) for slot in schema.of_block(first)] if content == "tensors" else [_RECORD]
        blocks = itertools.chain([first], blocks)
    if slots is None:
        return found, blocks
    if [(s.dtype, s.shape, s.lod_level) for s in slots] != [(s.dtype, s.shape, s.lod_level) for s in found]:
        raise ConversionError(
            f"{path}: its records hold {'; '.join(map(str, found))}, but the slots say {'; '.join(map(str, slots))}"
        )
    return slots, blocks


_RECORD = Field("record", "uint8", (1,), 1, None, "record")


def content_of(path: str) -> str:
    """Return the kind of the first record: tensors, a pickled sample, or bytes."""
    with File(path) as file:
        record = next(iter(file), None)
    if record is None:
        return "tensors"
    try:
        if decode_record(record)[0]:
            return "tensors"
    except (RecordIOError, ValueError, OSError):
        pass
    try:
        pickles.loads(record)
    except UnsafePickleError:
        return "samples"
    except (pickle.UnpicklingError, EOFError, ValueError):
        return "bytes"
    return "samples"


def _tensors(path: str) -> Iterator[RecordBlock]:
    with BlockReader(path) as reader:
        yield from reader


def _bytes(path: str) -> Iterator[RecordBlock]:
    """Yield records that are not tensors as byte strings."""
    with ChunkReader(path) as reader:
        for chunk in reader:
            records = chunk.records()
            offsets = np.zeros(len(records) + 1, np.int64)
            np.cumsum([len(record) for record in records], out=offsets[1:])
            data = np.frombuffer(b"".join(records), np.uint8).reshape(-1, 1)
            yield RecordBlock([Column(data, offsets, (offsets,))])


def _samples(path: str, slots: list[Field] | None) -> tuple[list[Field], Iterator[RecordBlock]]:
    first, rows = typical_row(sample_rows(path, slots))
    try:
        found = slots_of(first)
    except ConversionError as error:
        raise ConversionError(f"{path}: record 0: {error}") from error
    return found, _filled(path, found, rows)


def sample_rows(path: str, slots: list[Field] | None) -> Iterator[dict[str, Any]]:
    """Yield the pickled samples of a file as rows, by the names of the slots where there are as many."""
    for sample in sample_reader(path)():
        yield sample_row(sample, slots)


def sample_row(sample: object, slots: Sequence[Field] | None) -> dict[str, Any]:
    """Return one sample as a row.

    Raises:
        ConversionError: it is endless, or small in the file and huge when written out.
    """
    check_expansion(sample)
    values = sample if isinstance(sample, tuple) else (sample,)
    known = slots is not None and len(slots) == len(values)
    return {slots[n].name if slots and known else f"slot_{n}": value for n, value in enumerate(values)}


def _filled(path: str, slots: list[Field], rows: Iterable[dict[str, Any]]) -> Iterator[RecordBlock]:
    buffer = RowBuffer(slots, 1000, 8 << 20)
    for number, row in enumerate(rows):
        try:
            full = buffer.add(row)
        except ConversionError as error:
            raise ConversionError(f"{path}: record {number}: {error}") from error
        if full:
            yield buffer.take()
    if buffer.rows:
        yield buffer.take()
