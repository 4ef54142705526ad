"""NumPy's npz: whole columns, `NAME`, `NAME.lod_0`, ..., `NAME.offsets`; the slots are in `__slots__`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fluidio.conversion import storage
from fluidio.conversion.formats.members import check_members
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.files import schema
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.zipped_arrays import read_zipped_arrays

__all__ = ["read", "write"]


def write(path: str, slots: list[Field], blocks: Iterable[RecordBlock]) -> None:
    """Write blocks as arrays; a file is held in memory."""
    check_members(slots, _members, reserved=("__slots__", "__records__"))
    held = list(blocks)
    arrays: dict[str, Any] = {"__slots__": np.frombuffer(json.dumps(schema.to_json(slots)).encode(), np.uint8)}
    if held:
        block = RecordBlock.concat(held)
        arrays["__records__"] = np.array(len(block))
        for slot, column in zip(slots, block.columns):
            arrays[slot.name] = column.data
            for level, offsets in enumerate(column.lod):
                arrays[f"{slot.name}.lod_{level}"] = offsets
            if column.record_offsets is not None:
                arrays[f"{slot.name}.offsets"] = column.record_offsets
            if column.sequence_offsets is not None:
                arrays[f"{slot.name}.sequences"] = column.sequence_offsets
    # np.savez takes the names as keywords: a slot called `file` would be its own argument.
    with storage.writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as out:
        for name, array in arrays.items():
            with out.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _members(slot: Field) -> list[str]:
    levels = [f"{slot.name}.lod_{level}" for level in range(slot.lod_level)]
    return [slot.name, *levels, f"{slot.name}.offsets", f"{slot.name}.sequences"]


def read(path: str, slots: list[Field] | None) -> tuple[list[Field], Iterator[RecordBlock]]:
    """Return the slots and the one block of a file; arrays of others are stacked rows, one record for each."""
    with storage.opened(path) as file:
        arrays = read_zipped_arrays(file)
    if "__slots__" not in arrays:
        rows = {name: len(array) if array.ndim else 1 for name, array in arrays.items()}
        if len(set(rows.values())) > 1:
            said = ", ".join(f"{name}: {count} rows" for name, count in rows.items())
            raise ConversionError(f"{path}: {said}; all arrays must have the same length, with one row for each record")
        columns = [Column(array if array.ndim > 1 else array.reshape(-1, 1)) for array in arrays.values()]
        block = RecordBlock(columns)
        return slots or schema.of_block(block, list(arrays)), iter([block])
    known = slots or schema.from_json(arrays["__slots__"].tobytes())
    if "__records__" not in arrays:
        return known, iter(())
    count = int(arrays["__records__"])
    made = []
    for slot in known:
        lod = tuple(arrays[f"{slot.name}.lod_{level}"] for level in range(slot.lod_level))
        sequences = arrays.get(f"{slot.name}.sequences")
        offsets = arrays.get(f"{slot.name}.offsets")
        made.append(Column(arrays[slot.name], offsets, lod, sequence_offsets=sequences, num_records=count))
    return known, iter([RecordBlock(made, count)])
