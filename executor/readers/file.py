"""FileReader: the records of one RecordIO file, in order."""

from __future__ import annotations

import os
from functools import partial

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Source, Spec
from fluidio.recordio import BlockReader
from fluidio.recordio.blocks.lane import Lane
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.spans import Part

__all__ = ["FileReader", "describe_file", "open_blocks"]


class FileReader(Source):
    """Reads one file chunk by chunk; opened immediately, so that a missing file fails in the startup program."""

    def __init__(self, name: str, path: str, spec: Spec = ()) -> None:
        super().__init__(name, spec)
        self._path = path
        self._file = Lane(path, partial(open_blocks, path))
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

    def fingerprint(self) -> list[list[object]]:
        return [["file", describe_file(self._path)]]


def describe_file(path: str) -> list[str | int]:
    """Return the name and size of a file, which a saved state stores."""
    try:
        return [os.path.basename(path), os.path.getsize(path)]
    except OSError:  # a URL, or gone since
        return [path, -1]


def open_blocks(path: str, buffers: Pool | None = None) -> BlockReader:
    """Open a record file; raise EnforceNotMet naming it if it cannot be read."""
    try:
        return BlockReader(path, buffers=buffers)
    except OSError as error:
        raise EnforceNotMet(f"cannot open the RecordIO file {path!r}: {error}") from error
