"""The current program, scope or name generator: what a guard changes for the length of a block.

The main thread's guards change it for the process, as in Fluid: a thread that has set nothing sees what the main thread
sees. What another thread sets is its own, so threads that build programs do not disturb each other.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Current"]

T = TypeVar("T")


class Current(Generic[T]):
    """One value for the process, and others for threads that have set their own."""

    def __init__(self, value: T) -> None:
        self._shared = value
        self._own = threading.local()

    def get(self) -> T:
        found: T = getattr(self._own, "value", self._shared)
        return found

    def switch(self, value: T) -> T:
        """Set the value and return the one before; a thread that sets what the process has follows that again."""
        before = self.get()
        if threading.current_thread() is threading.main_thread():
            self._shared = value
        elif value is self._shared:
            self._own.__dict__.clear()
        else:
            self._own.value = value
        return before

    @contextlib.contextmanager
    def guard(self, value: T) -> Iterator[None]:
        """Have this value inside the block, and behind it what was there before.

        A thread that had none of its own follows the process again, whatever the main thread has set meanwhile.
        """
        if threading.current_thread() is threading.main_thread():
            before, self._shared = self._shared, value
            try:
                yield
            finally:
                self._shared = before
            return
        own = self._own.__dict__
        had = dict(own)
        own["value"] = value
        try:
            yield
        finally:
            own.clear()
            own.update(had)
