"""Python 2's StandardError: the parent of the built-in errors, but not of every Exception."""

from __future__ import annotations

from typing import Any

__all__ = ["StandardError", "standard_errors"]

_BUILT_IN: tuple[type[BaseException], ...] = (
    *(ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, ImportError, LookupError, MemoryError),
    *(NameError, OSError, ReferenceError, RuntimeError, SyntaxError, SystemError, TypeError, ValueError),
)


class _Standard(type):
    """What is an instance or a subclass of StandardError."""

    def __instancecheck__(cls, value: object) -> bool:
        return issubclass(type(value), cls)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return type.__subclasscheck__(cls, kind) or (cls is StandardError and issubclass(kind, _BUILT_IN))


class StandardError(Exception, metaclass=_Standard):
    """Raised by scripts themselves, and the parent of their errors."""


StandardError.__module__ = "exceptions"
standard_errors: tuple[type[BaseException], ...] = (StandardError, *_BUILT_IN)
"""What `except StandardError` catches, as handlers look at true parents only."""
