"""Chunks of nothing: 0 records, 0 bytes, checksum 0.

No writer makes one, but files of zeros between chunks have been seen. They are passed over with a warning; strict mode
raises, as the original does.
"""

from __future__ import annotations

import warnings

from fluidio.era import era
from fluidio.recordio.files.source import ByteSource
from fluidio.recordio.format.dialects import DIALECTS, HEADER_SIZE, MAGIC

__all__ = ["EmptyChunks"]


class EmptyChunks:
    """The empty chunks of one file, counted as they are met."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._count = 0

    def begins_at(self, offset: int) -> bool:
        """Tell whether there is an empty chunk at `offset`."""
        head = self._source.read(offset, HEADER_SIZE)
        if len(head) < HEADER_SIZE or head[:4] != MAGIC:
            return False
        found = [(dialect, dialect.parse(head)) for dialect in DIALECTS]
        return any(not (h.num_records or h.checksum or h.size) and h.compressor in d.compressors for d, h in found)

    def skip(self, offset: int) -> bool:
        """Tell whether to pass over the chunk at `offset`; the first time with a warning."""
        if era().strict or not self.begins_at(offset):
            return False
        self._count += 1
        if self._count == 1:
            warnings.warn(f"{self._source.name}: an empty chunk at byte {offset}, skipped", stacklevel=4)
        return True

    def report(self) -> None:
        """Say at the end how many there were, if more than one."""
        if self._count > 1:
            warnings.warn(f"{self._source.name}: {self._count} empty chunks, skipped", stacklevel=4)
        self._count = 0
