"""ChunkIndex: where the chunks of a file are and how many records each announces, found by hopping over headers."""

from __future__ import annotations

import bisect

import numpy as np

from fluidio.errors import CutTailError, ForeignFileError, RecordIOError
from fluidio.recordio.files.source import ByteSource
from fluidio.recordio.format.chunks import ChunkReader, OnError
from fluidio.recordio.format.dialects import HEADER_SIZE, MAGIC, Dialect, Header
from fluidio.tensor.lod import IntArray

__all__ = ["ChunkIndex", "build_index", "find_tail"]


class ChunkIndex:
    """The chunks of one file: `offsets` in bytes, `counts` of records, `ends` of chunks.

    Only headers were read (and the first payload, to detect the dialect): an index is checked again when a chunk is
    read.
    """

    def __init__(
        self,
        offsets: IntArray,
        counts: IntArray,
        ends: IntArray,
        dialect: Dialect | None,
        problem: RecordIOError | None = None,
    ) -> None:
        self.offsets = offsets
        self.counts = counts
        self.ends = ends
        self.dialect = dialect
        self.problem = problem
        self.first_records = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=self.first_records[1:])
        self._edges: list[int] = self.first_records.tolist()

    @property
    def num_chunks(self) -> int:
        return len(self.offsets)

    @property
    def num_records(self) -> int:
        return self._edges[-1]

    def locate(self, record: int) -> tuple[int, int]:
        """Return (chunk number, record in that chunk) of a record; the end gives the last chunk's end."""
        if not 0 <= record <= self.num_records:
            raise IndexError(f"the file has {self.num_records} records and no record {record}")
        chunk = bisect.bisect_right(self._edges, record) - 1
        return chunk, record - self._edges[chunk]

    def place(self, record: int) -> tuple[int, int]:
        """Return (byte offset of the chunk, record in that chunk), as `BlockReader(start=...)` takes it."""
        chunk, skip = self.locate(record)
        if chunk == self.num_chunks:
            return (int(self.ends[-1]) if self.num_chunks else 0), 0
        return int(self.offsets[chunk]), skip

    def __len__(self) -> int:
        return self.num_chunks

    def __repr__(self) -> str:
        return f"ChunkIndex({self.num_chunks} chunks, {self.num_records} records)"


def build_index(
    what: object, *, on_error: OnError = "raise", partial: bool = False, dialect: Dialect | None = None
) -> ChunkIndex:
    """Return the index of a path, URL, file object or ByteSource.

    Args:
        on_error: "raise" at damage; "skip" omits chunks whose headers show damage.
        partial: instead of raising, return the index up to the damage, which is stored in `problem`.
        dialect: that of the first chunk, if known; otherwise its checksum decides.

    Raises:
        RecordIOError: the chain of headers is broken.
    """
    reader = ChunkReader(what, on_error=on_error)
    try:
        index = _hop(reader, dialect)
    finally:
        reader.close()
    if index.problem is not None and on_error == "raise" and not partial:
        raise index.problem
    return index


def _hop(reader: ChunkReader, dialect: Dialect | None) -> ChunkIndex:
    source = reader.source
    offsets: list[int] = []
    counts: list[int] = []
    ends: list[int] = []
    offset, size = 0, source.size
    problem: RecordIOError | None = None
    while size - offset >= len(MAGIC):
        try:
            dialect, header = _header(reader, dialect, offset, size)
        except ForeignFileError:
            raise
        except RecordIOError as error:
            if reader.empty.skip(offset):
                offset += HEADER_SIZE
                continue
            problem = problem or error
            if reader.on_error == "raise":
                break
            reader.damage.append(error)
            offset = reader.resync(offset)
            reader.number += 1
            continue
        reader.number += 1
        offsets.append(offset)
        counts.append(header.num_records)
        offset += HEADER_SIZE + header.size
        ends.append(offset)
    return ChunkIndex(
        np.array(offsets, np.int64), np.array(counts, np.int64), np.array(ends, np.int64), dialect, problem
    )


def _header(reader: ChunkReader, dialect: Dialect | None, offset: int, size: int) -> tuple[Dialect, Header]:
    """Return the header at `offset`, parsed in the dialect of the previous chunk if that is plausible."""
    head = reader.source.read(offset, HEADER_SIZE)
    if dialect is not None and head[:4] == MAGIC and len(head) == HEADER_SIZE:
        header = dialect.parse(head)
        if dialect.plausible(header) and offset + HEADER_SIZE + header.size <= size:
            return dialect, _believed(reader, offset, dialect, header)
    # The first chunk, another dialect after a `cat`, or damage: only the checksum can tell.
    reader.dialect = dialect
    dialect, header = reader.identify(offset)
    return dialect, _believed(reader, offset, dialect, header)


def _believed(reader: ChunkReader, offset: int, dialect: Dialect, header: Header) -> Header:
    """Return a header with a plausible number of records; if it is doubtful, read the chunk to check.

    No checksum covers that number, and tasks, lengths and array sizes depend on it.
    """
    compressor = dialect.compressors.get(header.compressor)
    plain = compressor is None or compressor.name == "none"
    if header.num_records > (header.size // 4 if plain else header.size):
        reader.check(offset)
    return header


def find_tail(source: ByteSource) -> tuple[Dialect | None, int, CutTailError | None]:
    """Return the dialect, the end of the last good chunk, and the truncated tail after it, if any.

    Raises:
        RecordIOError: damage that is not at the tail.
    """
    reader = ChunkReader(source)
    index = _hop(reader, None)
    end = int(index.ends[-1]) if index.num_chunks else 0
    if index.problem is not None and not isinstance(index.problem, CutTailError):
        raise index.problem
    dialect = index.dialect
    if index.num_chunks:
        last = int(index.offsets[-1])
        reader.offset, reader.number, reader.dialect = last, index.num_chunks - 1, dialect
        try:
            reader.next()
        except RecordIOError as error:
            torn = CutTailError(error.problem, path=source.name, chunk=error.chunk, offset=last)
            return dialect, last, torn
    if end < source.size:
        while reader.empty.skip(end):
            end += HEADER_SIZE
    if end < source.size:
        cut = index.problem or CutTailError(f"{source.size - end} stray bytes", path=source.name, offset=end)
        return dialect, end, cut
    return dialect, end, None
