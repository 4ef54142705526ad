"""Find programs."""

from __future__ import annotations

import shutil

__all__ = ["find_executable"]


def find_executable(executable: str, path: str | None = None) -> str | None:
    """Return the path of a program, or None."""
    return shutil.which(executable, path=path)
