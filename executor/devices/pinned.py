"""Page-locked host memory as NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.tensor.array import Array

__all__ = ["PinnedArena", "is_pinned", "layout"]

ALIGNMENT = 512
"""Fields of one transfer start at multiples of this many bytes, as separate CUDA allocations would."""


def layout(fields: Sequence[tuple[tuple[int, ...], Any]]) -> tuple[list[int], int]:
    """Return the offset of each (shape, dtype) in one buffer, and the total size in bytes."""
    starts, end = [], 0
    for shape, dtype in fields:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        starts.append(start)
        end = start + math.prod(shape) * np.dtype(dtype).itemsize
    return starts, end


class PinnedArena:
    """One pinned buffer that only grows; fields are views into it.

    The owner must ensure that no copy is in flight when the buffer is rewritten or grows.
    """

    def __init__(self, cupy: ModuleType) -> None:
        self._cupy = cupy
        self._memory: Any = None
        self.size = 0

    def reserve(self, size: int) -> None:
        """Make room for `size` bytes; views taken before stay valid but are no longer part of the arena."""
        if size > self.size:
            self._memory = self._cupy.cuda.alloc_pinned_memory(size)
            self.size = size

    def address(self) -> int:
        """Return where the buffer starts."""
        return int(self._memory.ptr)

    def view(self, start: int, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return the array that starts at a byte offset of the buffer."""
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype)
        return np.frombuffer(self._memory, dtype, count, start).reshape(shape)


def is_pinned(cupy: ModuleType, array: Array) -> bool:
    """Return whether CUDA copies from the array without staging, that is, after the call returns."""
    runtime = cupy.cuda.runtime
    return bool(runtime.pointerGetAttributes(array.ctypes.data).type == runtime.memoryTypeHost)
