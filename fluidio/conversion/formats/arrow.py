"""Parquet and Arrow IPC: a column for each slot, sequences as lists, without a loop over records.

A number per record is a plain column, an array of fixed shape a fixed-size list (flat; the shape is in the metadata),
a sequence a list, a sequence of sequences a list of lists. Text is a string, bytes are binary, lists of them are lists.
The slots are kept in the file's metadata under `fluidio`, so nothing is lost on the way back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.conversion import storage
from fluidio.conversion.formats.arrow_types import plain_batch, plain_type, signature
from fluidio.conversion.formats.nulls import refuse, without_nulls
from fluidio.errors import ConversionError, missing_dependency
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.files import schema
from fluidio.recordio.files.schema import Field, RowsVaryError

__all__ = ["read_ipc", "read_parquet", "write_ipc", "write_parquet"]

_KEY = b"fluidio"


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise missing_dependency("pyarrow", "arrow", "reading or writing Parquet and Arrow files") from error
    return pyarrow


# -- blocks to batches -------------------------------------------------------------------------------------------------


def to_batch(block: RecordBlock, slots: list[Field]) -> Any:
    """Return a block as a pyarrow RecordBatch."""
    pa = _pyarrow()
    arrays = [_array(pa, column, slot) for column, slot in zip(block.columns, slots, strict=True)]
    fields = [pa.field(slot.name, array.type) for slot, array in zip(slots, arrays)]  # nullable, as others expect
    metadata = {_KEY: json.dumps(schema.to_json(slots))}
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))


def _array(pa: ModuleType, column: Column, slot: Field) -> Any:
    width = int(np.prod(slot.shape, dtype=np.int64))
    flat = np.ascontiguousarray(column.data).reshape(-1)
    if slot.lod_level and (len(column.lod[0]) - 1 != column.num_records or column.sequence_offsets is not None):
        raise ConversionError(
            f"{slot.name}: a record holds several sequences, which a table cannot; write one record for each "
            "sequence, or export to npz, which keeps them together"
        )
    if slot.is_text:
        return _strings(pa, slot, flat, column.lod[0])
    if slot.text and slot.lod_level == 2:
        outer, inner = column.lod
        return pa.ListArray.from_arrays(pa.array(_small(outer)), _strings(pa, slot, flat, inner))
    values = pa.array(flat)
    if slot.lod_level:
        values = _fixed(pa, values, width, len(column.data))
        for level in reversed(column.lod):
            values = pa.ListArray.from_arrays(pa.array(_small(level)), values)
        return values
    if slot.rows is None:
        values = _fixed(pa, values, width, len(column.data))
        return pa.ListArray.from_arrays(pa.array(_small(column.offsets())), values)
    if column.rows_per_record != slot.rows and column.num_records:
        raise RowsVaryError(slot.name, slot.rows)
    return _fixed(pa, values, width * slot.rows, column.num_records)


def _fixed(pa: ModuleType, values: object, width: int, count: int) -> Any:
    """Return `count` lists of one width; single items are not wrapped, and empty lists are plain lists."""
    if width == 1:
        return values
    if not width:
        return pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), values)
    return pa.FixedSizeListArray.from_arrays(values, width)


def _strings(pa: ModuleType, slot: Field, data: Any, offsets: Any) -> Any:
    """Return strings stored one after another as a column of string or binary."""
    buffers = [None, pa.py_buffer(_small(offsets)), pa.py_buffer(data)]
    array = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)
    if slot.text not in ("str", "strings"):
        return array
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise ConversionError(f"{slot.name}: the slots say text, but a value is not UTF-8: {error}") from error


def _small(offsets: Any) -> Any:
    if int(offsets[-1]) >= 1 << 31:
        raise ConversionError("a chunk holds more than 2^31 items: recompress the file with smaller chunks first")
    return np.ascontiguousarray(offsets, np.int32)


# -- batches to blocks -------------------------------------------------------------------------------------------------


def to_block(batch: Any, slots: list[Field], nulls: str | None = None) -> RecordBlock:
    """Return a pyarrow RecordBatch as a block; `nulls` as in `without_nulls`, None refuses them."""
    pa = _pyarrow()
    if not slots and batch.num_rows:
        raise ConversionError("a table without columns, so there would be nothing in the records")
    batch = plain_batch(batch) if nulls is None else without_nulls(batch, nulls)
    columns = []
    for slot in slots:
        if len(batch.schema.get_all_field_indices(slot.name)) != 1:
            raise ConversionError(f"{slot.name}: several columns have this name; rename them first")
        array = batch.column(slot.name)
        if array.null_count:
            refuse(slot.name, array.null_count)
        columns.append(_column(pa, array, slot))
    return RecordBlock(columns, batch.num_rows)


def _column(pa: Any, array: Any, slot: Field) -> Column:
    count = len(array)
    if slot.is_text and _text(pa, array.type):
        data, offsets = _bytes_of(pa, array)
        return Column(data, offsets, (offsets,))
    lod = []
    for _ in range(slot.lod_level - 1 if slot.text else slot.lod_level or int(slot.rows is None)):
        offsets, array = _opened(array, slot)
        lod.append(offsets)
    if slot.text:
        data, offsets = _bytes_of(pa, array)
        lod.append(offsets)
    else:
        items = int(lod[-1][-1]) if lod else count * (slot.rows or 0)
        data = _items(pa, array, slot).reshape(items, *slot.shape)
    if not slot.lod_level:
        return Column(data, lod[0] if lod else None, num_records=count)
    offsets = lod[0]
    for level in lod[1:]:
        offsets = level[offsets]
    return Column(data, offsets, tuple(lod), num_records=count)


def _opened(array: Any, slot: Field) -> tuple[Any, Any]:
    """Return the offsets of lists, from 0, and their contents."""
    offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    items = array.flatten()
    _refuse_inner(slot, items)
    return offsets - offsets[0], items


def _items(pa: Any, array: Any, slot: Field) -> Any:
    """Return the numbers of arrays of one shape; those of no items are plain lists."""
    empty = slot.rows == 0 or not np.prod(slot.shape)
    while pa.types.is_fixed_size_list(array.type) or (empty and pa.types.is_list(array.type)):
        array = array.flatten()
        _refuse_inner(slot, array)
    return array.to_numpy(zero_copy_only=False).astype(slot.dtype)


def _refuse_inner(slot: Field, items: Any) -> None:
    if items.null_count:
        raise ConversionError(
            f"{slot.name}: {items.null_count} items inside lists are null, which tensors cannot express"
        )


def _bytes_of(pa: Any, array: Any) -> tuple[Any, Any]:
    """Return the bytes of strings, one after another, and their offsets."""
    array = array.cast(pa.large_binary())
    if not len(array):
        return np.empty((0, 1), np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return data.reshape(-1, 1).copy(), offsets - offsets[0]


def slots_of(found: Any) -> list[Field]:
    """Return the slots in the metadata of an Arrow schema, or those inferred from its types."""
    metadata = found.metadata or {}
    known = {slot.name: slot for slot in schema.from_json(metadata[_KEY])} if _KEY in metadata else {}
    if not len(found):
        return list(known.values())
    return [_known(field, known.get(field.name)) or _guess(field) for field in found]


def _known(field: Any, slot: Field | None) -> Field | None:
    """Return a slot of the metadata if it still matches the column, which other tools may have changed."""
    pa = _pyarrow()
    if slot is None:
        return None
    empty = np.empty((0, *slot.shape), slot.dtype)
    zero = np.zeros(1, np.int64)
    column = Column(empty, zero if slot.rows is None else None, (zero,) * slot.lod_level, num_records=0)
    return slot if signature(_array(pa, column, slot).type) == signature(plain_type(field.type)) else None


def _guess(field: Any) -> Field:
    pa = _pyarrow()
    kind, level = plain_type(field.type), 0
    if _text(pa, kind):
        return Field(field.name, "uint8", (1,), 1, None, _text(pa, kind))
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _text(pa, kind.value_type):
        kinds = {"str": "strings", "bytes": "byte strings"}
        return Field(field.name, "uint8", (1,), 2, None, kinds[_text(pa, kind.value_type)])
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind, level = kind.value_type, level + 1
    shape: tuple[int, ...] = ()
    while pa.types.is_fixed_size_list(kind):
        shape += (kind.list_size,)
        kind = kind.value_type
    try:
        dtype = np.dtype(kind.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        dtype = np.dtype(object)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise ConversionError(
            f"{field.name}: a column of type {field.type} cannot become a tensor; convert or drop it first"
        )
    number = {"int64": "int", "float64": "float", "bool": "bool"}.get(dtype.name, "scalar")
    label = "array" if shape or level > 1 else "list" if level else number
    return Field(field.name, dtype.name, shape or (1,), level, None if level else 1, "lists" if level == 2 else label)


def _text(pa: Any, kind: Any) -> str:
    """Return "str" or "bytes" for types of strings, "" for others."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "str"
    return "bytes" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else ""


# -- files -------------------------------------------------------------------------------------------------------------


def write_parquet(path: str, slots: list[Field], blocks: Iterable[RecordBlock]) -> None:
    """Write blocks as row groups of a Parquet file."""
    _pyarrow()
    import pyarrow.parquet as pq

    def open_writer(file: object, kind: object) -> Any:
        return pq.ParquetWriter(file, kind)

    _write(path, slots, blocks, open_writer)


def write_ipc(path: str, slots: list[Field], blocks: Iterable[RecordBlock]) -> None:
    """Write blocks as batches of an Arrow IPC (Feather 2) file."""
    pa = _pyarrow()
    _write(path, slots, blocks, pa.ipc.new_file)


def _write(path: str, slots: list[Field], blocks: Iterable[RecordBlock], open_writer: Any) -> None:
    with storage.writing(path) as file:
        writer = None
        try:
            for block in blocks:
                batch = to_batch(block, slots)
                if writer is None:
                    writer = open_writer(file, batch.schema)
                writer.write_batch(batch)
            if writer is None:
                writer = open_writer(file, to_batch(schema.empty_block(slots), slots).schema)
        finally:
            if writer is not None:
                writer.close()


def read_parquet(
    path: str, slots: list[Field] | None, nulls: str | None = None
) -> tuple[list[Field], Iterator[RecordBlock]]:
    """Return the slots and the blocks of a Parquet file."""
    _pyarrow()
    import pyarrow.parquet as pq

    with storage.opened(path) as source, pq.ParquetFile(source) as file:
        known = slots or slots_of(file.schema_arrow)

    def blocks() -> Iterator[RecordBlock]:
        with storage.opened(path) as source, pq.ParquetFile(source) as file:
            for batch in file.iter_batches(1000):
                yield to_block(batch, known, nulls)

    return known, blocks()


def read_ipc(
    path: str, slots: list[Field] | None, nulls: str | None = None
) -> tuple[list[Field], Iterator[RecordBlock]]:
    """Return the slots and the blocks of an Arrow IPC file."""
    pa = _pyarrow()
    with storage.opened(path) as source:
        known = slots or slots_of(pa.ipc.open_file(source).schema)

    def blocks() -> Iterator[RecordBlock]:
        with storage.opened(path) as source:
            file = pa.ipc.open_file(source)
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                batch.validate(full=True)  # Arrow believes the offsets in a file
                yield to_block(batch, known, nulls)

    return known, blocks()
