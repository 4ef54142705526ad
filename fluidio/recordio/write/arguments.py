"""Check what is given to a writer: nothing is written that would be read back as something else."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from mmap import mmap
from typing import Any

import numpy as np

from fluidio.recordio.decode.block import Column
from fluidio.recordio.format.tensor_codec import TENSOR_DTYPES

__all__ = ["check_dtype", "columns_of", "copied"]

_WIDER = {"uint16": "int32", "uint32": "int64", "uint64": "int64", "float128": "float64"}


def copied(record: Any) -> bytes:
    """Return the bytes of a record that its owner may change before the chunk is complete."""
    if isinstance(record, (bytearray, memoryview, array, mmap)):
        return bytes(record)
    hint = "write_tensors() and write_block() take arrays" if isinstance(record, np.ndarray) else "encode it first"
    raise TypeError(f"a record is bytes or str, not {type(record).__name__}: {hint}")


def columns_of(columns: Any) -> list[Column]:
    if isinstance(columns, (np.ndarray, Column, str, bytes)) or not isinstance(columns, Iterable):
        raise TypeError(
            f"write_block() takes a list with an array for each slot, not {type(columns).__name__}: "
            "write_block([array]) writes records of one slot"
        )
    return [what if isinstance(what, Column) else Column(np.asarray(what)) for what in columns]


def check_dtype(data: np.ndarray[Any, Any]) -> None:
    """Refuse an array that would be read back as something else.

    Raises:
        TypeError: tensors have no such dtype; uint16 would come back as int16.
    """
    dtype = np.dtype(data.dtype).newbyteorder("=")
    if dtype not in TENSOR_DTYPES:
        raise TypeError(f"a tensor cannot hold {data.dtype}: convert it, e.g. to {_WIDER.get(dtype.name, 'float32')}")
