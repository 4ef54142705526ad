"""RecordIO as a format among others: tensor records, and pickled samples turned into tensors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fluidio.conversion import schema, storage
from fluidio.conversion.rows import RowBuffer, slots_of, tensor_dtype
from fluidio.conversion.schema import Slot
from fluidio.errors import ConversionError, RecordIOError
from fluidio.recordio import BlockReader, File, Writer, sample_reader
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.format.tensor_codec import decode_record

__all__ = ["read", "write"]


def write(path: str, slots: list[Slot], blocks: Iterable[RecordBlock]) -> None:
    """Write blocks as tensor records.

    Raises:
        ConversionError: a slot has a dtype that tensors cannot hold.
    """
    for slot in slots:
        tensor_dtype(slot.name, np.dtype(slot.dtype))
    with storage.writing(path) as file, Writer(file) as writer:
        for block in blocks:
            writer.write_block(block)


def read(path: str, slots: list[Slot] | None) -> tuple[list[Slot], Iterator[RecordBlock]]:
    """Return the slots and the blocks of a file.

    Args:
        slots: known slots (from a manifest), else slot_0, slot_1, ... as the first records are.
    """
    blocks = _samples(path, slots) if _is_pickled(path) else _tensors(path)
    first = next(blocks, None)
    if first is None:
        return slots or [], iter(())
    found = schema.of_block(first)
    if slots is None:
        return found, itertools.chain([first], blocks)
    if [(s.dtype, s.shape, s.lod_level) for s in slots] != [(s.dtype, s.shape, s.lod_level) for s in found]:
        raise ConversionError(
            f"{path}: its records are {'; '.join(map(str, found))}, but the slots say {'; '.join(map(str, slots))}"
        )
    return slots, itertools.chain([first], blocks)


def _is_pickled(path: str) -> bool:
    """Tell whether the records are pickles rather than tensors."""
    with File(path) as file:
        record = next(iter(file), None)
    if record is None:
        return False
    try:
        decode_record(record)
    except (RecordIOError, ValueError, OSError):
        return True
    return False


def _tensors(path: str) -> Iterator[RecordBlock]:
    with BlockReader(path) as reader:
        yield from reader


def _samples(path: str, slots: list[Slot] | None) -> Iterator[RecordBlock]:
    buffer: RowBuffer | None = None
    for number, sample in enumerate(sample_reader(path)()):
        values: Any = sample if isinstance(sample, tuple) else (sample,)
        row = {slot.name: value for slot, value in zip(slots, values)} if slots else _named(values)
        try:
            if buffer is None:
                buffer = RowBuffer(slots_of(row), 1000, 8 << 20)
            if buffer.add(row):
                yield buffer.take()
        except ConversionError as error:
            raise ConversionError(f"{path}: record {number}: {error}") from error
    if buffer is not None and buffer.rows:
        yield buffer.take()


def _named(values: Iterable[Any]) -> dict[str, Any]:
    return {f"slot_{number}": value for number, value in enumerate(values)}
