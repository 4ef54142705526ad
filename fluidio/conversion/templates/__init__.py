"""Templates to copy and edit: `fluidio convert --init NAME DIR`."""

from __future__ import annotations

import os
import shutil

__all__ = ["NAMES", "copy", "for_file", "path_of"]

NAMES = ("csv", "imagenet", "jsonl", "tables", "tfrecord")
_FILES = {"csv": "csv_rows", "imagenet": "imagenet", "jsonl": "json_lines", "tables": "tables", "tfrecord": "tfrecord"}


def copy(name: str, folder: str) -> str:
    """Copy a template into a folder and return its path; an existing file is kept."""
    if name not in NAMES:
        raise FileNotFoundError(f"there is no template {name!r}: choose one of {', '.join(NAMES)}")
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, f"{_FILES[name]}.py")
    if os.path.exists(target):
        raise FileExistsError(f"{target} exists already: choose another folder")
    shutil.copyfile(os.path.join(os.path.dirname(__file__), f"{_FILES[name]}.py"), target)
    return target


def path_of(name: str) -> str:
    """Return the path of a built-in template; any other name or path is returned unchanged."""
    if name not in NAMES or os.path.exists(name):
        return name
    return os.path.join(os.path.dirname(__file__), f"{_FILES[name]}.py")


def for_file(path: str) -> str | None:
    """Return the template that reads a data file directly; None if there is none."""
    name = path.lower()
    suffix = os.path.splitext(name.removesuffix(".gz"))[1]
    if name.endswith(".gz") and suffix not in (".jsonl", ".ndjson", ".csv", ".tsv"):
        return None
    if suffix in (".jsonl", ".ndjson"):
        return path_of("jsonl")
    return path_of("tables") if suffix in (".parquet", ".pq", ".arrow", ".feather", ".csv", ".tsv") else None
