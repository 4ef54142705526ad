"""Shards that another process replaces while a set is read: half of the old set and half of the new are neither."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from fluidio.errors import RecordIOError
from fluidio.recordio.files.shard_sets import shard_of
from fluidio.recordio.files.source import is_url
from fluidio.recordio.files.tasks import Task

__all__ = ["replaced_since", "steadily"]

T = TypeVar("T")


def replaced_since(paths: Iterable[object]) -> Callable[[], None]:
    """Return a function that raises if one of these local shards is not the file it was."""
    names = {path.path if isinstance(path, Task) else path for path in paths if isinstance(path, (str, Task))}
    before = {name: _identity(name) for name in names if not is_url(name) and shard_of(name) is not None}

    def check() -> None:
        changed = next((name for name, was in before.items() if _identity(name) != was), None)
        if changed is not None:
            problem = "the file was replaced or removed while its set was read, so records may be missing or doubled"
            raise RecordIOError(problem, path=changed, hint="run it again")

    return check


def steadily(paths: Iterable[T]) -> Iterator[T]:
    """Yield paths that are read one after another; raise after the last if one was replaced meanwhile."""
    found = list(paths)
    check = replaced_since(found)
    yield from found
    check()


def _identity(path: str) -> Any:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
