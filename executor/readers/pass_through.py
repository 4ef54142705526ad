"""PassThrough: a decorator that has nothing to do, over a queue that reads ahead itself."""

from __future__ import annotations

from fluidio.executor.readers.base import Decorator, Tensors
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio.decode.spans import Part

__all__ = ["PassThrough", "Threaded"]


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


class Threaded(Decorator):
    """Lets several threads read one reader (Fluid <= 0.14); every reader here can be, so it only passes on."""

    is_cheap = True

    def _part(self, most: int) -> Part | None:
        return self.below.read_part(most)

    def _next(self) -> Tensors | None:
        return self.below.read_next()

    def skip(self, count: int) -> int:
        self.delivered = self.below.skip(count)
        return self.delivered
