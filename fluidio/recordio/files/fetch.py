"""Read records of one layout, check them and copy their columns in one go, if the C for it could be compiled.

`_fetch.c` reads in pieces that are checked and copied while they are in the cache, and asks for the interpreter lock
only when all is done. It serves local files on processors with carry-less products, which make CRC-32 fast. For
everything else there is the usual way, with the same results: read a whole chunk, then check it, then copy.
"""

from __future__ import annotations

from typing import Any

from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.files.source import ByteSource, LocalSource
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.recordio import _fetch as compiled
except ImportError:
    compiled = None

__all__ = ["ragged", "rows", "serves"]

_PIECE = 1 << 18  # bytes that are read, checked and copied at a time
_LARGEST = 1 << 20  # bytes of a record
_MOST = 64  # columns
_ROOM = 1 << 17  # bytes of a record that a piece cuts in two


def serves(source: ByteSource) -> bool:
    """Return whether this way is there for a source."""
    return type(source) is LocalSource and compiled is not None and bool(compiled.FAST)


def rows(
    source: ByteSource,
    offset: int,
    records: int,
    stride: int,
    same: tuple[tuple[int, bytes], ...],
    columns: tuple[tuple[int, Array], ...],
    pool: Pool,
) -> int | None:
    """Copy parts of records of `stride` bytes to arrays; return the CRC-32 of all.

    Return None if they are not as expected, the file ends before, or this way does not serve: what the arrays hold is
    worthless then, as it is if the checksum turns out to be wrong.

    Args:
        same: (first byte, bytes) that are the same in all records.
        columns: (first byte, array) of what is copied.
    """
    if type(source) is not LocalSource or not serves(source):
        return None
    if stride > _LARGEST or max(len(same), len(columns)) > _MOST:
        return None
    scratch = pool.view(max(_PIECE, stride))
    found: int | None = compiled.rows(source.descriptor(), offset, records, stride, same, columns, scratch)
    return found


def ragged(
    source: ByteSource, offset: int, size: int, records: int, tensors: tuple[tuple[object, ...], ...], pool: Pool
) -> tuple[int, list[tuple[int, bool]]] | None:
    """Copy tensors of `records` records that differ in height; return the CRC-32 of all, and for each tensor that may
    vary its rows and whether all records have as many.

    Return None as `rows` does.

    Args:
        size: bytes of all records.
        tensors: what a record holds behind its length. A tensor of one size: (the bytes before its data, array).
            Others: (the parts of a `loops.Pattern`, array of enough bytes, array for offsets).
    """
    if type(source) is not LocalSource or not serves(source) or len(tensors) > _MOST:
        return None
    scratch = pool.view(_ROOM + _PIECE)
    found: tuple[int, list[tuple[int, bool]]] | None
    found = compiled.ragged(source.descriptor(), offset, size, records, tensors, scratch, _ROOM)
    return found
