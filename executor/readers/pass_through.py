"""Decorators that have nothing to do: PassThrough over a queue, Relay over other readers that work ahead."""

from __future__ import annotations

from fluidio.executor.readers.base import Decorator, Tensors
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.decode.spans import Part

__all__ = ["PassThrough", "Relay"]


class PassThrough(Decorator):
    """Is its queue under another name: the queue counts, starts and stops."""

    def read_next(self) -> Tensors | None:
        return self.below.read_next()

    def read_part(self, most: int) -> Part | None:
        return self.below.read_part(most)

    def start(self, epoch: int | None = None) -> None:
        """Do nothing: the handle's start() brings the generator."""

    def shutdown(self) -> None:
        self.below.shutdown()

    def skip(self, count: int) -> int:
        return self.below.skip(count)

    def stats(self) -> ReaderState:
        return self.below.stats()

    def progress(self) -> tuple[int, int]:
        return self.below.progress()

    def state_dict(self) -> ReaderState:
        return self.below.state_dict()

    def load_state_dict(self, state: ReaderState) -> None:
        self.below.load_state_dict(state)


class Relay(Decorator):
    """Gives out what the reader below does, where nothing else is left to do.

    `double_buffer` over a reader that works ahead in threads of its own; and the reader that let several threads read
    another one (Fluid <= 0.14), which every reader here can do.
    """

    is_cheap = True

    def ready(self) -> int:
        return self.below.ready()

    def _part(self, most: int) -> Part | None:
        return self.below.read_part(most)

    def _next(self) -> Tensors | None:
        return self.below.read_next()

    def skip(self, count: int) -> int:
        self.delivered = self.below.skip(count)
        return self.delivered
