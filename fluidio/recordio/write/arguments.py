"""Check a writer's arguments: refuse anything that would be read back as something else."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from mmap import mmap

import numpy as np

from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.format.tensor_codec import TENSOR_DTYPES
from fluidio.recordio.write.narrowing import unmasked
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD, from_offsets, problem

__all__ = ["check_columns", "check_dtype", "checked_tensor", "columns_of", "copied"]

_WIDER = {"uint16": "int32", "uint32": "int64", "uint64": "int64", "float128": "float64"}


def copied(record: object) -> bytes:
    """Return a copy of a record that its owner may change before the chunk is complete."""
    if isinstance(record, (bytes, bytearray, memoryview, array, mmap)):
        return bytes(record)
    hint = "write_tensors() and write_block() take arrays" if isinstance(record, np.ndarray) else "encode it first"
    raise TypeError(f"a record must be bytes or str, got {type(record).__name__}: {hint}")


def columns_of(columns: object) -> list[Column]:
    if isinstance(columns, (np.ndarray, Column, str, bytes)) or not isinstance(columns, Iterable):
        raise TypeError(
            f"write_block() takes a list with one array for each slot, got {type(columns).__name__}: "
            "write_block([array]) writes records of one slot"
        )
    found = [what if isinstance(what, Column) else unmasked(what) for what in columns]
    plain = [each for each in found if not isinstance(each, Column)]
    for each in plain:
        if not each.ndim:
            raise TypeError(f"a column needs one row for each record, got a single {each.dtype}")
    if len({len(each) for each in plain}) > 1:
        said = ", ".join(str(len(each)) for each in plain)
        raise ValueError(f"the columns have {said} rows; Column(array, num_records=N) puts several rows into a record")
    return [each if isinstance(each, Column) else Column(each) for each in found]


def checked_tensor(pair: object) -> tuple[Array, LoD]:
    """Return an (array, LoD) pair that can be written.

    Raises:
        TypeError: it is something else, or has a dtype that tensors lack.
        ValueError: the LoD does not match the rows.
    """
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"write_tensors() takes pairs (array, LoD), got {type(pair).__name__}: write (array, ())")
    array, levels = pair
    if not hasattr(array, "dtype"):
        raise TypeError(f"write_tensors() takes arrays, got {type(array).__name__}: write (np.array(...), ())")
    array = unmasked(array)
    check_dtype(array)
    if not array.ndim:
        raise TypeError("an array without dims cannot be part of a batch: write array.reshape(1)")
    lod = from_offsets(levels or ())
    wrong = problem(lod, len(array))
    if wrong or (lod and lod[-1][-1] != len(array)):
        raise ValueError(f"the LoD does not match the tensor: {wrong or f'it has {len(array)} rows'}")
    return array, lod


def check_dtype(data: Array) -> None:
    """Raise if an array would be read back as something else.

    Raises:
        TypeError: tensors have no such dtype; uint16 would come back as int16.
    """
    dtype = np.dtype(data.dtype).newbyteorder("=")
    if dtype not in TENSOR_DTYPES:
        raise TypeError(
            f"a tensor cannot hold {data.dtype}: convert it, for example to {_WIDER.get(dtype.name, 'float32')}"
        )


def check_columns(block: RecordBlock) -> None:
    """Raise for columns that would produce a damaged file: unsupported dtypes, offsets outside the rows.

    Raises:
        TypeError: tensors have no such dtype.
        ValueError: the offsets of records or sequences do not match the rows.
    """
    for number, column in enumerate(block.columns):
        check_dtype(column.data)
        if column.record_offsets is None and not column.lod:
            continue
        bounds = column.offsets()
        fits = _go_up(bounds, len(column.data))
        if not fits or not (column.is_a_sequence_each or _goes_with(column, bounds)):
            raise ValueError(f"slot {number}: its offsets do not match its {len(column.data)} rows")


def _goes_with(column: Column, bounds: Array) -> bool:
    """Return whether the LoD of a column gives each record its rows."""
    edges = column.sequences() if column.lod else bounds
    for level in column.lod:
        if not _go_up(edges, len(level) - 1):
            return False
        edges = level[edges]
    return np.array_equal(edges, bounds) and _levels_end(column)


def _go_up(edges: Array, end: int) -> bool:
    """Return whether offsets begin with 0, never fall and end where the data does."""
    return bool(len(edges) and edges[0] == 0 and edges[-1] == end and (edges[1:] >= edges[:-1]).all())


def _levels_end(column: Column) -> bool:
    """Return whether each level of a LoD matches the next, and the last one the rows."""
    ends = [len(level) - 1 for level in column.lod[1:]] + [len(column.data)]
    return all(_go_up(level, end) for level, end in zip(column.lod, ends))
