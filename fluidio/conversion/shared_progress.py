"""Progress of unfinished tasks: memory that local workers share with the process that shows the progress.

A thread of each worker polls the task periodically, so reporting adds no cost per row.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fluidio.flow import processes

__all__ = ["SharedProgress", "report", "serve", "telling"]


class SharedProgress:
    """Rows and bytes done in every task; zero before it starts and after it is finished."""

    def __init__(self, tasks: int) -> None:
        self.cells: Any = processes.context().RawArray("q", 2 * tasks)

    def table(self) -> Any:
        """Return the memory as an array (tasks, 2)."""
        return np.frombuffer(self.cells, np.int64).reshape(-1, 2)

    def clear(self, task: int) -> None:
        """Clear a finished task."""
        self.table()[task] = 0

    def state(self, rows_of_a_task: float) -> tuple[int, int, float]:
        """Return rows and bytes of unfinished tasks, and their equivalent in tasks, given the rows of one task."""
        rows, size = self.table().T
        share = float(np.minimum(rows / rows_of_a_task, 0.99).sum()) if rows_of_a_task else 0.0
        return int(rows.sum()), int(size.sum()), share


# -- in a worker -------------------------------------------------------------------------------------------------------

_lock = threading.Lock()
_progress: SharedProgress | None = None
_current: tuple[int, Callable[[], tuple[int, int]]] | None = None


def serve(progress: SharedProgress | None) -> None:
    """Make this process report its progress here."""
    global _progress, _lock
    _progress, _lock = progress, threading.Lock()  # the old one may have been held while this process was forked


@contextlib.contextmanager
def telling(task: int, state: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Set the task of this process, and the function that returns its rows and bytes, for the duration of a block."""
    global _current
    with _lock:
        _current = task, state
    try:
        yield
    finally:
        with _lock:  # nothing is reported after this: the receiver clears finished tasks
            _current = None


def report() -> None:
    """Record the progress of this process's task."""
    with _lock:
        if _progress is not None and _current is not None:
            task, state = _current
            _progress.cells[2 * task : 2 * task + 2] = state()
