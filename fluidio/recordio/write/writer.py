"""Writer: records in, chunks out; any dialect, any compressor."""

from __future__ import annotations

import struct
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal

import numpy as np

from fluidio.era import era
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.decode.buffers import Buffer
from fluidio.recordio.files.index import ChunkIndex
from fluidio.recordio.files.sidecar import put_index
from fluidio.recordio.files.source import is_url
from fluidio.recordio.format.dialects import ELASTICDL, FLUID, GO, HEADER_SIZE, Dialect, Header, dialect_of
from fluidio.recordio.format.tensor_codec import encode_record
from fluidio.recordio.write.arguments import check_columns, checked_tensor, columns_of, copied
from fluidio.recordio.write.encode import encode_block, record_sizes
from fluidio.recordio.write.sample_buffer import SampleBuffer
from fluidio.recordio.write.sink import LocalSink, open_sink
from fluidio.recordio.write.write_behind import WriteBehind
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray, LoD

__all__ = ["Writer"]

_length = struct.Struct("<I")
_LARGEST = 0xFFFFFFFF
# Fluid had no limit in bytes; a chunk must fit its 32-bit size field even if compression makes it larger.
_HARD_LIMIT = 0xE0000000
_LARGE = 8 << 20
"""Blocks of at least this many bytes are worth a helper thread."""
_DEFAULT_BYTES = {FLUID: _HARD_LIMIT, GO: 32 << 20, ELASTICDL: 1024}


class Writer:
    """Write records into a RecordIO file.

    Chunks are written whole, so a killed process loses only the open chunk; `mode="a"` repairs a truncated tail before
    appending.

    Args:
        path: a path, an fsspec URL or a binary file object.
        compressor: "snappy", "none" or "gzip", or Fluid's number (0 none, 1 snappy). "zstd" makes smaller files that
            fluidio alone can read.
        max_num_records: records in a chunk; 0 and 1 both mean one (Fluid). None: only the bytes count.
        dialect: "fluid", "go" or "elasticdl"; by default Fluid's, or that of the file appended to.
        mode: "w" starts anew, "a" appends.
        max_chunk_bytes: close a chunk before its records exceed this (length words not counted).
        atomic: write to a temporary file and rename it when closed; an exception in the `with` block leaves nothing.
        threads: compress this many chunks at a time in the background.

    Example:
        >>> with Writer("demo.recordio") as writer:                                 # doctest: +SKIP
        ...     writer.write(b"abc")
        ...     writer.write_block([images, labels])
    """

    def __init__(
        self,
        path: object,
        compressor: str | int = "snappy",
        max_num_records: int | None = 1000,
        *,
        dialect: str | Dialect | None = None,
        mode: Literal["w", "a"] = "w",
        max_chunk_bytes: int | None = None,
        atomic: bool = False,
        threads: int = 0,
    ) -> None:
        if mode not in ("w", "a"):
            raise ValueError(f'mode must be "w" or "a", got {mode!r}')
        if atomic and mode == "a":
            raise ValueError('atomic=True replaces the file, so it excludes mode="a"')
        wanted = None if dialect is None else dialect_of(dialect)
        known = wanted or FLUID
        self._compressor_name = _compressor_name(compressor)
        known.compressor_id(self._compressor_name)  # a wrong name must not create the file
        _refuse_ours(self._compressor_name)
        self._sink = open_sink(path, mode, atomic)
        found = self._sink.dialect
        if wanted is not None and found is not None and found is not wanted:
            self._sink.close(keep=True)
            raise ValueError(f"{self.name} is in the dialect {found.name}, so it cannot be continued in {wanted.name}")
        self.dialect = found or known
        self._compressor_id = self.dialect.compressor_id(self._compressor_name)
        self._compressor = self.dialect.compressors[self._compressor_id]
        self._max_records = _LARGEST if max_num_records is None else max(1, max_num_records)
        self._max_bytes = min(max_chunk_bytes or _DEFAULT_BYTES[self.dialect], _HARD_LIMIT)
        self._pieces: list[Any] = []
        self._count = 0
        self._bytes = 0
        self._scratch = Buffer()
        self._spare: Buffer | None = None
        self._behind: WriteBehind | None = None
        self._write: Callable[[bytes, Any], None] = self._sink.write
        self._pool = ThreadPoolExecutor(threads, "recordio-compress") if threads else None
        self._pending: deque[tuple[int, int, Future[Any]]] = deque()  # number of the chunk, records, what is stored
        self._chunk = 0  # the number of the open chunk
        self._undo: tuple[int, int, int, int] | None = None  # the state before a call, until it is done
        self._threads = threads
        self._chunk_counts, self._chunk_sizes = array("q"), array("q")
        self.closed = False
        self.num_records = 0
        """Number of records accepted so far."""

    @property
    def name(self) -> str:
        """Return the path for messages."""
        return self._sink.name

    # -- records --------------------------------------------------------------------------------------------------

    def write(self, record: bytes | bytearray | memoryview | str) -> None:
        """Add one record; a str is stored as UTF-8."""
        if type(record) is not bytes:
            record = record.encode() if isinstance(record, str) else copied(record)
        size = len(record)
        if self._undo is not None:
            self._recover()
        count, before = self._count, self._bytes
        self._undo = (self._chunk, len(self._pieces), count, before)
        if before + size > self._max_bytes:
            if size > _HARD_LIMIT:
                raise ValueError(f"the record has {size} bytes, but the format holds at most {_HARD_LIMIT}")
            if count:
                self._end_chunk()
                count = before = 0
        if self.closed:
            raise ValueError(f"{self.name}: the writer is closed")
        self._pieces += (_length.pack(size), record)
        self._bytes = before + size
        self._count = count + 1
        self.num_records += 1
        if self._count >= self._max_records:
            self._end_chunk()
        self._undo = None

    def write_parts(self, parts: list[bytes]) -> None:
        """Add one record given in pieces."""
        size = sum(map(len, parts))
        if size > self._max_bytes or (self._count and self._bytes + size > self._max_bytes) or self.closed:
            self.write(b"".join(parts))
            return
        if self._undo is not None:
            self._recover()
        self._undo = (self._chunk, len(self._pieces), self._count, self._bytes)
        self._pieces.append(_length.pack(size))
        self._pieces += parts
        self._bytes += size
        self._count += 1
        self.num_records += 1
        if self._count >= self._max_records:
            self._end_chunk()
        self._undo = None

    def write_tensors(self, tensors: Sequence[tuple[Array, LoD]]) -> None:
        """Add one record of (array, LoD) pairs."""
        self.write(encode_record([checked_tensor(pair) for pair in tensors]))

    def write_block(self, columns: RecordBlock | Sequence[Column | Array]) -> None:
        """Add many tensor records at once: one for each row of the arrays, or as the columns say."""
        block = columns if isinstance(columns, RecordBlock) else RecordBlock(columns_of(columns))
        if self.closed:
            raise ValueError(f"{self.name}: the writer is closed")
        check_columns(block)
        if self._undo is not None:
            self._recover()
        sizes = record_sizes(block)
        if len(sizes) and int(sizes.max()) > _HARD_LIMIT:
            raise ValueError(f"a record has {int(sizes.max())} bytes, but the format holds at most {_HARD_LIMIT}")
        ends = np.cumsum(sizes)
        if not len(ends) or ends[-1] < _LARGE or self._pool is not None or not isinstance(self._sink, LocalSink):
            self._cut(block, ends)
            return
        # All of it has been handed to the system when this returns, so a killed process still loses only the open
        # chunk.
        with WriteBehind(self._sink.write) as self._behind:
            self._write, self._spare = self._behind.write, Buffer()
            try:
                self._cut(block, ends)
            finally:
                self._write, self._spare = self._sink.write, None
        self._behind = None

    def _cut(self, block: RecordBlock, ends: IntArray) -> None:
        """Put a block into chunks; `ends` are the running sums of its record sizes."""
        start, total = 0, len(block)
        while start < total:
            before = int(ends[start - 1]) if start else 0
            room = int(np.searchsorted(ends, before + self._max_bytes - self._bytes, side="right"))
            stop = min(start + self._max_records - self._count, total, max(room, start + (not self._count)))
            if stop == start:
                self._end_chunk()
                continue
            part = block if not start and stop == total else block.slice(start, stop)
            size = int(ends[stop - 1]) - before
            self._take(encode_block(part, None if self._pool else self._scratch, size), stop - start, size)
            start = stop

    def write_encoded(self, payload: bytes | bytearray, count: int) -> None:
        """Add many encoded records at once, each of them behind its length in four bytes."""
        if self.closed:
            raise ValueError(f"{self.name}: the writer is closed")
        if self._undo is not None:
            self._recover()
        size = len(payload) - 4 * count
        if self._bytes + size <= self._max_bytes and self._count + count <= self._max_records:
            self._take(payload, count, size)
            return
        start = 0
        for _ in range(count):
            stop = start + 4 + _length.unpack_from(payload, start)[0]
            self.write(bytes(payload[start + 4 : stop]))
            start = stop

    def _take(self, payload: bytes | bytearray | memoryview, count: int, size: int) -> None:
        """Put encoded records into the open chunk, or straight into the file if they fill one."""
        self._undo = (self._chunk, len(self._pieces), self._count, self._bytes)
        self.num_records += count
        if not self._count and count == self._max_records:
            self._emit(payload, count)
            self._begin_chunk()
            self._undo = None
            if self._spare is not None:  # the chunk may still be written from this one
                self._scratch, self._spare = self._spare, self._scratch
            return
        self._pieces.append(bytes(payload))
        self._count += count
        self._bytes += size
        if self._count >= self._max_records:
            self._end_chunk()
        self._undo = None

    def write_samples(
        self,
        samples: Iterable[Sequence[Any]],
        *,
        dtypes: Sequence[object] | None = None,
        lod_levels: Sequence[int] = (),
    ) -> int:
        """Add one tensor record for each sample of a Python reader and return how many there were.

        Args:
            samples: tuples with one item for each slot: an array, a list or a number.
            dtypes: one for each slot; as NumPy finds it where not given.
            lod_levels: 1 for a slot of sequences of varying length (rows are its items), else 0.
        """
        before = self.num_records
        buffer = SampleBuffer(min(self._max_records, 4096), dtypes, lod_levels)
        source = iter(samples)
        try:
            while buffer.fill(source):
                self.write_block(buffer.take())
        finally:  # samples before an exception in the reader are good
            if len(buffer):
                self.write_block(buffer.take())
        return self.num_records - before

    # -- chunks ---------------------------------------------------------------------------------------------------

    def _end_chunk(self) -> None:
        if self.closed:
            raise ValueError(f"{self.name}: the writer is closed")
        if self._count:
            self._emit(b"".join(self._pieces), self._count)
            self._begin_chunk()

    def _begin_chunk(self) -> None:
        self._pieces = []
        self._count = self._bytes = 0
        self._chunk += 1

    def _recover(self) -> None:
        """Undo a call that failed or was interrupted (Ctrl-C), unless its chunk is stored.

        So no earlier record is lost, none is duplicated, and no chunk holds half a record.
        """
        assert self._undo is not None
        if self._behind is not None:
            self._behind.wait()
            self._behind = None
        chunk, pieces, count, size = self._undo
        stored = self._pending[-1][0] + 1 if self._pending else self._sink.chunks
        if chunk < stored:
            self._chunk, self._pieces, self._count, self._bytes = stored, [], 0, 0
        else:
            del self._pieces[pieces:]
            self.num_records -= self._count - count
            self._count, self._bytes = count, size
        self._undo = None

    def _emit(self, payload: Any, count: int) -> None:
        if self._pool is not None:
            try:
                self._pending.append((self._chunk, count, self._pool.submit(self._compressor.compress, payload)))
            except RuntimeError:  # the interpreter is ending and starts no more work
                self._drain(0)
            else:
                self._drain(2 * self._threads)
                return
        self._store(self._compressor.compress(payload), count)

    def _drain(self, leave: int) -> None:
        while len(self._pending) > leave:
            number, count, future = self._pending[0]
            if number >= self._sink.chunks:  # else it was stored before the interruption
                self._store(future.result(), count)
            self._pending.popleft()

    def _store(self, stored: Any, count: int) -> None:
        if len(stored) > _LARGEST:
            raise ValueError(f"a chunk of {len(stored)} bytes does not fit its 32-bit size: lower max_chunk_bytes")
        header = Header(count, self.dialect.checksum(stored), self._compressor_id, len(stored))
        self._write(self.dialect.pack(header), stored)
        self._chunk_counts.append(count)
        self._chunk_sizes.append(HEADER_SIZE + len(stored))

    def flush(self, *, sync: bool = False) -> None:
        """End the open chunk and pass everything to the operating system; `sync` waits for the disk."""
        if self._undo is not None:
            self._recover()
        self._undo = (self._chunk, len(self._pieces), self._count, self._bytes)
        self._end_chunk()
        self._undo = None
        self._drain(0)
        if sync:
            self._sink.sync()

    def close(self) -> None:
        """Write the open chunk and close the file; closing twice is allowed."""
        if self.closed:
            return
        try:
            self.flush()
        except BaseException:
            self._finish(keep=False)
            raise
        self._finish(keep=True)

    def abort(self) -> None:
        """Close without writing the open chunk; with `atomic` nothing is left behind."""
        if not self.closed:
            self._finish(keep=False)

    def _finish(self, *, keep: bool) -> None:
        self.closed = True
        self._pieces.clear()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._sink.close(keep=keep)
        if keep and is_url(self.name):
            put_index(self.name, self.chunk_index())

    def chunk_index(self) -> ChunkIndex:
        """Return the index of the chunks that this writer wrote, from its own first byte on."""
        counts, sizes = np.array(self._chunk_counts, np.int64), np.array(self._chunk_sizes, np.int64)
        ends = np.cumsum(sizes)
        return ChunkIndex(ends - sizes, counts, ends, self.dialect)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None or not (self._atomic or self._sink.broken):
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        # Fluid 1.x: the destructor closes the file. An atomic file that nobody closed does not appear.
        if not getattr(self, "closed", True):
            if self._atomic or self._sink.broken:
                self.abort()
            else:
                self.close()

    @property
    def _atomic(self) -> bool:
        return getattr(self._sink, "_path", None) != getattr(self._sink, "_target", None)


def _refuse_ours(compressor: str) -> None:
    if compressor.lower() == "zstd" and era().strict:
        raise ValueError("strict=True writes only files that Fluid can read, and Fluid cannot read zstd: use snappy")


def _compressor_name(compressor: str | int) -> str:
    if isinstance(compressor, str):
        return compressor
    names = {0: "none", 1: "snappy", 2: "gzip"}
    if compressor not in names:
        raise ValueError(f"compressor must be 0 (none), 1 (snappy) or a name, got {compressor!r}")
    return names[int(compressor)]
