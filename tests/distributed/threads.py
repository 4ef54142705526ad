"""A communicator between threads of one process, for tests of what stands on communicators."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fluidio.distributed.communicator import Communicator, Done, Member, Reduction, Work

T = TypeVar("T")
LIMIT = 20.0


class _Table:
    """Where threads lay down what they give and take what the others gave."""

    def __init__(self, size: int) -> None:
        self.given: list[Any] = [None] * size
        self.barrier = threading.Barrier(size)


class Threads:
    """One thread of several; every call waits for all of them."""

    tables: dict[tuple[Any, ...], _Table]

    def __init__(self, members: Sequence[Member], rank: int, tables: dict[tuple[Any, ...], _Table], key: Any) -> None:
        self.members = tuple(members)
        self.rank = rank
        self.closed = False
        self._tables = tables
        self._key = key
        self._table = tables.setdefault(key, _Table(len(members)))

    def _exchange(self, value: Any) -> list[Any]:
        self._table.given[self.rank] = value
        self._table.barrier.wait(LIMIT)
        found = list(self._table.given)
        self._table.barrier.wait(LIMIT)
        return found

    def all_reduce(self, array: NDArray[Any], reduction: Reduction = "sum") -> Work:
        array[...] = getattr(np.array(self._exchange(array.copy())), reduction)(axis=0)
        return Done()

    def broadcast(self, array: NDArray[Any], root: int) -> Work:
        array[...] = self._exchange(array.copy())[root]
        return Done()

    def all_gather(self, array: NDArray[Any]) -> NDArray[Any]:
        return np.array(self._exchange(np.array(array)))

    def all_to_all(self, array: NDArray[Any], sent: Sequence[int], received: Sequence[int]) -> NDArray[Any]:
        everyones = self._exchange(np.split(np.array(array), np.cumsum(sent)[:-1]))
        parts = [parts[self.rank] for parts in everyones]
        assert [len(part) for part in parts] == list(received)
        return np.concatenate(parts)

    def subset(self, ranks: Sequence[int]) -> Communicator:
        members = [self.members[rank] for rank in ranks]
        return Threads(members, list(ranks).index(self.rank), self._tables, (self._key, *ranks))

    def take_model(self) -> str:
        return ""

    def give_up(self, reason: str) -> None:
        self._table.barrier.abort()

    def close(self) -> None:
        self.closed = True


def together(count: int, work: Callable[[Threads], T]) -> list[T]:
    """Run a function for each of `count` trainers, in threads; return what they return."""
    members = [Member(i, f"host-{i}", 1000 + i) for i in range(count)]
    tables: dict[tuple[Any, ...], _Table] = {}
    trainers = [Threads(members, i, tables, "all") for i in range(count)]
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(work, trainer) for trainer in trainers]
        return [future.result(LIMIT) for future in futures]
