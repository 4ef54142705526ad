"""Decorators with nothing to do: PassThrough over a queue, Relay over other readers that read ahead."""

from __future__ import annotations

from fluidio.executor.readers.base import Decorator, Tensors
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.decode.spans import Part

__all__ = ["PassThrough", "Relay"]


class PassThrough(Decorator):
    """A queue reader under another name: the queue counts, starts and stops."""

    def read_next(self) -> Tensors | None:
        return self.below.read_next()

    def read_part(self, most: int) -> Part | None:
        return self.below.read_part(most)

    def start(self, epoch: int | None = None) -> None:
        """Do nothing: the handle's start() supplies the generator."""

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
    """Passes on the items of the reader below, where nothing else is left to do.

    Used for `double_buffer` over a reader that reads ahead in its own threads, and for the reader that let several
    threads share another one (Fluid <= 0.14), which every reader here supports.
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
