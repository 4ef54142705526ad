"""Follow a growing file, or a pipe: chunks are delivered as soon as they are complete."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from fluidio.errors import RecordIOError
from fluidio.recordio.files.pipes import is_pipe, open_pipe
from fluidio.recordio.format.chunk import Chunk
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.dialects import DIALECTS, HEADER_SIZE, MAGIC

__all__ = ["follow", "follow_chunks"]

_PIECE = 1 << 20


class Stop(Protocol):
    """An object that can end a wait early, such as a `threading.Event`."""

    def wait(self, timeout: float) -> bool: ...


def follow(path: str, *, poll: float = 0.2, idle: float | None = None, stop: Stop | None = None) -> Iterator[bytes]:
    """Yield the records of a file that is still being written, and wait for more.

    Only complete chunks are read, so records arrive when the writer flushes or its chunk is full; a chunk that a killed
    writer left incomplete is skipped once another writer has repaired the file (mode "a").

    Args:
        path: a file, which may not be there yet, a named pipe, or `-` (standard input); a pipe ends with its writer.
        poll: seconds between checks of the file.
        idle: end after this many seconds without a new chunk; None never ends.
        stop: a `threading.Event` that ends it.

    Raises:
        RecordIOError: a chunk is damaged, or the file was cut or replaced.

    Example:
        >>> for record in follow("events.recordio"):                                # doctest: +SKIP
        ...     print(len(record))
    """
    for chunk in follow_chunks(path, poll=poll, idle=idle, stop=stop):
        yield from chunk.records()


def follow_chunks(
    path: str, *, poll: float = 0.2, idle: float | None = None, stop: Stop | None = None
) -> Iterator[Chunk]:
    """Yield chunks as `follow` yields their records."""
    source = _Pipe(path) if is_pipe(path) else _GrowingFile(path)
    waiting = _Waiting(poll, idle, stop)
    reader = ChunkReader(source)
    try:
        while True:
            chunk = _next(reader, source)
            if chunk is not None:
                waiting.restart()
                yield chunk
            elif not source.grow(reader.offset) and (source.ended or not waiting.wait()):
                _check_end(reader, source)
                return
    finally:
        reader.close()
        source.close()


class _Waiting:
    def __init__(self, poll: float, idle: float | None, stop: Stop | None) -> None:
        self._poll, self._idle, self._stop = poll, idle, stop
        self._since = time.monotonic()

    def restart(self) -> None:
        self._since = time.monotonic()

    def wait(self) -> bool:
        """Wait a little; return False when it is time to end."""
        if self._idle is not None and time.monotonic() - self._since >= self._idle:
            return False
        if self._stop is not None:
            return not self._stop.wait(self._poll)
        time.sleep(self._poll)
        return True


def _next(reader: ChunkReader, source: _GrowingFile | _Pipe) -> Chunk | None:
    """Return the chunk at the reader's position if it is complete."""
    head = source.read(reader.offset, HEADER_SIZE)
    if len(head) < HEADER_SIZE and MAGIC.startswith(head[:4]):
        return None
    left = source.size - reader.offset - HEADER_SIZE
    headers = [dialect.parse(head) for dialect in DIALECTS if dialect.plausible(dialect.parse(head))]
    missing = any(header.size > left for header in headers)
    if headers and all(header.size > left for header in headers):
        return None
    try:
        return reader.next()
    except RecordIOError:
        if missing:  # another dialect's chunk, not complete yet
            return None
        raise


def _check_end(reader: ChunkReader, source: _GrowingFile | _Pipe) -> None:
    """Raise if a pipe has ended inside a chunk; a file may still grow later."""
    if source.ended and source.size > reader.offset:
        reader.next()


class _GrowingFile:
    """A local file whose size changes."""

    ended = False

    def __init__(self, path: str) -> None:
        self.name = os.fspath(path)
        self.size = 0
        self._descriptor = -1

    def grow(self, offset: int) -> bool:
        """Check the file again; return True if it has grown."""
        if self._descriptor < 0:
            try:
                self._descriptor = os.open(self.name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            except FileNotFoundError:
                return False
        before, self.size = self.size, os.fstat(self._descriptor).st_size
        if self.size < offset:
            raise RecordIOError(
                f"the file was cut to {self.size} bytes while it was being followed", path=self.name, offset=offset
            )
        if self.size == before and not self._is_still():
            raise RecordIOError("the file was replaced while it was being followed", path=self.name, offset=offset)
        return self.size > before

    def _is_still(self) -> bool:
        ours = os.fstat(self._descriptor)
        try:
            there = os.stat(self.name)
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def read(self, offset: int, size: int) -> bytes:
        return b"" if self._descriptor < 0 else os.pread(self._descriptor, size, offset)

    def readinto(self, offset: int, target: memoryview) -> int:
        data = self.read(offset, len(target))
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class _Pipe:
    """The bytes received from a pipe and not read yet."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.size = 0
        self.ended = False
        self._stream: BinaryIO = open_pipe(path)
        self._own = path != "-"
        self._start = 0
        self._held = bytearray()

    def grow(self, offset: int) -> bool:
        """Wait for more; return False at the end. Bytes before `offset` will not be read again."""
        del self._held[: offset - self._start]
        self._start = offset
        data = os.read(self._stream.fileno(), _PIECE)
        self._held += data
        self.size += len(data)
        self.ended = not data
        return bool(data)

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self._held[offset - self._start : offset - self._start + size])

    def readinto(self, offset: int, target: memoryview) -> int:
        data = self.read(offset, len(target))
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if self._own:
            self._stream.close()
