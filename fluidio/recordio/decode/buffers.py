"""Page-aligned memory that is allocated once and used for chunk after chunk.

Anonymous maps start on a page boundary: large NumPy allocations start 16 bytes after one, where a warm read is four
times slower. Reuse matters as much: fresh memory costs a page fault every 4 KiB.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import sys
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.tensor.array import Array

__all__ = ["Buffer", "Pool"]

_SMALL = 1 << 16
_HUGE = 1 << 21
_KEPT = 1 << 26  # bytes a pool keeps for later, besides the last buffer


def _allocate(size: int) -> mmap.mmap:
    size = max(_SMALL, size + size // 4)
    huge = 2 * size >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE")
    page = _HUGE if huge else mmap.PAGESIZE  # Linux aligns a map for huge pages only if its size is a multiple of one
    size = -(-size // page) * page
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    # With the default, shared memory, a forked process would write into its parent's batches.
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge:
        with contextlib.suppress(OSError):  # a kernel built without them
            memory.madvise(mmap.MADV_HUGEPAGE)  # one page fault per 2 MiB
    return memory


class Buffer:
    """A growing scratch buffer."""

    __slots__ = ("_memory",)

    def __init__(self) -> None:
        self._memory = memoryview(b"")

    def view(self, size: int) -> memoryview:
        """Return `size` writable bytes; the contents of earlier views are lost."""
        if len(self._memory) < size:
            self._memory = memoryview(_allocate(size))
        return self._memory[:size]


class Pool:
    """Many buffers: each array has its own, which returns to the pool when the array and all its views are gone.

    Readers and threads may share a pool: it uses only atomic operations of the interpreter.
    """

    __slots__ = ("__weakref__", "_free", "_leased", "largest")

    def __init__(self) -> None:
        self._free: list[mmap.mmap] = []
        self._leased: dict[int, tuple[Any, mmap.mmap]] = {}
        self.largest = 0

    def view(self, size: int) -> memoryview:
        """Return `size` writable bytes."""
        return self.array((size,), np.uint8).data  # its slices keep the array alive, not the memoryview

    def array(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Return an array as `np.empty` does."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size > self.largest:
            self.largest = size
        if size < _SMALL:
            return np.empty(shape, dtype)
        memory = self._reuse(size) or _allocate(size)
        lease: Array = np.ndarray(shape, dtype, memory)
        watch = weakref.ref(lease, self._give_back)
        self._leased[id(watch)] = (watch, memory)
        return lease

    def _reuse(self, size: int) -> mmap.mmap | None:
        for memory in self._free[::-1]:  # the last one may still be in the cache
            if size <= len(memory) <= 4 * size:
                try:
                    self._free.remove(memory)
                except ValueError:  # another thread was quicker
                    continue
                return memory
        return None

    def _give_back(self, watch: object) -> None:
        _, memory = self._leased.pop(id(watch))
        self._free.append(memory)
        while len(self._free) > 1 and sum(map(len, self._free)) > _KEPT:
            del self._free[0]
