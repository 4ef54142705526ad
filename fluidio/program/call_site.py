"""Find the user's line that built something, for error messages."""

from __future__ import annotations

import os
import sys
from types import FrameType

__all__ = ["Site", "describe", "is_ours", "user_site"]

Site = tuple[str, int, str]  # file, line, function

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = tuple(
    os.path.join(root, "")
    for root in (
        _HERE,
        os.path.realpath(_HERE),
        os.path.realpath(os.path.join(_HERE, "layers")),
        os.path.realpath(os.path.join(_HERE, "executor")),
    )
)
_known: dict[str, bool] = {}


def is_ours(filename: str) -> bool:
    """Return whether a file belongs to fluidio (or to the context managers between it and the user)."""
    known = _known.get(filename)
    if known is None:
        known = _known[filename] = filename.startswith(_OURS) or filename.endswith("contextlib.py")
    return known


def user_site() -> Site | None:
    """Return file, line and function of the nearest caller outside fluidio."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_ours(code.co_filename):
            return code.co_filename, frame.f_lineno, code.co_name
        frame = frame.f_back
    return None


def describe(site: Site | None) -> str:
    """Return `file:line, in function`, or "" when unknown."""
    return "" if site is None else f"{site[0]}:{site[1]}, in {site[2]}"
