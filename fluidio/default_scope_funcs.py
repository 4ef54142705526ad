"""A stack of scopes over the global one (Fluid's oldest API for variables)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fluidio.tensor import Scope, ScopeVariable

__all__ = ["enter_local_scope", "find_var", "get_cur_scope", "leave_local_scope", "scoped_function", "var"]

_stacks = threading.local()


def get_cur_scope() -> Scope:
    """Return the innermost scope of this thread's stack."""
    if not getattr(_stacks, "scopes", None):
        _stacks.scopes = [Scope()]
    scope: Scope = _stacks.scopes[-1]
    return scope


def enter_local_scope() -> None:
    """Enter a new scope inside the current one."""
    current = get_cur_scope()
    _stacks.scopes.append(current.new_scope())


def leave_local_scope() -> None:
    """Leave the innermost scope and drop its variables."""
    get_cur_scope()
    if len(_stacks.scopes) == 1:
        raise RuntimeError("leave_local_scope() was called more often than enter_local_scope()")
    _stacks.scopes.pop()
    get_cur_scope().drop_kids()


def var(name: str) -> ScopeVariable:
    """Return the variable of the current scope, made if absent."""
    return get_cur_scope().var(name)


def find_var(name: str) -> ScopeVariable | None:
    """Return the variable of the current scope or an enclosing one."""
    return get_cur_scope().find_var(name)


def scoped_function(func: Callable[[], object]) -> None:
    """Run a function in a new scope."""
    enter_local_scope()
    try:
        func()
    finally:
        leave_local_scope()
