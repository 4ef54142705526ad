"""`raise` with two or three operands, and exceptions that were classes of their own."""

from __future__ import annotations

from types import TracebackType

__all__ = ["exception"]


def exception(kind: object, value: object = None, trace: TracebackType | None = None) -> object:
    """Return what `raise kind, value, trace` raises."""
    while isinstance(kind, tuple) and kind:
        kind = kind[0]
    if not isinstance(kind, type):
        found = kind
    elif isinstance(value, kind):
        found = value
    elif isinstance(value, tuple):
        found = kind(*value)
    else:
        found = kind() if value is None else kind(value)
    return found if trace is None or not isinstance(found, BaseException) else found.with_traceback(trace)
