"""Let threads take turns where a program updates the variables of a scope.

Two steps at once would read parameters that the other is halfway through updating. Programs that only read need no
turn, nor do two programs, or two scopes: a thread that waits for data must not keep the one that makes it from running.
"""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from fluidio.tensor import Scope

__all__ = ["Turns"]

_making = threading.Lock()


class Turns:
    """The locks of one program, one for each scope."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[Scope, threading.RLock] = WeakKeyDictionary()

    def of(self, scope: Scope) -> threading.RLock:
        """Return the lock; a thread that has it may take it again, in a `py_func` for instance."""
        found = self._locks.get(scope)
        if found is None:
            with _making:
                found = self._locks.setdefault(scope, threading.RLock())
        return found
