"""Copy the records of a chunk into their arrays while it is read, without its payload ever being in one place.

That takes a chunk whose records look like those of a chunk before it. What is copied counts only if every record was
as expected and the checksum is right; otherwise the chunk is read again in the usual way, which says what is wrong.
"""

from __future__ import annotations

import numpy as np

from fluidio.recordio.decode.block import Column
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.columnar import Decoder, Plan
from fluidio.recordio.decode.expected import Varying
from fluidio.recordio.decode.spans import Span, unset
from fluidio.recordio.files.fetch import ragged, rows, serves
from fluidio.recordio.files.source import ByteSource
from fluidio.recordio.format.checksum import crc32
from fluidio.recordio.format.chunk import Chunk
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.compressors import NONE
from fluidio.recordio.format.dialects import HEADER_SIZE, Header
from fluidio.recordio.format.records import RecordTable
from fluidio.tensor.lod import IntArray

__all__ = ["COPIED", "load_directly", "may_load_ragged"]

COPIED = memoryview(b"")
"""The payload of a chunk whose records were copied already."""
_BATCHES = 4  # that a chunk of equal records must hold to be worth it: one between two chunks is copied again
_NOWHERE: IntArray = np.zeros(0, np.int64)


def load_directly(
    chunks: ChunkReader, decoder: Decoder, offset: int, header: Header, batch: int, pool: Pool
) -> tuple[Chunk, Span] | None:
    """Return the chunk at `offset`, in any thread; None if it has to be read in the usual way.

    Args:
        batch: how many records will be wanted together.
    """
    source, dialect = chunks.source, chunks.dialect
    if dialect is None or dialect.checksum is not crc32 or not serves(source):
        return None
    plain = dialect.compressors.get(header.compressor) is NONE
    if not plain or header.num_records < 1 or header.size > source.size - offset - HEADER_SIZE:
        return None
    plan = decoder.expected(header.num_records, header.size) if header.num_records >= _BATCHES * batch else None
    columns = None if plan is None else _equal(plan, source, offset, header, pool)
    if columns is None:
        columns = _unequal(source, decoder, offset, header, pool)
    if columns is None:
        return None
    table = RecordTable(header.num_records, None, _NOWHERE, _NOWHERE)
    return Chunk(chunks.number, offset, dialect, header, COPIED, table), Span(header.num_records, columns)


def may_load_ragged(chunks: ChunkReader, decoder: Decoder) -> bool:
    """Return whether chunks of records that differ in height are probably loaded without the interpreter lock."""
    return decoder.expected_ragged() is not None and serves(chunks.source)


def _equal(plan: Plan, source: ByteSource, offset: int, header: Header, pool: Pool) -> list[Column] | None:
    """Return the columns of records of one layout."""
    count = header.num_records
    columns = [unset(head, count, pool) for head in plan.heads]
    places = tuple([(head.start, column.data) for head, column in zip(plan.heads, columns)])
    found = rows(source, offset + HEADER_SIZE, count, plan.stride, plan.same, places, pool)
    return columns if found == header.checksum else None


def _unequal(source: ByteSource, decoder: Decoder, offset: int, header: Header, pool: Pool) -> list[Column] | None:
    """Return the columns of records that differ in height."""
    count = header.num_records
    plan = decoder.expected_ragged()
    most = header.size - count * (4 + sum([tensor.least for tensor in plan or ()]))
    if plan is None or most < 0:
        return None
    columns, places = list[Column](), list[tuple[object, ...]]()
    for tensor in plan:
        if isinstance(tensor, Varying):
            column = Column(pool.array((most,), np.uint8), np.empty(count + 1, np.int64))
            places.append((*tensor.pattern, column.data, column.offsets()))
        else:
            column = unset(tensor.head, count, pool)
            places.append((tensor.framing, column.data))
        columns.append(column)
    found = ragged(source, offset + HEADER_SIZE, header.size, count, tuple(places), pool)
    decoder.saw_ragged(found is not None)
    if found is None or found[0] != header.checksum:
        return None
    heights = iter(found[1])
    return [_filled(t, c, *next(heights)) if isinstance(t, Varying) else c for t, c in zip(plan, columns)]


def _filled(tensor: Varying, room: Column, height: int, is_uniform: bool) -> Column:
    """Return the column of a tensor; the bytes and the offsets of `room` have been written."""
    data = np.ndarray((height, *tensor.head.dims[1:]), tensor.head.dtype, room.data)
    offsets = room.offsets()
    lod = (offsets,) if tensor.pattern.has_lod else ()
    return Column(data, None if is_uniform else offsets, lod, num_records=len(offsets) - 1)
