"""Cursor: a place in one RecordIO file, from which chunks are read or passed over."""

from __future__ import annotations

from fluidio.errors import EnforceNotMet
from fluidio.recordio import BlockReader
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.spans import Part
from fluidio.recordio.files.index import ChunkIndex, build_index

__all__ = ["Cursor", "open_blocks"]


class Cursor:
    """Reads the records of one file; opened when they are wanted.

    Args:
        buffers: memory for chunks to share with other cursors, see BlockReader.
        parks: hold no descriptor between two chunks.
    """

    def __init__(self, path: str, buffers: Pool | None = None, *, parks: bool = False) -> None:
        self._path = path
        self._parks = parks
        self._buffers = buffers
        self._blocks: BlockReader | None = None
        self._index: ChunkIndex | None = None  # once somebody asked what comes
        self._passed = 0  # chunks passed over, all of them before the first that is read
        self._placed = True  # the reader knows of them

    def open(self) -> BlockReader:
        """Return the open file; EnforceNotMet names it when it cannot be read."""
        if self._blocks is None:
            self._blocks = open_blocks(self._path, self._buffers)
        return self._blocks

    def rewind(self) -> None:
        """Go back to the first record."""
        self._index, self._passed, self._placed = None, 0, True
        if self._blocks is not None:
            self._blocks.seek((0, 0))

    def close(self) -> None:
        """Close the file."""
        if self._blocks is not None:
            self._blocks.close()

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, limit: int | None = None) -> Part | None:
        """Return the next part, of at most `limit` records; None at the end."""
        return self.open().locate(limit) if self._placed else self._first_read(limit)

    def read_chunk(self) -> list[Part | Exception]:
        """Return the parts of the next chunk, nothing at the end; an error stands behind the records before it."""
        found: list[Part | Exception] = []
        try:
            while (part := self.read()) is not None:
                found.append(part)
                if self.open().tell()[1] == 0:  # at the start of the next one
                    if self._parks:
                        self.open().park()
                    return found
        except Exception as error:
            found.append(error)
            return found
        self.close()
        return found

    def _first_read(self, limit: int | None) -> Part | None:
        assert self._index is not None
        self._placed = True
        place = (int(self._index.ends[self._passed - 1]), 0)
        blocks = self.open()
        blocks.seek(place)
        part = blocks.locate(limit)
        if part is None or all(levels < 2 for _, _, levels in part.layout):
            return part
        # Fluid 0.12 stored LoD levels in the wrong order, which any record may give away for all those behind it.
        blocks.seek((0, 0), place)
        while blocks.locate() is not None:
            pass
        blocks.seek(place)
        return blocks.locate(limit)

    # -- passing over -------------------------------------------------------------------------------------------

    def announced(self) -> int | None:
        """Return the records of the next chunk by its header, None at the end; only before anything was read."""
        if self._index is None:
            self._index = build_index(self._path, partial=True)
        index = self._index
        if self._passed < index.num_chunks:
            return int(index.counts[self._passed])
        if index.problem is not None:
            raise index.problem
        return None

    def pass_over(self) -> None:
        """Go on behind the chunk that `announced()` spoke of, without reading it."""
        self._passed += 1
        self._placed = False


def open_blocks(path: str, buffers: Pool | None = None) -> BlockReader:
    """Open a file of records; EnforceNotMet names it when it cannot be read."""
    try:
        return BlockReader(path, buffers=buffers)
    except OSError as error:
        raise EnforceNotMet(f"cannot open the RecordIO file {path!r}: {error}") from error
