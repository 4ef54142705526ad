"""Parse truth values."""

from __future__ import annotations

__all__ = ["strtobool"]


def strtobool(val: str) -> int:
    """Return 1 for y, yes, t, true, on, 1 and 0 for their opposites."""
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {val!r}")
