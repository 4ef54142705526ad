"""FileReader: the records of one RecordIO file, in order."""

from __future__ import annotations

import os
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Reader, Spec
from fluidio.recordio import BlockReader, RecordBlock

__all__ = ["FileReader", "describe_file", "open_blocks"]


class FileReader(Reader):
    """Reads one file chunk by chunk; opened at once, so that a missing file is noticed by the startup program."""

    def __init__(self, name: str, path: str, spec: Spec = ()) -> None:
        super().__init__(name, spec)
        self._path = path
        self._blocks = open_blocks(path)

    def _block(self, most: int) -> RecordBlock | None:
        return self._blocks.read(most)

    def _begin(self) -> None:
        self._blocks.seek((0, 0))

    def fingerprint(self) -> list[Any]:
        return [["file", describe_file(self._path)]]


def open_blocks(path: str) -> BlockReader:
    """Open a file of records; EnforceNotMet names it when it cannot be read."""
    try:
        return BlockReader(path)
    except OSError as error:
        raise EnforceNotMet(f"cannot open the RecordIO file {path!r}: {error}") from error


def describe_file(path: str) -> list[Any]:
    """Return name and size of a file: what a saved state remembers of it."""
    try:
        return [os.path.basename(path), os.path.getsize(path)]
    except OSError:  # a URL, or gone since
        return [path, -1]
