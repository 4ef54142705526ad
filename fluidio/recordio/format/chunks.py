"""Read a file chunk by chunk: check, decompress, find the records, and survive damage."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Literal, NamedTuple

from fluidio.errors import CutTailError, ForeignFileError, RecordIOError
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.files.source import ByteSource, open_source
from fluidio.recordio.format import foreign
from fluidio.recordio.format.checksum import Checksum
from fluidio.recordio.format.chunk import Chunk
from fluidio.recordio.format.compressors import CodecError
from fluidio.recordio.format.dialects import DIALECTS, HEADER_SIZE, MAGIC, Dialect, Header
from fluidio.recordio.format.empty_chunks import EmptyChunks
from fluidio.recordio.format.records import split

__all__ = ["ChunkReader", "Hop", "OnError"]

OnError = Literal["raise", "skip"]

REPAIR_HINT = "file damaged or cut; `fluidio check --repair IN OUT` saves the good chunks"
_SEARCH_STEP = 1 << 20
_LARGE_RECORD = 4096  # bytes


class Hop(NamedTuple):
    """A chunk as described by its header, which has no checksum; at the end of a file, a chunk of zero bytes.

    Attributes:
        worth_a_thread: False for an uncompressed chunk of small records of many lengths: decoding those holds the
            interpreter lock most of the time, and another thread would only compete for it.
    """

    offset: int
    end: int
    records: int
    worth_a_thread: bool
    compressed: bool = False

    @property
    def is_end(self) -> bool:
        """Whether there is no chunk."""
        return self.end == self.offset


class ChunkReader:
    """Walk over the chunks of one file, whatever the dialect; every chunk's checksum is verified.

    Args:
        what: a path, URL, binary file object or ByteSource.
        on_error: "raise" stops at damage; "skip" records it in `damage` and continues with the next good chunk.
        verify_inner: also check the CRC-32C inside snappy streams (the original never did).
        offset: where to begin; must be a chunk's start.
        number: the number of that chunk, for messages; counted when an error needs it if not given.
        buffers: the memory pool, to share it with other readers.
    """

    def __init__(
        self,
        what: object,
        *,
        on_error: OnError = "raise",
        verify_inner: bool = False,
        offset: int = 0,
        number: int | None = None,
        buffers: Pool | None = None,
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f'on_error must be "raise" or "skip", got {on_error!r}')
        self.source: ByteSource = open_source(what)
        self._owned = self.source is not what
        self.on_error = on_error
        self.verify_inner = verify_inner
        self.offset = offset
        self._base = offset if number is None else 0  # chunks before it are still to be counted
        self.number = number or 0
        self.dialect: Dialect | None = None
        self.damage: list[RecordIOError] = []
        self._buffers = Pool() if buffers is None else buffers
        self.until: int | None = None  # chunks from here on are not needed
        self.loaded: Chunk | None = None  # the chunk here, if already read
        self.empty = EmptyChunks(self.source)
        self._seen: dict[int, Header] = {}  # headers that `hop` has read, by offset
        self._search_budget = 8 * self.source.size + (1 << 26)

    def next(self) -> Chunk | None:
        """Return the next good chunk, None at the end.

        Raises:
            RecordIOError: the chunk here is damaged and `on_error` is "raise"; asking again raises again.
        """
        while True:
            offset = self.offset
            left = self.source.size - offset
            if left <= 0:
                self.empty.report()
                return None
            if left < 4:
                warnings.warn(f"{self.source.name}: {left} stray bytes after the last chunk are ignored", stacklevel=2)
                self.offset = self.source.size
                return None
            chunk, self.loaded = self.loaded, None
            try:
                if chunk is None or chunk.offset != offset:
                    chunk = self._read(offset)
                else:
                    chunk = chunk._replace(number=self.number)
            except RecordIOError as error:
                if self.empty.skip(offset):
                    self.offset = offset + HEADER_SIZE
                    self.number += 1
                    continue
                if self.on_error == "raise" or isinstance(error, ForeignFileError):
                    raise
                self.damage.append(error)
                self.offset = self.resync(offset)
                self.number += 1
                continue
            self.dialect = chunk.dialect
            self.offset = chunk.end
            self.number += 1
            return chunk

    def __iter__(self) -> Iterator[Chunk]:
        while (chunk := self.next()) is not None:
            yield chunk

    def close(self) -> None:
        if self._owned:
            self.source.close()

    def __enter__(self) -> ChunkReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- one chunk ------------------------------------------------------------------------------------------------

    def identify(self, offset: int) -> tuple[Dialect, Header]:
        """Return the dialect and header of the chunk at `offset`, identified by its checksum."""
        dialect, header, _ = self._stored_chunk(offset)
        return dialect, header

    def check(self, offset: int) -> None:
        """Read the chunk at `offset` and raise if something is wrong with it."""
        self._read(offset)

    def _stored_chunk(self, offset: int) -> tuple[Dialect, Header, memoryview]:
        head = self.source.read(offset, HEADER_SIZE)
        if head[:4] != MAGIC:
            raise self._bad_magic(offset, head)
        if len(head) < HEADER_SIZE:
            raise self._error(
                f"the file ends inside a chunk header ({len(head)} of {HEADER_SIZE} bytes)", offset, kind=CutTailError
            )
        found = self._match(offset, head)
        if found is None:
            raise self._explain(offset, head)
        return found

    def _read(self, offset: int) -> Chunk:
        dialect, header, stored = self._stored_chunk(offset)
        try:
            return self._decode(offset, dialect, header, stored)
        except CodecError as error:
            raise self._error(str(error), offset) from error

    def _decode(self, offset: int, dialect: Dialect, header: Header, stored: memoryview) -> Chunk:
        compressor = dialect.compressors.get(header.compressor)
        if compressor is None:
            known = ", ".join(map(str, dialect.compressors))
            raise CodecError(f"unknown compressor {header.compressor} ({dialect.title} has {known})")
        payload = compressor.decompress(stored, self._buffers, self.verify_inner)
        return Chunk(self.number, offset, dialect, header, payload, split(payload, header.num_records))

    def _match(self, offset: int, head: bytes) -> tuple[Dialect, Header, memoryview] | None:
        """Return the dialect whose checksum matches the chunk, trying the last one seen first; None if none does."""
        stored: memoryview | None = None
        for dialect in self._candidates():
            header = dialect.parse(head)
            if header.size == 0 or header.size > self.source.size - offset - HEADER_SIZE:
                continue
            if stored is not None and len(stored) == header.size:
                checksum = dialect.checksum(stored)
            else:
                stored = self._buffers.view(header.size)
                found = self._fetch(offset, stored, dialect.checksum)
                if found is None:
                    raise self._error("the file was shortened while it was being read", offset, kind=CutTailError)
                checksum = found
            if checksum == header.checksum:
                return dialect, header, stored
        return None

    def _fetch(self, offset: int, stored: memoryview, checksum: Checksum) -> int | None:
        """Read the payload of the chunk at `offset` and return its checksum, None if the file ends before.

        Read in one call: after each read a thread has to wait for the interpreter lock again.
        """
        complete = self.source.readinto(offset + HEADER_SIZE, stored) == len(stored)
        return checksum(stored) if complete else None

    def _candidates(self) -> list[Dialect]:
        if self.dialect is None:
            return list(DIALECTS)
        return [self.dialect, *(d for d in DIALECTS if d is not self.dialect)]

    # -- ahead, on other threads ------------------------------------------------------------------------------------

    def hop(self, offset: int) -> Hop | None:
        """Return the chunk at `offset` by its header; None if the header is implausible.

        The checksum shows whether it was right: a chunk that fails to load is read again in its turn.
        """
        if offset >= self.source.size or (self.until is not None and offset >= self.until):
            return Hop(offset, offset, 0, True)
        start = self.source.read(offset, HEADER_SIZE + 4)
        if len(start) < HEADER_SIZE or start[:4] != MAGIC:
            return None
        head = start[:HEADER_SIZE]
        dialect = self.dialect or next((d for d in DIALECTS if d.plausible(d.parse(head))), None)
        if dialect is None:
            return None
        self.dialect = dialect
        header = dialect.parse(head)
        end = offset + HEADER_SIZE + header.size
        if header.size == 0 or end > self.source.size:
            return None
        self._seen[offset] = header
        uniform = header.num_records * (4 + int.from_bytes(start[HEADER_SIZE:], "little")) == header.size
        compressed = bool(header.compressor)
        large = header.size >= _LARGE_RECORD * header.num_records
        return Hop(offset, end, header.num_records, compressed or uniform or large, compressed)

    def announced(self, offset: int) -> Header:
        """Return the header at `offset`, which `hop` has read before."""
        assert self.dialect is not None
        return self._seen.pop(offset, None) or self.dialect.parse(self.source.read(offset, HEADER_SIZE))

    def load(self, offset: int, header: Header) -> Chunk | None:
        """Read the chunk at `offset`, in any thread; None if it is damaged, or of another dialect."""
        dialect = self.dialect
        assert dialect is not None
        try:
            if header.size > self.source.size - offset - HEADER_SIZE:
                return None
            stored = self._buffers.view(header.size)
            if self._fetch(offset, stored, dialect.checksum) != header.checksum:
                return None
            return self._decode(offset, dialect, header, stored)
        except Exception:  # whatever it is, `next` raises it again
            return None

    # -- damage ---------------------------------------------------------------------------------------------------

    def _count_before(self) -> None:
        """Count the chunks before the first one read here, so that errors can give chunk numbers."""
        offset, base = 0, self._base
        self._base = 0
        while offset < base:
            head = self.source.read(offset, HEADER_SIZE)
            if len(head) < HEADER_SIZE or head[:4] != MAGIC:
                break
            ends = [offset + HEADER_SIZE + dialect.parse(head).size for dialect in self._candidates()]
            offset = next((end for end in ends if end == base or self.source.read(end, 4) == MAGIC), base)
            self.number += 1

    def _error(
        self,
        problem: str,
        offset: int,
        *,
        kind: type[RecordIOError] = RecordIOError,
        expected: object = None,
        found: object = None,
    ) -> RecordIOError:
        if self._base:
            self._count_before()
        return kind(
            problem,
            path=self.source.name,
            chunk=self.number,
            offset=offset,
            expected=expected,
            found=found,
            hint=REPAIR_HINT,
        )

    def _bad_magic(self, offset: int, head: bytes) -> RecordIOError:
        if offset == 0:
            what = foreign.identify(self.source.read(0, 512))
            if what:
                return ForeignFileError(
                    f"not RecordIO: this is {what}", path=self.source.name, expected=MAGIC, found=head[:4]
                )
        return self._error(
            f"chunk starts with {head[:4].hex(' ')}, not with the magic {MAGIC.hex(' ')}",
            offset,
            expected=MAGIC,
            found=head[:4],
        )

    def _explain(self, offset: int, head: bytes) -> RecordIOError:
        """Return the error for a chunk that matches no dialect: truncated, bad field, or bad checksum."""
        dialect = self.dialect or next((d for d in DIALECTS if d.plausible(d.parse(head))), DIALECTS[0])
        header = dialect.parse(head)
        left = self.source.size - offset - HEADER_SIZE
        if header.compressor not in dialect.compressors:
            return self._error(
                f"compressor {header.compressor} is unknown and the checksum does not fit",
                offset,
                expected=tuple(dialect.compressors),
                found=header.compressor,
            )
        if header.size == 0:
            return self._error("the header announces a payload of 0 bytes", offset, expected="> 0", found=0)
        if header.size > left:
            if self._search(offset + 4) is None:
                return self._error(
                    f"the file ends inside a chunk ({left} of {header.size} payload bytes)",
                    offset,
                    kind=CutTailError,
                    expected=header.size,
                    found=left,
                )
            return self._error(
                f"the header announces {header.size} payload bytes, {left} are left",
                offset,
                expected=left,
                found=header.size,
            )
        stored = self._buffers.view(header.size)
        self.source.readinto(offset + HEADER_SIZE, stored)
        checksum = dialect.checksum(stored)
        return self._error(
            f"checksum {checksum:#010x}, header says {header.checksum:#010x}",
            offset,
            expected=header.checksum,
            found=checksum,
        )

    def resync(self, offset: int) -> int:
        """Return where to continue after damage at `offset`: the next intact chunk, else the end.

        The offset that the damaged header announces is tried first: a search could stop inside the damaged payload, at
        a RecordIO file that is itself a record.
        """
        head = self.source.read(offset, HEADER_SIZE)
        if len(head) == HEADER_SIZE and head[:4] == MAGIC:
            for dialect in self._candidates():
                header = dialect.parse(head)
                end = offset + HEADER_SIZE + header.size
                follows = end < self.source.size and (self._whole(end) or self.empty.begins_at(end))
                if header.size and (end == self.source.size or follows):
                    return end
        found = self._search(offset + 1)
        return self.source.size if found is None else found

    def _search(self, start: int) -> int | None:
        """Return the first offset from `start` where an intact chunk begins."""
        overlap = len(MAGIC) - 1
        for base in range(start, self.source.size, _SEARCH_STEP):
            window = self.source.read(base, _SEARCH_STEP + overlap)
            at = window.find(MAGIC)
            while at >= 0:
                if self._whole(base + at):
                    return base + at
                if self._search_budget < 0:
                    return None
                at = window.find(MAGIC, at + 1)
        return None

    def _whole(self, offset: int) -> bool:
        """Return whether a chunk with a matching checksum starts here.

        The cost is bounded: a file full of false chunk starts must not take forever.
        """
        head = self.source.read(offset, HEADER_SIZE)
        if len(head) < HEADER_SIZE or head[:4] != MAGIC:
            return False
        for dialect in self._candidates():
            header = dialect.parse(head)
            if not dialect.plausible(header) or header.size > self.source.size - offset - HEADER_SIZE:
                continue
            stored = self._buffers.view(header.size)
            self.source.readinto(offset + HEADER_SIZE, stored)
            if dialect.checksum(stored) == header.checksum:
                return True
            self._search_budget -= header.size
            if self._search_budget < 0:
                return False
        return False
