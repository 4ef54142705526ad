"""What the house tests look at: the repository's folders, modules and texts."""

from __future__ import annotations

import configparser
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"fluidio": ROOT / "fluidio", "fluidio.layers": ROOT / "layers", "fluidio.executor": ROOT / "executor"}


def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def modules() -> dict[str, Path]:
    """Return every module of the three packages by its import name; the two links are not followed."""
    return dict(sorted(pair for name, folder in FOLDERS.items() for pair in _modules(name, folder)))


def _modules(package: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*.py"):
        if any(parent.is_symlink() for parent in path.parents if parent != folder and folder in parent.parents):
            continue
        parts = path.relative_to(folder).with_suffix("").parts
        names = parts[:-1] if parts[-1] == "__init__" else parts
        yield ".".join([package, *names]), path


def packages() -> list[str]:
    """Return the packages on disk: the folders that hold an `__init__.py`."""
    return [name for name, path in modules().items() if path.name == "__init__.py"]


def texts(*suffixes: str) -> list[Path]:
    """Return the files of the repository with one of these suffixes, each under its real place only."""
    found: list[Path] = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if not _ignored(Path(folder, name))]
        found += [Path(folder, name) for name in files if name.endswith(suffixes)]
    return sorted(found)


def _ignored(folder: Path) -> bool:
    name = folder.name
    if name == ".ci":
        return False
    return (
        folder.is_symlink() or name.startswith((".", "__")) or name in {"build", "dist"} or name.endswith(".egg-info")
    )
