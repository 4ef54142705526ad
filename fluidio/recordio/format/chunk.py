"""A chunk that was read, checked and decompressed."""

from __future__ import annotations

from typing import NamedTuple

from fluidio.recordio.format.dialects import HEADER_SIZE, Dialect, Header
from fluidio.recordio.format.records import RecordTable

__all__ = ["Chunk"]


class Chunk(NamedTuple):
    """One chunk: `payload` has its own buffer, which is reused once it is unreferenced."""

    number: int
    offset: int
    dialect: Dialect
    header: Header
    payload: memoryview
    table: RecordTable

    @property
    def end(self) -> int:
        """Return the offset of the byte after the chunk."""
        return self.offset + HEADER_SIZE + self.header.size

    def records(self, start: int = 0, stop: int | None = None) -> list[bytes]:
        """Return the records as separate bytes objects."""
        table = self.table
        stop = table.count if stop is None else min(stop, table.count)
        data = self.payload
        if table.stride is not None:
            step, body = table.stride, table.stride - 4
            return [bytes(data[at : at + body]) for at in range(4 + start * step, 4 + stop * step, step)]
        bounds = zip(table.starts[start:stop].tolist(), table.stops[start:stop].tolist())
        return [bytes(data[a:b]) for a, b in bounds]
