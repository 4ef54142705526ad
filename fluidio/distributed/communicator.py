"""Communicator: the interface of an engine that moves bytes between trainers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from fluidio.tensor.array import Array

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
        """Wait for the exchange; raise DistributedError if it takes too long or a trainer has died."""


class Communicator(Protocol):
    """Collective calls between trainers: every member makes the same ones in the same order.

    Arrays are C-contiguous NumPy arrays, modified in place. Do not touch an array in transit before `wait`.
    """

    @property
    def members(self) -> Sequence[Member]: ...

    @property
    def rank(self) -> int:
        """The position of this process among the members."""
        ...

    def all_reduce(self, array: Array, reduction: Reduction = "sum") -> Work: ...

    def broadcast(self, array: Array, root: int) -> Work: ...

    def all_gather(self, array: Array) -> Array:
        """Return the arrays of all members, stacked by rank; all have the same shape."""
        ...

    def all_to_all(self, array: Array, sent: Sequence[int], received: Sequence[int]) -> Array:
        """Send the first `sent[0]` rows to rank 0, the next `sent[1]` to rank 1, ...; return the received rows.

        `received` says how many rows each rank sends to this one; they arrive in rank order.
        """
        ...

    def subset(self, ranks: Sequence[int]) -> Communicator:
        """Return a communicator of these members; only these members call this."""
        ...

    def take_model(self) -> str:
        """Return the folder of the model that was loaded on the servers, once and to the first member; else ""."""
        ...

    def give_up(self, reason: str) -> None:
        """Notify the others that this process cannot continue; harmless if they can no longer be reached."""

    def close(self) -> None:
        """Leave permanently; no further calls follow."""


def as_bytes(array: Array) -> Array:
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

    def all_reduce(self, array: Array, reduction: Reduction = "sum") -> Work:
        return Done()

    def broadcast(self, array: Array, root: int) -> Work:
        return Done()

    def all_gather(self, array: Array) -> Array:
        return np.array(array)[np.newaxis]

    def all_to_all(self, array: Array, sent: Sequence[int], received: Sequence[int]) -> Array:
        return np.array(array)

    def subset(self, ranks: Sequence[int]) -> Communicator:
        return self

    def take_model(self) -> str:
        return ""

    def give_up(self, reason: str) -> None:
        """Do nothing: there are no other members."""

    def close(self) -> None:
        """Do nothing: nothing is open."""
