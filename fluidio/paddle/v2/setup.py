"""`paddle.v2.init`."""

from __future__ import annotations

__all__ = ["init"]


def init(**_: object) -> None:
    """Accept paddle.v2's process setup; nothing is needed here."""
