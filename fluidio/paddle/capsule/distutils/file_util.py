"""Copy and move files."""

from __future__ import annotations

import shutil

__all__ = ["copy_file", "move_file"]


def copy_file(src: str, dst: str, *args: object, **kwargs: object) -> tuple[str, int]:
    """Copy a file; return where it went."""
    return str(shutil.copy2(src, dst)), 1


def move_file(src: str, dst: str, verbose: int = 1, dry_run: int = 0) -> str:
    """Move a file."""
    return str(shutil.move(src, dst))
