"""The names of pip `recordio` (`writer`, `reader`) and of wangkuiyi's pyrecordio (`Index`, `Scanner`)."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike

from fluidio.recordio.files.file import File
from fluidio.recordio.files.index import ChunkIndex
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.sidecar import open_index
from fluidio.recordio.write.writer import Writer

__all__ = ["Index", "Scanner", "reader", "writer"]


def writer(path: object) -> Writer:
    """Open a file for writing in the dialect of pip `recordio`: `write(record)`, `close()`."""
    return Writer(path, "snappy", None, dialect="go")


class reader:
    """Read the records of some files one by one: `read()` returns bytes, None at the end.

    Args:
        paths: a path, a comma-separated list, globs, or a list of them; any dialect.

    Fluid: pip `recordio` turned every error into the end of the data; here it is raised.
    """

    def __init__(self, paths: object) -> None:
        self._records: Iterator[bytes] = self._all(expand(paths, commas=True))

    @staticmethod
    def _all(paths: list[object]) -> Iterator[bytes]:
        for path in paths:
            with File(path) as file:
                yield from file

    def read(self) -> bytes | None:
        return next(self._records, None)

    def __iter__(self) -> Iterator[bytes]:
        return self._records

    def close(self) -> None:
        self._records = iter(())


class Index(ChunkIndex):
    """The index of one file: `num_chunks`, `num_records`, `locate(record)`."""

    def __init__(self, path: str | PathLike[str]) -> None:
        found = open_index(path)
        super().__init__(found.offsets, found.counts, found.ends, found.dialect, found.problem)

    def chunk_index(self, record: int) -> int:
        """Return the number of the chunk that holds a record."""
        return self.locate(record)[0]


class Scanner:
    """Iterate over records start..start + length of one file.

    Args:
        path: a path, URL or file object; any dialect.
        length: number of records; -1 for all that follow.
    """

    def __init__(self, path: str | PathLike[str], start: int = 0, length: int = -1) -> None:
        self._file = File(path)
        self._records = self._file.get_reader(start, None if length < 0 else start + length)
        self._current: bytes | None = None

    def scan(self) -> bool:
        """Go to the next record; False at the end."""
        self._current = next(self._records, None)
        return self._current is not None

    def record(self) -> bytes | None:
        """Return the current record, or the next one before the first scan()."""
        if self._current is None:
            self.scan()
        return self._current

    def __iter__(self) -> Iterator[bytes]:
        while self.scan():
            yield self._current or b""

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Scanner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
