"""Walk over the headers of a remote file with few requests: large windows, hops where chunks are large."""

from __future__ import annotations

from fluidio.recordio.files.source import ByteSource

__all__ = ["STEP", "Walk"]

STEP = 8 << 20
"""Bytes in a window."""
_HOP = 1 << 20
"""Gaps of at least this many bytes are not downloaded."""
_GLANCE = 1 << 12


class Walk:
    """A source read from beginning to end; each byte is requested at most once."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.name, self.size = source.name, source.size
        self._start, self._data = 0, b""

    def read(self, offset: int, size: int) -> bytes:
        size = max(0, min(size, self.size - offset))
        end = self._start + len(self._data)
        if not self._start <= offset <= end or not self._data:
            small = self._data and offset - end >= _HOP
            self._start, self._data = offset, self._source.read(offset, max(size, _GLANCE if small else STEP))
        elif offset + size > end:
            self._data = self._data[offset - self._start :] + self._source.read(end, max(offset + size - end, STEP))
            self._start = offset
        return self._data[offset - self._start : offset - self._start + size]

    def readinto(self, offset: int, target: memoryview) -> int:
        data = self.read(offset, len(target))
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._data = b""
