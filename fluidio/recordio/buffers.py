"""Page-aligned memory that is allocated once and used for chunk after chunk."""

from __future__ import annotations

import mmap
import threading

__all__ = ["Buffer", "ThreadBuffer"]


class Buffer:
    """A growing scratch buffer.

    Anonymous maps start on a page boundary: large NumPy allocations start 16 bytes after one, where a warm read is
    four times slower. Reuse matters as much: fresh memory costs a page fault every 4 KiB.
    """

    __slots__ = ("_memory",)

    def __init__(self) -> None:
        self._memory = memoryview(b"")

    def view(self, size: int) -> memoryview:
        """Return `size` writable bytes; what an earlier view held is lost."""
        if len(self._memory) < size:
            rounded = max(1 << 16, (size + size // 4 + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE)
            self._memory = memoryview(mmap.mmap(-1, rounded))
        return self._memory[:size]


class ThreadBuffer(Buffer):
    """A scratch buffer for each thread, for readers that take turns in a few threads: many files, little memory."""

    __slots__ = ("_local",)

    def __init__(self) -> None:
        self._local = threading.local()

    def view(self, size: int) -> memoryview:
        buffer: Buffer | None = getattr(self._local, "buffer", None)
        if buffer is None:
            buffer = self._local.buffer = Buffer()
        return buffer.view(size)
