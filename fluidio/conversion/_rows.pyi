"""The compiled half of collecting.py; it may be missing."""

from collections.abc import Callable, Iterator
from typing import Any

class Collector:
    def __new__(
        cls,
        slots: tuple[tuple[Any, ...], ...],
        problem: Callable[[Any], object],
        max_rows: int,
        max_bytes: int,
        direct: bool,
        /,
    ) -> Collector: ...
    @property
    def rows(self) -> int: ...
    def add(self, row: dict[str, object], /) -> bool: ...
    def fill(self, rows: Iterator[object], /) -> bool | tuple[object]: ...
    def take(self) -> list[tuple[bytearray, bytearray | None, bytearray | None]] | bytearray: ...
