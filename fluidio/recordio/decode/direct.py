"""Copy the records of a chunk into their arrays while it is read, without its payload ever being in one place.

That takes a chunk whose records look like those of the chunk before it. What is copied counts only if every record was
as expected and the checksum is right; otherwise the chunk is read again in the usual way, which says what is wrong.
"""

from __future__ import annotations

import numpy as np

from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.columnar import Decoder
from fluidio.recordio.decode.spans import Span, unset
from fluidio.recordio.files.fetch import rows, serves
from fluidio.recordio.format.checksum import crc32
from fluidio.recordio.format.chunk import Chunk
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.compressors import NONE
from fluidio.recordio.format.dialects import HEADER_SIZE, Header
from fluidio.recordio.format.records import RecordTable
from fluidio.tensor.lod import IntArray

__all__ = ["COPIED", "load_rows"]

COPIED = memoryview(b"")
"""The payload of a chunk whose records were copied already."""
_NOWHERE: IntArray = np.zeros(0, np.int64)


def load_rows(
    chunks: ChunkReader, decoder: Decoder, offset: int, header: Header, least: int, pool: Pool
) -> tuple[Chunk, Span] | None:
    """Return the chunk at `offset`, in any thread; None if it has to be read in the usual way.

    Args:
        least: how many records it must have to be worth it.
    """
    source, dialect = chunks.source, chunks.dialect
    if dialect is None or dialect.checksum is not crc32 or not serves(source):
        return None
    count = header.num_records
    plain = dialect.compressors.get(header.compressor) is NONE
    if not plain or count < max(1, least) or header.size > source.size - offset - HEADER_SIZE:
        return None
    plan = decoder.expected(count, header.size)
    if plan is None:
        return None
    columns = [unset(head, count, pool) for head in plan.heads]
    places = tuple([(head.start, column.data) for head, column in zip(plan.heads, columns)])
    found = rows(source, offset + HEADER_SIZE, count, plan.stride, plan.same, places, pool)
    if found != header.checksum:
        return None
    table = RecordTable(count, plan.stride, _NOWHERE, _NOWHERE)
    return Chunk(chunks.number, offset, dialect, header, COPIED, table), Span(count, columns)
