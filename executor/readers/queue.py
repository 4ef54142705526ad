"""QueueReader: batches that a generator feeds through a queue (`py_reader`, `PyReader`, `DataLoader`)."""

from __future__ import annotations

from fluidio.executor.readers.base import Source, Spec, Tensors, part_of_item
from fluidio.flow.feed_queue import FeedQueue
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.decode.spans import Part

__all__ = ["QueueReader"]


class QueueReader(Source):
    """Drains a FeedQueue; the queue's thread, started by the handle's `start()`, reads ahead."""

    prefetches = True

    def __init__(self, name: str, queue: FeedQueue, spec: Spec = ()) -> None:
        super().__init__(name, spec)
        self.queue = queue
        queue.readers.add(self)

    def read_next(self) -> Tensors | None:
        return self.queue.take()

    def read_part(self, most: int) -> Part | None:
        item = self.queue.take()
        return None if item is None else part_of_item(item)

    def reset(self) -> None:
        for end in self.end_points():
            end.shutdown()
        self.queue.reset()
        for end in self.end_points():
            end.start()

    def shutdown(self) -> None:
        self.queue.reset()

    def start(self, epoch: int | None = None) -> None:
        """Do nothing: the handle's start() supplies the generator."""

    def progress(self) -> tuple[int, int]:
        return self.queue.epoch, self.queue.delivered

    def stats(self) -> ReaderState:
        return self.queue.stats()

    def fingerprint(self) -> list[list[object]]:
        return [["queue"]]

    def state_dict(self) -> ReaderState:
        queue = self.queue
        return {
            "version": 1,
            "reader": self.name,
            "epoch": queue.epoch,
            "items": queue.delivered,
            "chain": self.fingerprint(),
        }

    def load_state_dict(self, state: ReaderState) -> None:
        """Skip the batches that were already read, at the next `start()`."""
        self.queue.resume(state)
