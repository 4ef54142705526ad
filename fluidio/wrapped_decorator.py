"""Decorators that keep the signature of the wrapped function."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

__all__ = ["signature_safe_contextmanager", "wrap_decorator"]


def wrap_decorator(decorator_func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the decorator with name, docstring and signature of the wrapped function kept."""

    def decorate(func: Any) -> Any:
        return functools.wraps(func)(decorator_func(func))

    return decorate


signature_safe_contextmanager = contextlib.contextmanager
