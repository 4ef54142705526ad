"""`paddle.v2.init`."""

from __future__ import annotations

from typing import Any

__all__ = ["init"]


def init(**_: Any) -> None:
    """Accept paddle.v2's process setup; nothing is needed here."""
