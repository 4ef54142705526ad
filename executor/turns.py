"""Let threads take turns where a program updates the variables of a scope.

Two steps at once would read parameters that the other is halfway through updating. Programs that only read need no
turn, nor do two programs, or two scopes: a thread that waits for data must not keep the one that makes it from running.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

from fluidio.tensor import Scope

__all__ = ["turn"]

_making = threading.Lock()


def turn(program: Any, scope: Scope) -> AbstractContextManager[Any]:
    """Return the lock of a program in a scope; a thread that has it may take it again, in a `py_func` for instance."""
    turns: WeakKeyDictionary[Scope, Any] | None = program.__dict__.get("_turns")
    if turns is not None:
        found = turns.get(scope)
        if found is not None:
            return found  # type: ignore[no-any-return]
    with _making:
        made: Any = program.__dict__.setdefault("_turns", WeakKeyDictionary())
        lock: AbstractContextManager[Any] = made.setdefault(scope, threading.RLock())
        return lock
