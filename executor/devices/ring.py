"""The copy ring: batches travel to a GPU on a stream of their own while the previous ones are computed on.

    stage: host arrays -> pinned slot -> (copy stream) -> device slot;  take: device slot -> the consumer's stream

A reader's thread stages, the thread that runs programs takes. Nobody waits who does not have to: the stager waits for a
copy only when it needs that copy's pinned memory again, the consumer's stream (not its thread) waits for the copy.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

from fluidio.executor.devices.slot import ArraySpec, RingSlot, Tensors

__all__ = ["CopyRing"]

_KEPT = 2  # batches that wait for the consumer to let go of them, as the variable of a loop does; older ones stay his


class CopyRing:
    """Brings batches to one GPU.

    Slots go round: one is filled, one waits, one is in the consumer's hands. If more batches are under way there are
    more slots; they are never given up. Fluid: a slot is not filled again while its batch is in use; here a batch may
    also be kept.

    Args:
        cupy: the module.
        device: number of the GPU.
        slots: how many to begin with.
    """

    width = 1
    """How many GPUs are served in turn."""

    def __init__(self, cupy: Any, device: int, slots: int = 3) -> None:
        self._cupy = cupy
        self._device = device
        with self._active():
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._slots = [RingSlot(cupy) for _ in range(slots)]
        self._free = deque(self._slots)
        self._next: RingSlot | None = None
        self._held: RingSlot | None = None
        self._kept: deque[RingSlot] = deque()
        weakref.finalize(self, _release, self._stream, self._slots)

    def _active(self) -> Any:
        return self._cupy.cuda.Device(self._device)  # the current device belongs to the thread

    # -- the thread that reads ------------------------------------------------------------------------------------

    def allocate(self, fields: Sequence[ArraySpec]) -> list[Any]:
        """Return pinned arrays for the (shape, dtype) of each field of the next batch.

        Who fills them and stages just them saves a copy.
        """
        with self._active():
            if self._next is None:
                self._next = self._free_slot()
            return self._next.allocate(fields)

    def stage(self, tensors: Tensors) -> RingSlot:
        """Start the copy of a batch to the device; all fields go in one transfer."""
        with self._active():
            slot = self._next or self._free_slot()
            self._next = slot  # still ours if the copy fails
            slot.fill(tensors, self._stream)
            self._next = None
            return slot

    def _free_slot(self) -> RingSlot:
        if not self._free:
            slot = RingSlot(self._cupy)
            self._slots.append(slot)
            return slot
        slot = self._free.popleft()
        slot.copied.synchronize()  # the old copy out of its pinned memory is over
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
        """Give back the batch taken last: its memory is used again as soon as nobody keeps an array of it.

        That is looked at here and not where the slot is filled: who has let go of a batch has given his last work on it
        to the stream by now.
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
        """Forget all batches, taken or not; nobody stages meanwhile. The memory stays for the next ones."""
        self.release()
        self._next = None
        self._free = deque(slot for slot in self._slots if slot not in self._kept)


def _release(stream: Any, slots: list[RingSlot]) -> None:
    stream.synchronize()  # pinned memory must outlive the copies out of it
    slots.clear()
