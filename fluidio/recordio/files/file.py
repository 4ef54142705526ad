"""File: random access, ranges and appending, with the names of elasticdl's pyrecordio."""

from __future__ import annotations

import bisect
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from fluidio.errors import RecordIOError
from fluidio.recordio.files.sidecar import open_index
from fluidio.recordio.files.source import LocalSource, RemoteSource, open_source
from fluidio.recordio.files.tasks import Task
from fluidio.recordio.format.chunk import Chunk
from fluidio.recordio.format.chunks import ChunkReader, OnError
from fluidio.recordio.format.compressors import NONE
from fluidio.recordio.format.dialects import HEADER_SIZE, Dialect
from fluidio.recordio.write.writer import Writer

__all__ = ["File"]

_CACHED_BYTES = 64 << 20
_CACHED_EDGES = 1 << 22


class _Spots(NamedTuple):
    """Where the records of a verified chunk are: in the file (`data` None) or in decoded bytes."""

    data: bytes | None
    base: int
    stride: int
    edges: array[int] | None


class File:
    """A RecordIO file of byte records.

    Reading accepts any dialect; writing uses Fluid's by default. A record is bytes; `str` is stored as
    UTF-8, and comes back as `str` when `encoding` is given.

    Args:
        path: a path, URL, binary file object, or (to read) a range from `recordio.tasks`.
        mode: "r", "w" (overwrite) or "a" (append).
        max_chunk_size: bytes of records in a chunk, when writing.
        compressor: "snappy", "none" or "gzip", when writing.
        dialect: "fluid", "go" or "elasticdl", when writing.
        encoding: return text instead of bytes.
        on_error: "skip" excludes damaged chunks from counting and iteration.
        sidecar: True stores the index in a file beside the data, False ignores it, None decides by the cost.

    Example:
        >>> with File("demo.recordio", "w") as f:                                   # doctest: +SKIP
        ...     f.write("abc")
        >>> with File("demo.recordio", "r") as f:                                   # doctest: +SKIP
        ...     f.count(), f.get(0), list(f.get_reader(0, 10))
        (1, b'abc', [b'abc'])
    """

    def __init__(
        self,
        path: object,
        mode: Literal["r", "w", "a"] = "r",
        *,
        max_chunk_size: int | None = None,
        compressor: str | int = "snappy",
        dialect: str | Dialect | None = None,
        encoding: str | None = None,
        on_error: OnError = "raise",
        sidecar: bool | None = None,
    ) -> None:
        if mode not in ("r", "w", "a"):
            raise ValueError(f'mode must be "r", "w" or "a", got {mode!r}')
        self.mode = mode
        self.encoding = encoding
        self._on_error = on_error
        self._writer: Writer | None = None
        if mode != "r":
            self._writer = Writer(path, compressor, dialect=dialect, mode=mode, max_chunk_bytes=max_chunk_size)
            self.name = self._writer.name
            return
        task = path if isinstance(path, Task) else None
        path = path if task is None else task.path
        self._source = open_source(path)
        self._owned = self._source is not path
        self.name = self._source.name
        self._local = isinstance(self._source, LocalSource)
        try:
            self._index = open_index(
                path if self._local else self._source, on_error=on_error, sidecar=sidecar, partial=True
            )
        except BaseException:
            self.close()
            raise
        self._start = 0 if task is None else task.start
        self._stop = self._index.num_records if task is None else min(task.stop, self._index.num_records)
        self._problem = self._index.problem if on_error == "raise" and (task is None or task.last is None) else None
        self._edges: list[int] = self._index.first_records.tolist()
        self._spots: dict[int, _Spots] = {}
        self._num_edges = 0
        self._decoded: OrderedDict[int, _Spots] = OrderedDict()
        self._decoded_bytes = 0
        self._lock = threading.Lock()
        self._chunks = ChunkReader(self._source)
        self._chunks.dialect = self._index.dialect

    # -- write ----------------------------------------------------------------------------------------------------

    def write(self, record: bytes | str) -> None:
        """Add one record."""
        self._writing().write(record)

    def flush(self) -> None:
        """End the open chunk and pass it to the operating system."""
        self._writing().flush()

    def _writing(self) -> Writer:
        if self._writer is None:
            raise ValueError(f"{self.name} is open for reading")
        return self._writer

    # -- read -----------------------------------------------------------------------------------------------------

    def _reading(self) -> None:
        if self._writer is not None:
            raise ValueError(f"{self.name} is open for writing")

    def count(self) -> int:
        """Return the number of records; no payload is read.

        Raises:
            RecordIOError: the file is damaged or cut and `on_error` is "raise".
        """
        self._reading()
        if self._problem is not None:
            raise self._problem
        return self._stop - self._start

    def __len__(self) -> int:
        return self.count()

    def get(self, index: int) -> Any:
        """Return record number `index`; negative numbers count from the end.

        A chunk is verified on first access; after that its records come straight from the file (if uncompressed) or
        from a small cache of decoded chunks. Several threads may call this.
        """
        self._reading()
        index += self._start if index >= 0 else self._stop
        if not self._start <= index < self._stop:
            raise IndexError(f"{self.name} has {self._stop - self._start} records and no record {index - self._start}")
        edges = self._edges
        chunk = bisect.bisect_right(edges, index) - 1
        spots = self._spots.get(chunk)
        if spots is None:
            with self._lock:
                spots = self._find(chunk)
        number = index - edges[chunk]
        if spots.edges is None:
            start = spots.base + number * spots.stride + 4
            stop = start + spots.stride - 4
        else:
            start = spots.base + spots.edges[number] + 4
            stop = spots.base + spots.edges[number + 1]
        if spots.data is None:
            record = self._source.read(start, stop - start)
            if len(record) != stop - start:
                raise RecordIOError("the file was shortened while it was being read", path=self.name, offset=start)
        else:
            record = spots.data[start:stop]
        return record if self.encoding is None else record.decode(self.encoding)

    __getitem__ = get

    def _find(self, number: int) -> _Spots:
        """Return the positions of a chunk's records, verified on first access."""
        known = self._spots.get(number) or self._decoded.get(number)
        if known is not None:
            if number in self._decoded:
                self._decoded.move_to_end(number)
            return known
        chunk = self._read_chunk(self._chunks, number)
        table = chunk.table
        edges: array[int] | None = None
        if table.stride is None:
            edges = array("q", (table.starts - 4).tobytes())
            edges.append(int(table.stops[-1]))
        if self._local and chunk.dialect.compressors[chunk.header.compressor] is NONE:
            spots = _Spots(None, chunk.offset + HEADER_SIZE, table.stride or 0, edges)
            self._num_edges += table.count if edges is not None else 1
            if self._num_edges > _CACHED_EDGES:
                self._spots.clear()
                self._num_edges = table.count
            self._spots[number] = spots
            return spots
        data = bytes(chunk.payload)
        spots = self._decoded[number] = _Spots(data, 0, table.stride or 0, edges)
        self._decoded_bytes += len(data)
        while self._decoded_bytes > _CACHED_BYTES and len(self._decoded) > 1:
            _, old = self._decoded.popitem(last=False)
            self._decoded_bytes -= len(old.data or b"")
        return spots

    def get_reader(self, start: int = 0, end: int | None = None) -> Iterator[Any]:
        """Iterate over records start..end; records past the end of the file are simply absent.

        Args:
            end: None or -1 for all records.
        """
        self._reading()
        total = self._stop - self._start
        everything = end is None or end == -1 or end > total
        stop = total if end is None or end == -1 else min(end, total)
        return self._records(self._start + max(0, start), self._start + stop, self._problem if everything else None)

    def _records(self, start: int, stop: int, problem: RecordIOError | None) -> Iterator[Any]:
        reader = ChunkReader(self._source)
        reader.dialect = self._index.dialect
        number = bisect.bisect_right(self._edges, start) - 1
        while start < stop:
            before, after = self._edges[number], self._edges[number + 1]
            try:
                records = self._read_chunk(reader, number).records(start - before, stop - before)
            except RecordIOError:
                if self._on_error == "raise":
                    raise
                records = []
            yield from records if self.encoding is None else (r.decode(self.encoding) for r in records)
            start = after
            number += 1
        if problem is not None:
            raise problem

    def _read_chunk(self, reader: ChunkReader, number: int) -> Chunk:
        reader.offset, reader.number = int(self._index.offsets[number]), number
        if isinstance(self._source, RemoteSource):
            self._source.prefetch(reader.offset, int(self._index.ends[number]) - reader.offset)
        chunk = reader.next()
        if chunk is None or chunk.table.count != self._index.counts[number] or chunk.end != self._index.ends[number]:
            raise RecordIOError("this is not the file that was indexed", path=self.name, chunk=number)
        return chunk

    def __iter__(self) -> Iterator[Any]:
        return self.get_reader()

    # -- end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write the open chunk, and close the file."""
        if self._writer is not None:
            self._writer.close()
        elif self._owned:
            self._source.close()

    def __enter__(self) -> File:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.__exit__(*error)
        else:
            self.close()
