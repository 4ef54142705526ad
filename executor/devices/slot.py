"""A slot of the copy ring: pinned memory, device memory, and the two events that order their use."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.executor.devices.copy_clock import CopyClock
from fluidio.executor.devices.pinned import PinnedArena, layout
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["RingSlot"]

_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation
ArraySpec = tuple[tuple[int, ...], Any]
Tensors = list[tuple[Any, LoD]]


class RingSlot:
    """One batch in flight: all fields side by side in one pinned buffer and in one device buffer.

    `copied` is recorded on the copy stream after the transfer; `released` on the consumer's stream after its last use
    of the batch. The pinned side may be written again when the host has waited for `copied`; the device side may be
    written by the copy stream after it waits for `released`, which is recorded once no reference is left.
    """

    def __init__(self, cupy: ModuleType) -> None:
        self._cupy = cupy
        self.copied = cupy.cuda.Event(disable_timing=True)
        self.released = cupy.cuda.Event(disable_timing=True)
        self._pinned = PinnedArena(cupy)
        self._memory: Any = None
        self._capacity = 0
        self._unheld = 0
        self._fields: list[ArraySpec] = []
        self._starts: list[int] = []
        self._size = 0
        self._lods: list[LoD] = []
        self._staged: list[Array] = []

    # -- the worker's side --------------------------------------------------------------------------------------

    def allocate(self, fields: Sequence[ArraySpec]) -> list[Array]:
        """Return pinned arrays for the fields of the next batch; filling them directly saves a copy."""
        self._fields = [(tuple(shape), np.dtype(dtype)) for shape, dtype in fields]
        self._starts, self._size = layout(self._fields)
        self._pinned.reserve(max(1, self._size))
        self._staged = [
            self._pinned.view(start, shape, dtype) for start, (shape, dtype) in zip(self._starts, self._fields)
        ]
        return self._staged

    def fill(self, batch: Tensors, stream: Any, clock: CopyClock) -> None:
        """Send a batch to the device: copy it to the pinned buffer unless it is there already, then transfer it."""
        arrays = [np.asarray(array) for array, _ in batch]
        for number, array in enumerate(arrays):
            if array.dtype.kind not in "biufc":
                raise TypeError(f"field {number} of the batch has dtype {array.dtype}, which a GPU cannot hold")
        self._lods = [lod for _, lod in batch]
        if not self._holds(arrays):
            for target, array in zip(self.allocate([(a.shape, a.dtype) for a in arrays]), arrays):
                np.copyto(target, array)
        self._reserve_device()
        stream.wait_event(self.released)
        if self._size:
            pointer = self._cupy.cuda.MemoryPointer(self._memory, 0)
            began = clock.before(stream)
            pointer.copy_from_host_async(self._pinned.address(), self._size, stream)
            clock.after(began, self._size, stream)
        self.copied.record(stream)
        self._staged = []

    def _holds(self, arrays: Sequence[Array]) -> bool:
        """Return whether the batch was written into the arrays from `allocate`."""
        return len(arrays) == len(self._staged) and all(
            a is s or (a.shape == s.shape and a.dtype == s.dtype and a.ctypes.data == s.ctypes.data and a.size > 0)
            for a, s in zip(arrays, self._staged)
        )

    def _reserve_device(self) -> None:
        if self._size > self._capacity or self._memory is None:
            self._memory = None
            self._capacity = 1 << max(9, math.ceil(math.log2(max(1, self._size))))
            self._memory = self._new_memory(self._capacity)
            self._unheld = self._references()

    def _new_memory(self, size: int) -> Any:
        # Not from CuPy's pool: a pool ties freed memory to one stream, and this memory is used on two. Freeing it waits
        # for the device, which happens only when batches grow or are kept.
        cupy = self._cupy
        try:
            return cupy.cuda.Memory(size)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            if error.status != _OUT_OF_MEMORY:
                raise
            cupy.get_default_memory_pool().free_all_blocks()
            return cupy.cuda.Memory(size)

    def _references(self) -> int:
        return sys.getrefcount(self._memory)

    # -- the consumer's side ------------------------------------------------------------------------------------

    def tensors(self) -> Tensors:
        """Return the fields as arrays on the device; each keeps the memory alive."""
        cupy = self._cupy
        return [
            (cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(self._memory, start)), lod)
            for (shape, dtype), start, lod in zip(self._fields, self._starts, self._lods)
        ]

    def is_kept(self) -> bool:
        """Return whether an array of the batch is still referenced."""
        return self._memory is not None and self._references() != self._unheld

    def leave_memory(self) -> None:
        """Give up the device memory; arrays still referencing it keep it alive."""
        self._memory = None
        self._capacity = 0
