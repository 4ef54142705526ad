"""Read members of tar and zip files; nothing is ever unpacked to disk."""

from __future__ import annotations

import contextlib
import os
import tarfile
from collections.abc import Callable, Iterator
from typing import TypeVar

__all__ = ["FileVersion", "lines_of", "tar_members", "version"]

T = TypeVar("T")
FileVersion = tuple[str, int, int]


def version(path: str) -> FileVersion:
    """Return a value that changes with a file: the key for caches of its content."""
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns


def tar_members(path: str, wanted: Callable[[str], object]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the wanted files of a tar archive, in its order."""
    found = False
    with _readable(path), tarfile.open(path) as tar:
        for member in tar:
            if member.isfile() and wanted(member.name):
                file = tar.extractfile(member)
                assert file is not None
                found = True
                yield member.name, file.read()
    if not found:
        raise RuntimeError(f"{path} contains none of the expected files: it is another archive, or damaged")


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise RuntimeError(
            f"{path} is not a complete tar archive ({error}); delete it, and it is downloaded again"
        ) from error


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, split only at line feeds, each stripped of surrounding white space."""
    lines = text.split("\n")
    return [line.strip() for line in (lines[:-1] if lines[-1] == "" else lines)]
