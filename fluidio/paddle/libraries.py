"""Installed packages that build on paddle, such as PaddleSlim: as old as the scripts, they get the capsule too."""

from __future__ import annotations

import functools
import re
from pathlib import Path

__all__ = ["builds_on_paddle", "is_installed"]

_FOLDERS = ("site-packages", "dist-packages")
_IMPORT = re.compile(r"^\s*(?:import|from)\s+paddle\b", re.MULTILINE)
_HEADER = re.compile(r"^(?:Name|Summary|Home-page|Author|Requires-Dist):.*paddle", re.MULTILINE | re.IGNORECASE)


def builds_on_paddle(path: str) -> bool:
    """Return whether an installed file imports paddle, or its package does, requires it, has its name or authors."""
    place = _place(path)
    return place is not None and (_package_does(*place) or _imports_paddle(Path(path)))


def is_installed(path: str) -> bool:
    """Return whether a source file lies where packages are installed, be it by `pip install --target FOLDER`."""
    return _place(path) is not None


def _place(path: str) -> tuple[Path, str] | None:
    """Return the folder in which a file's package is installed, and the name that the package has there."""
    parts = Path(path).parts
    for place in range(len(parts) - 1, 0, -1):
        folder, name = Path(*parts[:place]), parts[place]
        if parts[place - 1] in _FOLDERS or name in _recorded(folder):
            return folder, name
    return None


@functools.cache
def _recorded(folder: Path) -> frozenset[str]:
    """Return the files and folders that pip has recorded in a folder."""
    records = [_text(file) for file in folder.glob("*.dist-info/RECORD")]
    return frozenset(line.partition(",")[0].partition("/")[0] for text in records for line in text.splitlines())


@functools.cache
def _package_does(folder: Path, name: str) -> bool:
    package = folder / name
    start = package / "__init__.py" if package.is_dir() else package
    described = sorted(folder.glob(f"{name.removesuffix('.py')}-*.dist-info/METADATA"))
    return (
        name.startswith("paddle")
        or (start.is_file() and _imports_paddle(start))
        or any(_HEADER.search(_text(file).split("\n\n", 1)[0]) for file in described)
    )


def _imports_paddle(path: Path) -> bool:
    text = _text(path)
    return "paddle" in text and bool(_IMPORT.search(text))


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")
