"""The parts of Fluid's imperative modules that static programs use to check whether the mode is on; it never is."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

__all__ = ["disable_dygraph", "disable_imperative", "enabled", "no_grad"]


def enabled() -> bool:
    """Return False: programs are static."""
    return False


def disable_dygraph() -> None:
    """Leave the imperative mode: it is never on."""


disable_imperative = disable_dygraph


def no_grad(func: Callable[..., Any] | None = None) -> Any:
    """Decorate a function, or open a context, without effect: static programs have `stop_gradient`."""
    if func is None:
        return contextlib.nullcontext()
    called = func

    @functools.wraps(called)
    def unchanged(*args: Any, **kwargs: Any) -> Any:
        return called(*args, **kwargs)

    return unchanged
