"""FileReader: the records of one RecordIO file, in order."""

from __future__ import annotations

import os
from typing import Any

from fluidio.executor.readers.base import Source, Spec
from fluidio.executor.readers.cursor import Cursor
from fluidio.recordio.decode.spans import Part

__all__ = ["FileReader", "describe_file"]


class FileReader(Source):
    """Reads one file chunk by chunk; opened at once, so that a missing file is noticed by the startup program."""

    def __init__(self, name: str, path: str, spec: Spec = ()) -> None:
        super().__init__(name, spec)
        self._path = path
        self._file = Cursor(path)
        self._file.open()

    def _part(self, most: int) -> Part | None:
        return self._file.read(most)

    def _begin(self) -> None:
        self._file.rewind()

    def skip(self, count: int) -> int:
        left = count
        while left and (records := self._file.announced()) is not None and records <= left:
            self._file.pass_over()
            left -= records
        self.delivered += count - left
        return count - left + super().skip(left)

    def fingerprint(self) -> list[Any]:
        return [["file", describe_file(self._path)]]


def describe_file(path: str) -> list[Any]:
    """Return name and size of a file: what a saved state remembers of it."""
    try:
        return [os.path.basename(path), os.path.getsize(path)]
    except OSError:  # a URL, or gone since
        return [path, -1]
