"""BlockReader: a file of Fluid tensor records as a sequence of RecordBlocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fluidio.errors import RecordIOError
from fluidio.recordio.block import RecordBlock
from fluidio.recordio.buffers import Buffer
from fluidio.recordio.chunks import Chunk, ChunkReader, OnError
from fluidio.recordio.columnar import ChunkBlocks, Decoder, RecordError
from fluidio.recordio.dialects import FLUID
from fluidio.recordio.tasks import Task

__all__ = ["BlockReader"]


class BlockReader:
    """Iterate over the RecordBlocks of one file, chunk by chunk.

    A chunk gives one block, or several where the layout changes inside it. The blocks own their memory. Every good
    record before damage is delivered before the error is raised. One reader belongs to one thread; readers in
    different threads run in parallel (checksums and decompression release the interpreter lock).

    Args:
        path: a path, URL, binary file object, or a range of records from `recordio.tasks`.
        on_error: "raise", or "skip" to go on behind damaged chunks and records; `damage` lists what was skipped.
        verify_inner: also check the checksums inside snappy streams.
        start: where to begin, as `tell()` gave it: (byte offset of a chunk, record in that chunk).
        stop: where to end, in the same form; None is the end of the file.
        buffers: memory to share with other readers, which must not read before the chunk here is used up.

    Example:
        >>> with BlockReader("mnist.recordio") as blocks:                           # doctest: +SKIP
        ...     for block in blocks:
        ...         (image, _), (label, _) = block.tensors()
    """

    def __init__(
        self,
        path: Any,
        *,
        on_error: OnError = "raise",
        verify_inner: bool = False,
        start: tuple[int, int] | None = None,
        stop: tuple[int, int] | None = None,
        buffers: tuple[Buffer, Buffer] | None = None,
    ) -> None:
        if isinstance(path, Task):
            start = start or path.first
            stop = stop or path.last
            path = path.path
        self._stop = stop
        offset, record = start or (0, 0)
        self._chunks = ChunkReader(path, on_error=on_error, verify_inner=verify_inner, offset=offset, buffers=buffers)
        self._decoder = Decoder(self.name)
        self._damage: list[RecordIOError] = []
        self._chunk: Chunk | None = None
        self._blocks: ChunkBlocks | None = None
        self._position = (offset, record)

    @property
    def name(self) -> str:
        """Return the path for messages."""
        return self._chunks.source.name

    @property
    def damage(self) -> list[RecordIOError]:
        """Return the errors that were skipped so far, in the order of the file."""
        return sorted(self._chunks.damage + self._damage, key=lambda error: error.offset or 0)

    def tell(self) -> tuple[int, int]:
        """Return the place of the next record: (byte offset of its chunk, number in that chunk).

        `BlockReader(path, start=reader.tell())` goes on from here.
        """
        return self._position

    @property
    def position(self) -> tuple[int, int]:
        """Return `tell()`."""
        return self._position

    def seek(self, position: tuple[int, int], stop: tuple[int, int] | None = None) -> None:
        """Go on from a place that `tell()` gave, to the end or to another such place."""
        self._chunks.offset = position[0]
        self._stop = stop
        self._chunk = None
        self._position = position

    def __iter__(self) -> Iterator[RecordBlock]:
        return self

    def __next__(self) -> RecordBlock:
        block = self.read()
        if block is None:
            raise StopIteration
        return block

    def read(self, limit: int | None = None) -> RecordBlock | None:
        """Return the next block, None at the end of the file or range.

        Args:
            limit: at most so many records. Asking for a batch is faster than slicing a chunk: dense records are copied
                when they are asked for.
        """
        while self._stop is None or self._position < self._stop:
            chunk, blocks = self._chunk, self._blocks
            if chunk is None or blocks is None:
                chunk = self._chunks.next()
                if chunk is None:
                    self._position = (self._chunks.offset, 0)
                    return None
                self._chunk = chunk
                # Another chunk than the one we were sent to: that one was damaged and skipped.
                record = self._position[1] if chunk.offset == self._position[0] else 0
                self._position = (chunk.offset, record)
                blocks = self._blocks = self._decoder.open(chunk.payload, chunk.table, record)
            try:
                block = blocks.read(limit)
            except RecordError as error:
                self._bad_record(chunk, error)
                continue
            if block is None:
                self._chunk = None
                self._position = (chunk.end, 0)
                continue
            block = self._within(chunk, block)
            if block is not None:
                return block
        return None

    def _within(self, chunk: Chunk, block: RecordBlock) -> RecordBlock | None:
        """Move the position behind `block` and return what of it lies before the stop."""
        record = self._position[1]
        if self._stop is not None and (chunk.offset, record + len(block)) > self._stop:
            left = self._stop[1] - record if chunk.offset == self._stop[0] else 0
            self._position = self._stop
            return block.slice(0, left) if left > 0 else None
        record += len(block)
        self._position = (chunk.end, 0) if record >= chunk.table.count else (chunk.offset, record)
        return block

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
        # The next call starts behind the bad record, whether it was skipped or its error caught.
        following = cause.record + 1
        self._blocks = self._decoder.open(chunk.payload, chunk.table, following)
        self._position = (chunk.offset, following) if following < chunk.table.count else (chunk.end, 0)
        if self._chunks.on_error == "raise":
            raise error from cause
        self._damage.append(error)

    def close(self) -> None:
        """Close the file if it was opened here."""
        self._chunks.close()
        self._chunk = self._blocks = None

    def __enter__(self) -> BlockReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
