"""Empty chunks: 0 records, 0 bytes, checksum 0.

No writer creates them, but files with zeros between chunks exist. They are skipped with a warning; strict mode raises,
as the original does.
"""

from __future__ import annotations

import warnings

from fluidio.era import era
from fluidio.recordio.files.source import ByteSource
from fluidio.recordio.format.dialects import DIALECTS, HEADER_SIZE, MAGIC

__all__ = ["EmptyChunks"]


class EmptyChunks:
    """Counts the empty chunks of one file."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._count = 0

    def begins_at(self, offset: int) -> bool:
        """Return whether there is an empty chunk at `offset`."""
        head = self._source.read(offset, HEADER_SIZE)
        if len(head) < HEADER_SIZE or head[:4] != MAGIC:
            return False
        found = [(dialect, dialect.parse(head)) for dialect in DIALECTS]
        return any(not (h.num_records or h.checksum or h.size) and h.compressor in d.compressors for d, h in found)

    def skip(self, offset: int) -> bool:
        """Return whether to skip the chunk at `offset`; warn the first time."""
        if era().strict or not self.begins_at(offset):
            return False
        self._count += 1
        if self._count == 1:
            warnings.warn(f"{self._source.name}: skipped an empty chunk at byte {offset}", stacklevel=4)
        return True

    def report(self) -> None:
        """Report the total at the end, if more than one."""
        if self._count > 1:
            warnings.warn(f"{self._source.name}: skipped {self._count} empty chunks", stacklevel=4)
        self._count = 0
