"""Decorators of Fluid's own source that a few scripts import."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["autodoc", "deprecated", "templatedoc"]

F = TypeVar("F", bound=Callable[..., Any])


def deprecated(since: str = "", instead: str = "", extra_message: str = "") -> Callable[[F], F]:
    """Warn at each call that there is something newer."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> Any:
            text = f"{function.__name__} is deprecated since {since}; use {instead}. {extra_message}"
            warnings.warn(text.strip(), DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


def autodoc(comment: str = "") -> Callable[[F], F]:
    """Return the function as it is; docstrings are not generated here."""
    return lambda function: function


def templatedoc(op_type: str | None = None) -> Callable[[F], F]:
    """Return the function as it is; docstrings are not generated here."""
    return lambda function: function
