"""Copy rings for several GPUs: the batches of one reader go to the GPUs in turn, one ring per GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.executor.devices.ring import CopyRing
from fluidio.executor.devices.slot import ArraySpec, RingSlot, Tensors

__all__ = ["CopyRings", "copy_stage"]


class CopyRings:
    """Copies batch 0 to the first GPU, batch 1 to the second and so on, round-robin; one transfer per batch.

    A batch stays with its reader until the next one for the same GPU is requested.
    """

    def __init__(self, rings: Sequence[CopyRing]) -> None:
        self.width = len(rings)
        self._rings = rings
        self._filled = 0  # batches staged in this epoch, counted by the reading thread
        self._taken = 0  # batches taken, counted by the computing thread

    def allocate(self, fields: Sequence[ArraySpec]) -> list[Any]:
        """Return pinned arrays for the (shape, dtype) of each field of the next batch."""
        return self._rings[self._filled % self.width].allocate(fields)

    def stage(self, tensors: Tensors) -> RingSlot:
        """Start the copy of a batch to the GPU whose turn it is."""
        slot = self._rings[self._filled % self.width].stage(tensors)
        self._filled += 1
        return slot

    def take(self, slot: RingSlot) -> Tensors:
        """Return staged batches in order, each on its GPU, whose current stream waits for the copy."""
        tensors = self._rings[self._taken % self.width].take(slot)
        self._taken += 1
        return tensors

    def release(self) -> None:
        """Release the previous batch of the GPU whose turn it is."""
        self._rings[self._taken % self.width].release()

    def reset(self) -> None:
        """Drop all batches and restart at the first GPU; nothing may be staged meanwhile."""
        for ring in self._rings:
            ring.reset()
        self._filled = self._taken = 0


def copy_stage(backends: Sequence[Any], slots: int = 3) -> CopyRing | CopyRings | None:
    """Return the ring(s) that copy a reader's batches to these places in turn; None if one of them is not a GPU.

    Args:
        slots: batches held in memory on each GPU; a loop that keeps a batch while it requests the next one needs 4.
    """
    if not all(backend.is_gpu for backend in backends):
        return None
    rings = [backend.copy_stage(slots) for backend in backends]
    return rings[0] if len(rings) == 1 else CopyRings(rings)
