"""Ranges of records as plain values: made from indexes alone, sent to workers, accepted in place of paths."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """Records start..stop of one file; a plain value that can be pickled, compared and sent to another machine.

    Attributes:
        path: the file or URL.
        start, stop: numbers of records in the file.
        first, last: where record `start` is and where record `stop` would be, as (byte offset of the chunk, record in
            the chunk); None is the end of the file.
    """

    path: str
    start: int
    stop: int
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] | None = None

    def __len__(self) -> int:
        return self.stop - self.start
