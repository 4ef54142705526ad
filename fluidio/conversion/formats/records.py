"""Convert between blocks and single records, for formats that store records one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.files.schema import Field
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["Record", "blocks_of", "check_names", "converted", "records_of", "shaped"]

Record = Sequence[tuple[Array, LoD]]
_BLOCK = 1000


def records_of(blocks: Iterable[RecordBlock]) -> Iterator[Record]:
    """Yield the tensors of every record."""
    for block in blocks:
        yield from zip(*(_split(column) for column in block.columns))


def _split(column: Column) -> Iterator[tuple[Array, LoD]]:
    offsets = column.offsets().tolist()
    if not column.lod:
        for start, stop in itertools.pairwise(offsets):
            yield column.data[start:stop], ()
        return
    for number in range(column.num_records):
        part = column.slice(number, number + 1)
        yield part.data, part.lod


def converted(values: Array, slot: Field, path: str) -> Array:
    """Return values with the dtype of a slot.

    Raises:
        ConversionError: a value would become another one.
    """
    if values.dtype == slot.dtype:
        return values
    try:
        with np.errstate(all="ignore"):
            found = values.astype(slot.dtype)
            back = found.astype(values.dtype)
    except OverflowError:
        found = back = np.zeros(0)
    if back.shape != values.shape or not ((back == values) | ((back != back) & (values != values))).all():
        raise ConversionError(
            f"{path}: {slot.name} is {slot.dtype} in the first record, but {values.dtype} in another, with "
            f"values that {slot.dtype} cannot hold"
        )
    return found


def check_names(record: Iterable[str], names: set[str] | None, path: str) -> None:
    """Refuse a record with values that the first one did not have: they would be lost."""
    more = sorted(set(record) - names) if names is not None else []
    if more:
        raise ConversionError(
            f"{path}: a record has {', '.join(more)}, which the first record lacks; all records must have the "
            "same slots"
        )


def shaped(flat: Array, slot: Field) -> Array:
    """Return the values of one record as rows; for rows of zero items, the slot gives their number."""
    if flat.ndim > 1 and flat.shape[1:] == slot.shape:
        return flat
    if not np.prod(slot.shape):
        return flat.reshape(slot.rows or 0, *slot.shape)
    return flat.reshape(-1, *slot.shape)


def blocks_of(records: Iterable[Record], slots: list[Field]) -> Iterator[RecordBlock]:
    """Gather records into blocks."""
    held: list[Record] = []
    for record in records:
        held.append(record)
        if len(held) == _BLOCK:
            yield _stack(held, slots)
            held = []
    if held:
        yield _stack(held, slots)


def _stack(records: list[Record], slots: list[Field]) -> RecordBlock:
    columns = []
    for number, slot in enumerate(slots):
        arrays = [record[number][0] for record in records]
        heights = [len(array) for array in arrays]
        data = np.concatenate(arrays)
        if not slot.lod_level:
            offsets = None if len(set(heights)) == 1 else _offsets(heights)
            columns.append(Column(data, offsets, num_records=len(records)))
            continue
        lods = [record[number][1] for record in records]
        merged = tuple(
            _offsets(np.concatenate([np.diff(lod[level]) for lod in lods])) for level in range(slot.lod_level)
        )
        sequences = [len(lod[0]) - 1 for lod in lods]
        grouped = None if set(sequences) == {1} else _offsets(sequences)
        columns.append(Column(data, _offsets(heights), merged, sequence_offsets=grouped, num_records=len(records)))
    return RecordBlock(columns, len(records))


def _offsets(lengths: Any) -> npt.NDArray[np.int64]:
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out
