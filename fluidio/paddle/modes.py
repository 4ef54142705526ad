"""Paddle 2.0's switches between static and dynamic graphs, as far as a static runtime can answer."""

from __future__ import annotations

from fluidio.errors import not_supported

__all__ = ["disable_static", "enable_static", "in_dynamic_mode"]


def enable_static() -> None:
    """Accept the switch: programs are static here anyway."""


def in_dynamic_mode() -> bool:
    """Return False: programs are static here."""
    return False


def disable_static(place: object = None) -> None:
    """Refuse dynamic graphs."""
    not_supported("paddle.disable_static", "dynamic graphs do not exist here; build a static program")
