"""QueueBuffer: the double buffer over a queue on a device; a thread copies the queue's batches there.

The queue knows whether it was started, has ended or failed; this reader holds only the batches between it and the
program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fluidio.errors import ReaderError
from fluidio.executor.readers.base import Spec, Tensors, part_of_item
from fluidio.executor.readers.device_prefetch import DevicePrefetch
from fluidio.executor.readers.queue import QueueReader
from fluidio.executor.readers.stage import CopyStage, on_host, stage_next
from fluidio.flow.lifecycle import State
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.decode.spans import Part

__all__ = ["QueueBuffer"]


class QueueBuffer(DevicePrefetch):
    """Copies the batches of a queue to a device ahead of the program; otherwise it behaves as the queue does."""

    def __init__(self, name: str, below: QueueReader, stage: CopyStage, spec: Spec = ()) -> None:
        super().__init__(name, below, stage, spec)
        self._reader = below
        self._queue = below.queue
        self._round: Any = None  # the epoch of the queue that the thread reads

    def read_next(self) -> Tensors | None:
        with self._lock:
            if self._ahead.running and self._round is not self._queue.current:
                self._stop_soon()  # start() began a new epoch without a reset()
                self._stop()
            if not self._ahead.running:
                if self._queue.state is not State.RUNNING:
                    return self._reader.read_next()  # raises the reason why there is nothing
                self._round = self._queue.current
            try:
                item = self._take()
            except ReaderError:
                item = None
            if item is None:
                return self._reader.read_next()  # the end, or the error once more
            self._queue.delivered += 1
            return item

    def read_part(self, most: int) -> Part | None:
        item = self.read_next()
        return None if item is None else part_of_item(on_host(item))

    def abandon(self) -> None:
        """Let the threads of this epoch end without waiting for them: no one reads any further."""
        self._stop_soon()
        epoch: Any = self._queue.current
        epoch.abandon()

    def wait_for_stage(self) -> None:
        """Wait until the stage is unused, after `abandon`."""
        with self._lock:
            self._stop()

    def _reading(self) -> Callable[[], Any]:
        return partial(stage_next, partial(self._queue.take, False), self._stage)

    def progress(self) -> tuple[int, int]:
        return self._reader.progress()

    def stats(self) -> ReaderState:
        return self._reader.stats()

    def state_dict(self) -> ReaderState:
        return self._reader.state_dict()

    def load_state_dict(self, state: ReaderState) -> None:
        self.shutdown()
        self._reader.load_state_dict(state)
