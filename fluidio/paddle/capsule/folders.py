"""Names of files and cells of tables as Python 2 strings."""

from __future__ import annotations

import csv
import glob as globs
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fluidio.paddle.capsule.old_strings import as_text, bytes_of, is_unicode

__all__ = ["DictReader", "glob", "listdir", "reader", "walk"]


def _named(names: Iterable[object], path: object) -> list[object]:
    return [name if is_unicode(path) or not isinstance(name, str) else as_text(bytes_of(name)) for name in names]


def listdir(path: Any = ".") -> list[Any]:
    """Return os.listdir(path)."""
    return _named(os.listdir(path), path)


def walk(top: Any, *args: Any, **kwargs: Any) -> Iterator[tuple[object, list[object], list[object]]]:
    """Return os.walk(top)."""
    for folder, folders, files in os.walk(top, *args, **kwargs):
        inner = _named(folders, top)
        yield _named([folder], top)[0], inner, _named(files, top)
        folders[:] = inner


def glob(pathname: Any) -> list[Any]:
    """Return glob.glob(pathname)."""
    return _named(globs.glob(pathname), pathname)


def _cells(row: Any) -> object:
    if isinstance(row, dict):
        return {_cell(key): _cell(value) for key, value in row.items()}
    return list(map(_cell, row))


def _cell(value: object) -> object:
    return _cells(value) if isinstance(value, list) else as_text(bytes_of(value)) if isinstance(value, str) else value


def _line(line: object) -> Any:
    return as_text(line) if isinstance(line, bytes) else line


class reader:
    """csv.reader."""

    def __init__(self, csvfile: Any, *args: Any, **kwargs: Any) -> None:
        self._rows = csv.reader(map(_line, csvfile), *args, **kwargs)

    def __iter__(self) -> reader:
        return self

    def __next__(self) -> Any:
        return _cells(next(self._rows))

    next = __next__

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)


if TYPE_CHECKING:
    _Rows = csv.DictReader[str]
else:
    _Rows = csv.DictReader


class DictReader(_Rows):
    """csv.DictReader."""

    def __init__(self, f: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(map(_line, f), *args, **kwargs)

    def __next__(self) -> Any:
        return _cells(super().__next__())

    next = __next__
