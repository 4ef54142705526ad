"""Lane: a file, or a range of one, whose chunks are read one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from fluidio.recordio.decode.block_reader import BlockReader, Loaded
from fluidio.recordio.decode.spans import Part
from fluidio.recordio.files.index import ChunkIndex, build_index
from fluidio.recordio.format.chunks import Hop

__all__ = ["Ahead", "Found", "Lane", "records_in"]

Found = list[Part | Exception]
"""The result of a chunk: its records, followed by an error if there was one."""


Ahead = Literal["always", "worth", "one", "never"]


class Lane:
    """Reads the records of one file, which is opened on demand.

    Args:
        path: of the file, for its index.
        opens: opens the file; an error it raises takes the place of records.
        closes: called once when an open file is no longer needed here.
        parks: hold no descriptor between two chunks.
        ahead: how chunks are read before their turn: "always" by their headers, "worth" only those worth a thread,
            "one" at a time (files that are expensive to inspect), or "never".

    Attributes:
        serial: chunks are read ahead one by one.
    """

    def __init__(
        self,
        path: object,
        opens: Callable[[], BlockReader],
        *,
        parks: bool = False,
        ahead: Ahead = "always",
        closes: Callable[[], None] | None = None,
    ) -> None:
        self._path = path
        self._opens = opens
        self._closes = closes
        self._parks = parks
        self._hops = ahead in ("always", "worth")
        self._choosy = ahead == "worth"
        self.serial = ahead == "one"
        self._blocks: BlockReader | None = None
        self._planned: int | None = None  # offset of the first chunk after those being read ahead
        self._index: ChunkIndex | None = None  # built on the first query of what comes next
        self._passed = 0  # chunks skipped, all before the first one read
        self._placed = True  # whether the reader has skipped them too

    def open(self) -> BlockReader:
        """Return the open file."""
        if self._blocks is None:
            self._blocks = self._opens()
        return self._blocks

    def rewind(self) -> None:
        """Go back to the first record."""
        self._index, self._passed, self._placed, self._planned = None, 0, True, None
        if self._blocks is not None:
            self._blocks.seek((0, 0))

    def close(self) -> None:
        """Close the file."""
        if self._blocks is not None:
            self._blocks.close()
            closes, self._closes = self._closes, None
            if closes is not None:
                closes()

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, limit: int | None = None) -> Part | None:
        """Return the next part, of at most `limit` records; None at the end."""
        return self.open().locate(limit) if self._placed else self._first_read(limit)

    def read_chunk(self, batch: int = 0) -> Found:
        """Return the parts of the next chunk, nothing at the end; an error follows the records before it.

        Args:
            batch: how many records will be wanted together; 0: unknown.
        """
        found: Found = []
        try:
            if batch and self._placed:
                self.open().prepare(batch)
            while (part := self.read()) is not None:
                found.append(part)
                if self.open().tell()[1] == 0:  # at the start of the next one
                    if self._parks:
                        self.open().park()
                    return found
        except Exception as error:
            found.append(error)
            return found
        if not found:
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
        # Fluid 0.12 stored LoD levels in the wrong order; any record may reveal this for all later ones.
        blocks.seek((0, 0), place)
        while blocks.locate() is not None:
            pass
        blocks.seek(place)
        return blocks.locate(limit)

    # -- reading ahead ------------------------------------------------------------------------------------------

    def plan(self, batch: int = 0) -> Hop | None:
        """Return the next unplanned chunk by its header; None if only reading it can tell. See `BlockReader.load`."""
        if not self._hops or not self._placed:
            return None
        try:
            blocks = self.open()
            if self._planned is None and blocks.inside_chunk:
                return None
            hop = blocks.hop(blocks.tell()[0] if self._planned is None else self._planned, batch)
        except (OSError, ValueError):  # reading the chunk raises it again
            return None
        if hop is None or (self._choosy and not hop.worth_a_thread):
            return None
        self._planned = hop.end
        return hop

    def load(self, offset: int, batch: int) -> Loaded | None:
        """Read the chunk at `offset`, in any thread; None if something is wrong with it. See `BlockReader.load`."""
        return self.open().load(offset, batch)

    def take(self, loaded: Loaded | None) -> tuple[Found, bool]:
        """Return the next chunk's records, and whether they are exactly the chunk that was loaded."""
        fits = loaded is not None and self.open().offer(loaded)
        found = self.read_chunk()
        whole = bool(found) and not isinstance(found[-1], Exception)
        return found, fits and whole and not self.open().inside_chunk

    def forget_plan(self) -> None:
        """Restart planning at the next record."""
        self._planned = None

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
        """Skip past the chunk that `announced()` described, without reading it."""
        self._passed += 1
        self._placed = False


def records_in(found: Found) -> int:
    """Return how many records there are."""
    return sum([len(part) for part in found if isinstance(part, Part)])
