"""Make threads take turns when a program updates the variables of a scope.

Two concurrent steps would read parameters that the other is still updating. Read-only programs need no lock, nor do
different programs or different scopes: a thread that waits for data must not block the thread that produces it.
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
        """Return the lock, which is reentrant: a `py_func`, for instance, may take it again."""
        found = self._locks.get(scope)
        if found is None:
            with _making:
                found = self._locks.setdefault(scope, threading.RLock())
        return found
