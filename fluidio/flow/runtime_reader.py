"""RuntimeReader: the run-time value of a reader variable, as seen from outside the executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from fluidio.flow.feed_epoch import Tensors

__all__ = ["ReaderState", "RuntimeReader"]

ReaderState = dict[str, Any]
"""A reader's position as plain values, or its counts."""


@runtime_checkable
class RuntimeReader(Protocol):
    """One reader of a chain; the executor's Reader is one.

    Attributes:
        name: the variable's name.
        pending: a state to resume from, taken over by the reader built on this one.
    """

    name: str
    pending: ReaderState | None

    def read_next(self) -> Tensors | None:
        """Return the tensors of the next item, None at the end of the epoch."""
        ...

    def reset(self) -> None:
        """Begin a new epoch in this reader, all readers below it and all readers above those."""
        ...

    def stats(self) -> ReaderState:
        """Return counts since the reader was made."""
        ...

    def state_dict(self) -> ReaderState:
        """Return this reader's position."""
        ...

    def load_state_dict(self, state: ReaderState) -> None:
        """Resume where `state_dict()` was taken."""
        ...

    def end_points(self) -> Sequence[RuntimeReader]:
        """Return the readers at the top of every chain on the same source."""
        ...

    def is_top(self) -> bool:
        """Return whether no reader is built on this one."""
        ...
