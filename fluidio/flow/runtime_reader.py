"""RuntimeReader: what the variable of a reader holds while programs run, as those see it who do not run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from fluidio.flow.feed_epoch import Tensors

__all__ = ["ReaderState", "RuntimeReader"]

ReaderState = dict[str, Any]
"""Where a reader stands, as plain values; or what it has counted."""


@runtime_checkable
class RuntimeReader(Protocol):
    """One reader of a chain; the executor's Reader is one.

    Attributes:
        name: the variable's name.
        pending: a state to go on from, taken over by the reader that is put on top of this one.
    """

    name: str
    pending: ReaderState | None

    def read_next(self) -> Tensors | None:
        """Return the tensors of the next item, None at the end of the epoch."""
        ...

    def reset(self) -> None:
        """Begin a new epoch: this reader, all below it and all that stand on them."""
        ...

    def stats(self) -> ReaderState:
        """Return counts since the reader was made."""
        ...

    def state_dict(self) -> ReaderState:
        """Return where this reader stands."""
        ...

    def load_state_dict(self, state: ReaderState) -> None:
        """Go on where `state_dict()` was taken."""
        ...

    def end_points(self) -> Sequence[RuntimeReader]:
        """Return the readers at the top of every chain on the same source."""
        ...

    def is_top(self) -> bool:
        """Tell whether nothing stands on this reader."""
        ...
