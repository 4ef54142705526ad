"""The copy ring: copy batches to a GPU on a separate stream while the previous ones are being computed.

    stage: host arrays -> pinned slot -> (copy stream) -> device slot;  take: device slot -> the consumer's stream

A reader's thread stages; the thread that runs programs takes. Waits are kept to a minimum: the stager waits for a copy
only when it needs that copy's pinned memory again, and the consumer's stream (not its thread) waits for the copy.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from fluidio.executor.devices.copy_clock import CopyClock
from fluidio.executor.devices.slot import ArraySpec, RingSlot, Tensors

__all__ = ["CopyRing"]

_KEPT = 2  # batches that the consumer still holds, as the variable of a loop does; older ones are left to it


class CopyRing:
    """Copies batches to one GPU.

    Slots rotate: one is being filled, one waits, one is with the consumer. More slots are added if more batches are in
    flight; slots are never freed. Fluid: a slot is not refilled while its batch is in use; here a batch may also be
    kept.

    Args:
        cupy: the module.
        device: number of the GPU.
        slots: initial number of slots.
    """

    width = 1
    """How many GPUs are served in turn."""

    def __init__(self, cupy: ModuleType, device: int, slots: int = 3) -> None:
        self._cupy = cupy
        self._device = device
        with self._active():
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._slots = [RingSlot(cupy) for _ in range(slots)]
        self._clock = CopyClock(cupy, device)
        self._free = deque(self._slots)
        self._next: RingSlot | None = None
        self._held: RingSlot | None = None
        self._kept: deque[RingSlot] = deque()
        weakref.finalize(self, _release, self._stream, self._slots)

    def _active(self) -> Any:
        return self._cupy.cuda.Device(self._device)  # the current device is per thread

    # -- the thread that reads ------------------------------------------------------------------------------------

    def allocate(self, fields: Sequence[ArraySpec]) -> list[Any]:
        """Return pinned arrays for the (shape, dtype) of each field of the next batch.

        Filling and staging exactly these arrays saves a copy.
        """
        with self._active():
            if self._next is None:
                self._next = self._free_slot()
            return self._next.allocate(fields)

    def stage(self, tensors: Tensors) -> RingSlot:
        """Start the copy of a batch to the device; all fields go in one transfer."""
        with self._active():
            slot = self._next or self._free_slot()
            self._next = slot  # keep the slot if the copy fails
            slot.fill(tensors, self._stream, self._clock)
            self._next = None
            return slot

    def _free_slot(self) -> RingSlot:
        if not self._free:
            slot = RingSlot(self._cupy)
            self._slots.append(slot)
            return slot
        slot = self._free.popleft()
        slot.copied.synchronize()  # the previous copy from its pinned memory has finished
        return slot

    # -- the thread that computes -----------------------------------------------------------------------------------

    def take(self, slot: RingSlot) -> Tensors:
        """Return a staged batch on the device; the current stream waits for its copy."""
        self.release()
        with self._active():
            self._cupy.cuda.get_current_stream().wait_event(slot.copied)
            self._held = slot
            return slot.tensors()

    def release(self) -> None:
        """Release the batch taken last: its memory is reused once no array of it is referenced.

        References are checked here rather than when the slot is filled: by now a consumer that dropped a batch has
        queued its last work on it.
        """
        if self._held is not None:
            self._kept.append(self._held)
            self._held = None
        for slot in list(self._kept):
            if slot.is_kept():
                continue
            self._kept.remove(slot)
            with self._active():
                slot.released.record(self._cupy.cuda.get_current_stream())
            self._free.append(slot)
        while len(self._kept) > _KEPT:
            slot = self._kept.popleft()
            slot.leave_memory()
            self._free.append(slot)

    def reset(self) -> None:
        """Drop all batches, taken or not, and keep the memory for later ones; nothing may be staged meanwhile."""
        self.release()
        with self._active():
            self._clock.tell()
        self._next = None
        self._free = deque(slot for slot in self._slots if slot not in self._kept)


def _release(stream: Any, slots: list[RingSlot]) -> None:
    stream.synchronize()  # pinned memory must outlive the copies from it
    slots.clear()
