"""The account of a process: records that reached programs, waits, drops and epochs; for `fluidio run --stats`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

__all__ = ["TALLY", "Tally", "records_in"]


def records_in(item: Sequence[tuple[Any, Any]]) -> int:
    """Return how many records a batch holds: sequences where the first tensor has them, else its rows."""
    if not item:
        return 0
    array, lod = item[0]
    if lod:
        return len(lod[0]) - 1
    return int(array.shape[0]) if array.ndim else 1


class Tally:
    """Counts while somebody wants them; costs one comparison when nobody does."""

    def __init__(self) -> None:
        self.wanted = False
        self.records = self.dropped = self.epochs = 0
        self.waited = 0.0
        self._lock = threading.Lock()

    def add(self, *, records: int = 0, dropped: int = 0, epochs: int = 0, waited: float = 0.0) -> None:
        """Add to the account, from any thread."""
        if not self.wanted:
            return
        with self._lock:
            self.records += records
            self.dropped += dropped
            self.epochs += epochs
            self.waited += waited


TALLY = Tally()
