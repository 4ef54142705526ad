"""Create, copy and remove folders."""

from __future__ import annotations

import os
import shutil

__all__ = ["copy_tree", "mkpath", "remove_tree"]


def mkpath(name: str, mode: int = 0o777, verbose: int = 1, dry_run: int = 0) -> list[str]:
    """Create a folder and its parents."""
    os.makedirs(name, mode, exist_ok=True)
    return [name]


def copy_tree(src: str, dst: str, *args: object, **kwargs: object) -> list[str]:
    """Copy the contents of one folder into another."""
    shutil.copytree(src, dst, dirs_exist_ok=True)
    return [os.path.join(folder, name) for folder, _, names in os.walk(dst) for name in names]


def remove_tree(directory: str, verbose: int = 1, dry_run: int = 0) -> None:
    """Remove a folder and its contents."""
    shutil.rmtree(directory)
