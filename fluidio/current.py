"""The current program, scope or name generator: values that a guard changes for the duration of a block.

The main thread's guards change them for the process, as in Fluid: a thread that has set nothing sees the main thread's
value. A value set in another thread is its own, so threads that build programs do not disturb each other.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Current"]

T = TypeVar("T")


class Current(Generic[T]):
    """One value for the process, and separate ones for threads that have set their own."""

    def __init__(self, value: T) -> None:
        self._shared = value
        self._own = threading.local()
        self._divided = False  # whether a thread has ever had a value of its own

    def get(self) -> T:
        if not self._divided:
            return self._shared
        found: T = getattr(self._own, "value", self._shared)
        return found

    def switch(self, value: T) -> T:
        """Set the value and return the old one; a thread that sets the process's value follows the process again."""
        before = self.get()
        if threading.current_thread() is threading.main_thread():
            self._shared = value
        elif value is self._shared:
            self._own.__dict__.clear()
        else:
            self._divided = True
            self._own.value = value
        return before

    @contextlib.contextmanager
    def guard(self, value: T) -> Iterator[None]:
        """Use this value inside the block, and restore the previous one after it.

        A thread without its own value follows the process again, whatever the main thread has set meanwhile.
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
        self._divided = True
        own["value"] = value
        try:
            yield
        finally:
            own.clear()
            own.update(had)
