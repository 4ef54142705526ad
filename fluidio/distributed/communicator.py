"""Communicator: what an engine that moves bytes between trainers must offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Alone", "Communicator", "Done", "Member", "Reduction", "Work", "as_bytes"]

Reduction = Literal["sum", "prod", "max", "min"]


@dataclass(frozen=True, slots=True)
class Member:
    """A trainer: its id in the job, and where it runs."""

    trainer: int
    host: str
    pid: int

    def __str__(self) -> str:
        return f"trainer {self.trainer} on {self.host} (pid {self.pid})"


class Work(Protocol):
    """An exchange under way."""

    def wait(self) -> None:
        """Return when the exchange is done; DistributedError if that takes too long or a trainer is gone."""


class Communicator(Protocol):
    """Collective calls between trainers: every member makes the same ones in the same order.

    Arrays are C-contiguous NumPy arrays, worked on in place. What is under way must not be touched before `wait`.
    """

    @property
    def members(self) -> Sequence[Member]: ...

    @property
    def rank(self) -> int:
        """The position of this process among the members."""
        ...

    def all_reduce(self, array: NDArray[Any], reduction: Reduction = "sum") -> Work: ...

    def broadcast(self, array: NDArray[Any], root: int) -> Work: ...

    def all_gather(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the arrays of all members, stacked by rank; they have one shape."""
        ...

    def all_to_all(self, array: NDArray[Any], sent: Sequence[int], received: Sequence[int]) -> NDArray[Any]:
        """Send the first `sent[0]` rows to rank 0, the next `sent[1]` to rank 1, ...; return the rows that come.

        `received` says how many rows each rank sends to this one; they come in the order of ranks.
        """
        ...

    def subset(self, ranks: Sequence[int]) -> Communicator:
        """Return a communicator of these members; only they call this."""
        ...

    def give_up(self, reason: str) -> None:
        """Tell the others that this process cannot go on; harmless where that is not possible any more."""

    def close(self) -> None:
        """Leave for good: there will be no further call."""


def as_bytes(array: NDArray[Any]) -> NDArray[Any]:
    """Return the memory of a contiguous array as bytes."""
    return array.reshape(-1).view(np.uint8)


class Done:
    """An exchange that is done."""

    def wait(self) -> None:
        """Return at once."""


class Alone:
    """The communicator of a single process, which needs no engine."""

    def __init__(self, member: Member) -> None:
        self.members: Sequence[Member] = (member,)
        self.rank = 0

    def all_reduce(self, array: NDArray[Any], reduction: Reduction = "sum") -> Work:
        return Done()

    def broadcast(self, array: NDArray[Any], root: int) -> Work:
        return Done()

    def all_gather(self, array: NDArray[Any]) -> NDArray[Any]:
        return np.array(array)[np.newaxis]

    def all_to_all(self, array: NDArray[Any], sent: Sequence[int], received: Sequence[int]) -> NDArray[Any]:
        return np.array(array)

    def subset(self, ranks: Sequence[int]) -> Communicator:
        return self

    def give_up(self, reason: str) -> None:
        """Do nothing: nobody listens."""

    def close(self) -> None:
        """Do nothing: nothing is open."""
