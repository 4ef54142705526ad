"""DevicePrefetch: a thread reads the next items and copies them to a device, or to several in turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fluidio.executor.readers.ahead import Ahead
from fluidio.executor.readers.base import Decorator, Reader, Spec, Tensors, part_of_item
from fluidio.executor.readers.batch import Batch
from fluidio.executor.readers.stage import CopyStage, on_host, stage_next
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.decode.spans import Part

__all__ = ["DevicePrefetch"]

_AHEAD = 2  # items per device: one waiting, and one in the thread


class DevicePrefetch(Decorator):
    """Reads ahead in a thread and starts the copies of the items, through the backend's `copy_stage()`."""

    def __init__(self, name: str, below: Reader, stage: CopyStage, spec: Spec = ()) -> None:
        super().__init__(name, below, spec)
        self._stage = stage
        # One fewer item waits than on the host: the memory of a delivered item is reused later.
        self._ahead: Ahead[Any] = Ahead(name, _AHEAD * stage.width - 1)

    def _next(self) -> Tensors | None:
        return self._take()

    def _part(self, most: int) -> Part | None:
        item = self._next()
        return None if item is None else part_of_item(on_host(item))

    def _take(self) -> Tensors | None:
        self._stage.release()
        slot = self._ahead.take(self._reading())
        return None if slot is None else self._stage.take(slot)

    def _reading(self) -> Callable[[], Any]:
        """Return the function the thread calls for each item; it must not reference this reader."""
        if isinstance(self.below, Batch):
            return partial(stage_next, partial(self.below.read_into, self._stage.allocate), self._stage)
        return partial(stage_next, self.below.read_next, self._stage)

    def _stop_soon(self) -> None:
        self._ahead.close()

    def _stop(self) -> None:
        self._ahead.stop()
        self._stage.reset()

    def skip(self, count: int) -> int:
        self.delivered = self.below.skip(count)  # before the thread starts
        return self.delivered

    def stats(self) -> ReaderState:
        return {**super().stats(), **self._ahead.stats(_AHEAD)}
