"""Decorators from Fluid's own source code that a few scripts import."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

__all__ = ["autodoc", "deprecated", "templatedoc"]

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


def deprecated(
    since: str = "", instead: str = "", extra_message: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Warn at each call that the function is deprecated."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            text = f"{function.__name__} is deprecated since {since}; use {instead}. {extra_message}"
            warnings.warn(text.strip(), DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return wrapper

    return decorate


def autodoc(comment: str = "") -> Callable[[F], F]:
    """Return the function as it is; docstrings are not generated here."""
    return lambda function: function


def templatedoc(op_type: str | None = None) -> Callable[[F], F]:
    """Return the function as it is; docstrings are not generated here."""
    return lambda function: function
