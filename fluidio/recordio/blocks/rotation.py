"""Rotation: which lane delivers the next chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable
from itertools import islice
from typing import Generic, TypeVar

__all__ = ["Rotation"]

T = TypeVar("T")


class Rotation(Generic[T]):
    """A chunk of each of `active` lanes in turn; the next lane of the queue takes the place of one that has ended."""

    def __init__(self, lanes: Iterable[T], active: int) -> None:
        every = iter(lanes)
        self.turn = deque(islice(every, active))
        self.queue = deque(every)

    def copy(self) -> Rotation[T]:
        """Return an independent copy."""
        return Rotation([*self.turn, *self.queue], len(self.turn))

    @property
    def head(self) -> T | None:
        """The lane whose turn it is, None at the end."""
        return self.turn[0] if self.turn else None

    def advance(self, ended: bool) -> None:
        """Move to the next lane, because the one at the head delivered a chunk or has ended."""
        lane = self.turn.popleft()
        if not ended:
            self.turn.append(lane)
        elif self.queue:
            self.turn.append(self.queue.popleft())

    def end(self, lane: T) -> None:
        """Replace a lane that has ended, at any position, with the next lane of the queue."""
        at = self.turn.index(lane)
        if self.queue:
            self.turn[at] = self.queue.popleft()
        else:
            del self.turn[at]

    def bring_forward(self, busy: Container[T]) -> None:
        """Move a lane that is not busy to the head, if there is one."""
        for _ in range(len(self.turn)):
            if self.turn[0] not in busy:
                return
            self.turn.rotate(-1)
