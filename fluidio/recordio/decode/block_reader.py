"""BlockReader: a file of Fluid tensor records as a sequence of RecordBlocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fluidio.errors import RecordIOError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.columnar import Decoder, RecordError
from fluidio.recordio.decode.direct import COPIED, load_directly, may_load_ragged
from fluidio.recordio.decode.spans import Part, Span, gather
from fluidio.recordio.files.source import LocalSource
from fluidio.recordio.files.tasks import Task
from fluidio.recordio.format.chunk import Chunk
from fluidio.recordio.format.chunks import ChunkReader, Hop, OnError
from fluidio.recordio.format.dialects import FLUID

__all__ = ["BlockReader", "Loaded"]


class Loaded(NamedTuple):
    """A chunk that was read ahead, and its record positions if they do not depend on earlier records."""

    chunk: Chunk
    span: Span | None


class BlockReader:
    """Iterate over the RecordBlocks of one file, chunk by chunk.

    A chunk gives one block, or several where the layout changes inside it. The blocks own their memory. Every good
    record before damage is delivered before the error is raised. One reader belongs to one thread; readers in
    different threads run in parallel (checksums and decompression release the interpreter lock).

    Args:
        path: a path, URL, binary file object, or a range of records from `recordio.tasks`.
        on_error: "raise", or "skip" to continue after damaged chunks and records; `damage` lists what was skipped.
        verify_inner: also check the checksums inside snappy streams.
        start: where to begin, as returned by `tell()`: (byte offset of a chunk, record in that chunk).
        stop: where to end, in the same form; None is the end of the file.
        buffers: the memory pool, to share it with other readers.
        like: a reader of the same file, whose open file and knowledge of it are shared; it closes the file.

    Example:
        >>> with BlockReader("mnist.recordio") as blocks:                           # doctest: +SKIP
        ...     for block in blocks:
        ...         (image, _), (label, _) = block.tensors()
    """

    def __init__(
        self,
        path: object,
        *,
        on_error: OnError = "raise",
        verify_inner: bool = False,
        start: tuple[int, int] | None = None,
        stop: tuple[int, int] | None = None,
        buffers: Pool | None = None,
        like: BlockReader | None = None,
    ) -> None:
        if isinstance(path, Task):
            start = start or path.first
            stop = stop or path.last
            path = path.path
        offset, record = start or (0, 0)
        self._buffers = Pool() if buffers is None else buffers
        self._chunks: ChunkReader = ChunkReader(
            path if like is None else like._chunks.source,
            on_error=on_error,
            verify_inner=verify_inner,
            offset=offset,
            buffers=self._buffers,
        )
        self._end_at(stop)
        self._decoder: Decoder = Decoder(self.name) if like is None else like._decoder
        self._damage: list[RecordIOError] = []
        self._chunk: Chunk | None = None
        self._spans: Iterator[tuple[Span, int]] = iter(())
        self._span: Span | None = None
        self._at = 0  # the next record in the span
        self._late: RecordIOError | None = None  # damage found after records that must be delivered first
        self._position = (offset, record)
        self._loaded: Loaded | None = None

    @property
    def name(self) -> str:
        """Return the path for messages."""
        return self._chunks.source.name

    @property
    def damage(self) -> list[RecordIOError]:
        """Return the errors skipped so far, in file order."""
        return sorted(self._chunks.damage + self._damage, key=lambda error: error.offset or 0)

    def tell(self) -> tuple[int, int]:
        """Return the position of the next record: (byte offset of its chunk, number in that chunk).

        `BlockReader(path, start=reader.tell())` continues from here.
        """
        return self._position

    @property
    def position(self) -> tuple[int, int]:
        """Return `tell()`."""
        return self._position

    def seek(self, position: tuple[int, int], stop: tuple[int, int] | None = None) -> None:
        """Continue from a position that `tell()` returned, to the end or to another such position."""
        self._chunks.offset = position[0]
        self._end_at(stop)
        self._leave()
        self._late = self._loaded = self._chunks.loaded = None
        self._position = position

    def park(self) -> None:
        """Close the descriptor of a local file until the next read."""
        if isinstance(self._chunks.source, LocalSource):
            self._chunks.source.park()

    def _end_at(self, stop: tuple[int, int] | None) -> None:
        self._stop = stop
        self._chunks.until = None if stop is None else stop[0] + (stop[1] > 0)

    def __iter__(self) -> Iterator[RecordBlock]:
        return self

    def __next__(self) -> RecordBlock:
        block = self.read()
        if block is None:
            raise StopIteration
        return block

    def read(self, limit: int | None = None, *, across: bool = False) -> RecordBlock | None:
        """Return the next block, None at the end of the file or range.

        Args:
            limit: maximum number of records. Reading a batch is faster than slicing a chunk: records are copied on
                demand.
            across: continue in the next chunks until there are `limit` records, the layout changes, or damage is found.
        """
        first = self.locate(limit)
        if first is None:
            return None
        parts = [first]
        if across and limit is not None:
            self._take_more(parts, limit)
        return gather(parts, self._buffers)

    def locate(self, limit: int | None = None) -> Part | None:
        """Return the positions of the next block's records without copying; None at the end of the file or range."""
        late, self._late = self._late, None
        if late is not None:
            raise late
        span = self._open()
        return None if span is None else self._take(span, limit)

    def _take_more(self, parts: list[Part], limit: int) -> None:
        span, held = parts[0].span, len(parts[0])
        while held < limit:
            try:
                following = self._open()
            except RecordIOError as error:
                self._late = error
                return
            if following is None or following.layout != span.layout:
                return
            parts.append(self._take(following, limit - held))
            held += len(parts[-1])

    def _open(self) -> Span | None:
        """Return the span that holds the next record, None at the end."""
        while self._stop is None or self._position < self._stop:
            if self._span is not None:
                return self._span
            chunk = self._chunk
            if chunk is None:
                chunk = self._chunks.next()
                if chunk is None:
                    self._position = (self._chunks.offset, 0)
                    return None
                # Not the requested chunk: that one was damaged and skipped.
                record = self._position[1] if chunk.offset == self._position[0] else 0
                self._position = (chunk.offset, record)
                self._spans = self._spans_of(chunk, record)
                self._chunk = chunk
                continue
            try:
                found = next(self._spans, None)
            except RecordError as error:
                self._bad_record(chunk, error)
                continue
            if found is None:
                self._position = (chunk.end, 0)
                del chunk  # its buffer is free for the next one
                self._leave()
            else:
                self._span, self._at = found
        return None

    def _spans_of(self, chunk: Chunk, record: int) -> Iterator[tuple[Span, int]]:
        loaded, self._loaded = self._loaded, None
        if loaded is not None and loaded.chunk.payload is chunk.payload and record < chunk.table.count:
            found = self._decoder.still_good(loaded.span)
            if found is not None:
                return iter([(found, record)])
        return self._decoder.spans(chunk.payload, chunk.table, record)

    # -- ahead ----------------------------------------------------------------------------------------------------

    @property
    def inside_chunk(self) -> bool:
        """Whether records of the last chunk are left to read."""
        return self._chunk is not None and (self._stop is None or self._position < self._stop)

    def hop(self, offset: int, batch: int = 0) -> Hop | None:
        """Return the chunk at `offset` by its header; None if the header is implausible.

        Args:
            batch: as for `load`.
        """
        if self._stop is not None and self._position >= self._stop:  # maybe inside a chunk
            return Hop(offset, offset, 0, True)
        hop = self._chunks.hop(offset)
        if hop is not None and batch and not hop.worth_a_thread and may_load_ragged(self._chunks, self._decoder):
            return hop._replace(worth_a_thread=True)
        return hop

    def load(self, offset: int, batch: int = 0) -> Loaded | None:
        """Read the chunk at `offset` for `offer`, in any thread; None if something is wrong with it.

        Args:
            batch: how many records will be wanted together: those of a chunk with several batches are copied here, if
                that can be done while they are read.
        """
        try:
            header = self._chunks.announced(offset)
            found = batch and load_directly(self._chunks, self._decoder, offset, header, batch, self._buffers)
        except Exception:  # whatever it is, reading the chunk in its turn raises it again
            return None
        if found:
            return Loaded(*found)
        chunk = self._chunks.load(offset, header)
        return None if chunk is None else Loaded(chunk, self._decoder.whole(chunk.payload, chunk.table))

    def prepare(self, batch: int) -> None:
        """Copy the next chunk while it is read, if that can be done.

        Args:
            batch: how many records will be wanted together.
        """
        if self.inside_chunk or self._loaded is not None:
            return
        offset = self._position[0]
        try:
            hop = self._chunks.hop(offset)
            if hop is None or hop.is_end:
                return
            header = self._chunks.announced(offset)
            found = load_directly(self._chunks, self._decoder, offset, header, batch, self._buffers)
        except Exception:  # whatever it is, reading the chunk raises it again
            return
        if found:
            self.offer(Loaded(*found))

    def offer(self, loaded: Loaded) -> bool:
        """Accept a loaded chunk as the next one; return False if it is not the next."""
        if self.inside_chunk or loaded.chunk.offset != self._position[0]:
            return False
        if loaded.chunk.payload is COPIED and self._decoder.still_good(loaded.span) is None:
            return False
        self._loaded, self._chunks.loaded = loaded, loaded.chunk
        return True

    def _leave(self) -> None:
        """Release the chunk."""
        self._chunk = self._span = None
        self._spans = iter(())

    def _take(self, span: Span, limit: int | None) -> Part:
        """Return the next records of `span` and advance the position past them."""
        assert self._chunk is not None
        chunk = self._chunk
        record = self._position[1]
        start, stop = self._at, span.count
        if limit is not None and limit < stop - start:
            stop = start + limit
        if self._stop is not None and chunk.offset == self._stop[0]:
            stop = min(stop, start + self._stop[1] - record)
        record += stop - start
        self._at = stop
        self._position = (chunk.offset, record)
        if record == chunk.table.count:
            self._position = (chunk.end, 0)
            self._leave()
        elif stop == span.count:
            self._span = None
        return Part(span, start, stop)

    def _bad_record(self, chunk: Chunk, cause: RecordError) -> None:
        if chunk.dialect is FLUID:
            hint = "the chunk's checksum is right, so it was written like this; on_error='skip' passes over the record"
        else:
            hint = (
                f"this file is in the dialect of {chunk.dialect.title}; if it holds pickled samples, read it with "
                "reader.creator.recordio or recordio.sample_reader"
            )
        error = RecordIOError(
            f"record {cause.record}: {cause}", path=self.name, chunk=chunk.number, offset=chunk.offset, hint=hint
        )
        # The next call starts after the bad record, whether it was skipped or its error was caught.
        following = cause.record + 1
        self._spans = self._decoder.spans(chunk.payload, chunk.table, following)
        self._position = (chunk.offset, following) if following < chunk.table.count else (chunk.end, 0)
        if self._chunks.on_error == "raise":
            raise error from cause
        self._damage.append(error)

    def close(self) -> None:
        """Close the file if it was opened here."""
        self._chunks.close()
        self._leave()

    def __enter__(self) -> BlockReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
