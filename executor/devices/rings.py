"""Copy rings for several GPUs: the batches of one reader go to them in turn, each through a ring of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.executor.devices.ring import CopyRing
from fluidio.executor.devices.slot import ArraySpec, RingSlot, Tensors

__all__ = ["CopyRings", "copy_stage"]


class CopyRings:
    """Brings batch 0 to the first GPU, batch 1 to the second and so on, and round again; one transfer for each batch.

    A batch stays with its reader until the next one for the same GPU is asked for.
    """

    def __init__(self, rings: Sequence[CopyRing]) -> None:
        self.width = len(rings)
        self._rings = rings
        self._filled = 0  # batches staged in this epoch: told by the thread that reads
        self._taken = 0  # by the thread that computes

    def allocate(self, fields: Sequence[ArraySpec]) -> list[Any]:
        """Return pinned arrays for the (shape, dtype) of each field of the next batch."""
        return self._rings[self._filled % self.width].allocate(fields)

    def stage(self, tensors: Tensors) -> RingSlot:
        """Start the copy of a batch to the GPU whose turn it is."""
        slot = self._rings[self._filled % self.width].stage(tensors)
        self._filled += 1
        return slot

    def take(self, slot: RingSlot) -> Tensors:
        """Return a staged batch on its GPU, whose current stream waits for the copy; in the order of staging."""
        tensors = self._rings[self._taken % self.width].take(slot)
        self._taken += 1
        return tensors

    def release(self) -> None:
        """Give back the batch before last of the GPU whose turn it is."""
        self._rings[self._taken % self.width].release()

    def reset(self) -> None:
        """Forget all batches and begin with the first GPU; nobody stages meanwhile."""
        for ring in self._rings:
            ring.reset()
        self._filled = self._taken = 0


def copy_stage(backends: Sequence[Any], slots: int = 3) -> CopyRing | CopyRings | None:
    """Return what brings the batches of a reader to these places in turn; None when one of them is no GPU.

    Args:
        slots: batches that have memory on each GPU; a loop that keeps a batch while it asks for the next one needs 4.
    """
    if not all(backend.is_gpu for backend in backends):
        return None
    rings = [backend.copy_stage(slots) for backend in backends]
    return rings[0] if len(rings) == 1 else CopyRings(rings)
