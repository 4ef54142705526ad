"""Installed packages that build on paddle, such as PaddleSlim: as old as the scripts, they get the capsule too."""

from __future__ import annotations

import functools
import re
from pathlib import Path

__all__ = ["builds_on_paddle"]

_FOLDERS = ("site-packages", "dist-packages")
_IMPORT = re.compile(r"^\s*(?:import|from)\s+paddle\b", re.MULTILINE)
_HEADER = re.compile(r"^(?:Name|Summary|Requires-Dist):.*paddle", re.MULTILINE | re.IGNORECASE)


def builds_on_paddle(path: str) -> bool:
    """Return whether a source file belongs to an installed package that imports paddle, requires it or has its name."""
    parts = Path(path).parts
    place = max((n for n, part in enumerate(parts) if part in _FOLDERS), default=-1)
    if place < 0 or place + 1 >= len(parts):
        return False
    return _package_does(Path(*parts[: place + 1]), parts[place + 1])


@functools.cache
def _package_does(folder: Path, name: str) -> bool:
    package = folder / name
    start = package / "__init__.py" if package.is_dir() else package
    described = sorted(folder.glob(f"{name.removesuffix('.py')}-*.dist-info/METADATA"))
    return (
        name.startswith("paddle")
        or (start.is_file() and bool(_IMPORT.search(_text(start))))
        or any(_HEADER.search(_text(file).split("\n\n", 1)[0]) for file in described)
    )


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")
