"""CopyStage: copies items to a device, or to several in turn; provided by the backend of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from fluidio.executor.readers.base import Tensors

__all__ = ["CopyStage", "on_host", "stage_next"]


class CopyStage(Protocol):
    """Copies items to a device, or to several in turn."""

    @property
    def width(self) -> int:
        """How many devices are served in turn."""
        ...

    def allocate(self, fields: Sequence[tuple[tuple[int, ...], Any]]) -> list[Any]:
        """Return arrays for the fields of the next item; filling and staging them saves a copy."""
        ...

    def stage(self, tensors: Tensors) -> Any:
        """Start the copy of an item (called by the reading thread)."""
        ...

    def take(self, slot: Any) -> Tensors:
        """Return it on the device (called by the thread that runs programs)."""
        ...

    def release(self) -> None:
        """Release the previous item of the device whose turn is next."""
        ...

    def reset(self) -> None:
        """Drop all items."""
        ...


def on_host(item: Tensors) -> Tensors:
    """Return an item for a reader above, which works on the host."""
    return [(array if isinstance(array, np.ndarray) else array.get(), lod) for array, lod in item]


def stage_next(read: Callable[[], Tensors | None], stage: CopyStage) -> Any:
    """Read an item and start its copy; None at the end."""
    tensors = read()
    return None if tensors is None else stage.stage(on_host(tensors))
