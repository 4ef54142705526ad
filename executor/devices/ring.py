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

from fluidio.executor.devices.slot import Field, Slot, Tensors

__all__ = ["CopyRing"]

_SLOTS = 3


class CopyRing:
    """Brings batches to one GPU.

    Three slots go round: one is filled, one waits, one is in the consumer's hands. If more batches are under way there
    are more slots; they are never given up. Fluid: a slot is not filled again while its batch is in use; here a batch
    may also be kept.

    Args:
        cupy: the module.
        device: number of the GPU.
    """

    def __init__(self, cupy: Any, device: int) -> None:
        self._cupy = cupy
        self._device = device
        with self._active():
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._slots = [Slot(cupy) for _ in range(_SLOTS)]
        self._free = deque(self._slots)
        self._next: Slot | None = None
        self._held: Slot | None = None
        weakref.finalize(self, _settle, self._stream, self._slots)

    def _active(self) -> Any:
        return self._cupy.cuda.Device(self._device)  # the current device belongs to the thread

    # -- the thread that reads ------------------------------------------------------------------------------------

    def allocate(self, fields: Sequence[Field]) -> list[Any]:
        """Return pinned arrays for the (shape, dtype) of each field of the next batch.

        Who fills them and stages just them saves a copy.
        """
        with self._active():
            if self._next is None:
                self._next = self._free_slot()
            return self._next.allocate(fields)

    def stage(self, tensors: Tensors) -> Slot:
        """Start the copy of a batch to the device; all fields go in one transfer."""
        with self._active():
            slot = self._next or self._free_slot()
            self._next = slot  # still ours if the copy fails
            slot.fill(tensors, self._stream)
            self._next = None
            return slot

    def _free_slot(self) -> Slot:
        if not self._free:
            slot = Slot(self._cupy)
            self._slots.append(slot)
            return slot
        slot = self._free.popleft()
        slot.copied.synchronize()  # the old copy out of its pinned memory is over
        return slot

    # -- the thread that computes -----------------------------------------------------------------------------------

    def take(self, slot: Slot) -> Tensors:
        """Return a staged batch on the device; the current stream waits for its copy."""
        self.release()
        with self._active():
            self._cupy.cuda.get_current_stream().wait_event(slot.copied)
            self._held = slot
            return slot.tensors()

    def release(self) -> None:
        """Give back the batch taken last: its memory is used again unless somebody keeps an array of it."""
        if self._held is not None:
            with self._active():
                self._held.released.record(self._cupy.cuda.get_current_stream())
            self._free.append(self._held)
            self._held = None

    def reset(self) -> None:
        """Forget all batches, taken or not; nobody stages meanwhile. The memory stays for the next ones."""
        self.release()
        self._next = None
        self._free = deque(self._slots)


def _settle(stream: Any, slots: list[Slot]) -> None:
    stream.synchronize()  # pinned memory must outlive the copies out of it
    slots.clear()
