"""CopyAhead: batches that the threads of `open_files` copy from its chunks before they are requested."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from fluidio.executor.readers.open_files import OpenFiles
from fluidio.flow.thread_pool import Job

__all__ = ["CopyAhead"]

Plan = TypeVar("Plan")
Item = TypeVar("Item")


class CopyAhead(Generic[Plan, Item]):
    """Delivers items one by one that were made several at a time, because each hand-over between threads takes time.

    Args:
        source: the reader whose threads make the items.
    """

    def __init__(self, source: OpenFiles) -> None:
        self._source = source
        self._items: deque[Item | Exception] = deque()
        self._jobs: deque[Job[list[Item | Exception]]] = deque()
        self._error: Exception | None = None  # raised while planning, after these jobs

    def __bool__(self) -> bool:
        return bool(self._items or self._jobs or self._error)

    def take(self, plan: Callable[[bool], Plan | None], make: Callable[[Plan], list[Item | Exception]]) -> Item | None:
        """Return the next item, None at the end.

        Args:
            plan: returns the plan of the next items, None at the end; with False, also None where it would wait.
            make: makes the items of a plan, on any thread; an exception takes the place of a failed item.
        """
        while not self._items:
            if not self._jobs:
                error, self._error = self._error, None
                if error is not None:
                    raise error
                if not self._submit(plan(True), make):
                    self._source.rest()
                    return None
            if len(self._jobs) < 2 and self._error is None:
                try:
                    self._submit(plan(False), make)
                except Exception as error:  # raised after the items planned before it
                    self._error = error
            found = self._source.result(self._jobs[0])
            self._jobs.popleft()  # only after it has arrived: waiting may be interrupted
            self._items.extend(found)
        item = self._items.popleft()
        if isinstance(item, Exception):
            raise item
        return item

    def _submit(self, plan: Plan | None, make: Callable[[Plan], list[Item | Exception]]) -> bool:
        if plan is not None:
            self._jobs.append(self._source.submit(partial(make, plan)))
        return plan is not None

    def clear(self) -> None:
        """Discard items made ahead."""
        self._items.clear()
        self._jobs.clear()
        self._error = None
