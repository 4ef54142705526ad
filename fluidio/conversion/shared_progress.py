"""How far unfinished tasks are: memory that local workers share with the process that shows the progress.

A thread of each worker looks at the task now and then, so reporting costs the rows nothing.
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
    """Rows and bytes of every task, as far as it is done; zero when it has not begun or is finished."""

    def __init__(self, tasks: int) -> None:
        self.cells: Any = processes.context().RawArray("q", 2 * tasks)

    def table(self) -> Any:
        """Return the memory as an array (tasks, 2)."""
        return np.frombuffer(self.cells, np.int64).reshape(-1, 2)

    def clear(self, task: int) -> None:
        """Forget a task that is finished."""
        self.table()[task] = 0

    def state(self, rows_of_a_task: float) -> tuple[int, int, float]:
        """Return rows and bytes of unfinished tasks, and how many tasks that is, given how many rows one has."""
        rows, size = self.table().T
        share = float(np.minimum(rows / rows_of_a_task, 0.99).sum()) if rows_of_a_task else 0.0
        return int(rows.sum()), int(size.sum()), share


# -- in a worker -------------------------------------------------------------------------------------------------------

_lock = threading.Lock()
_progress: SharedProgress | None = None
_current: tuple[int, Callable[[], tuple[int, int]]] | None = None


def serve(progress: SharedProgress | None) -> None:
    """Report here what this process does."""
    global _progress, _lock
    _progress, _lock = progress, threading.Lock()  # the old one may have been held while this process was forked


@contextlib.contextmanager
def telling(task: int, state: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Name the task of this process, and what returns its rows and bytes, for the length of a block."""
    global _current
    with _lock:
        _current = task, state
    try:
        yield
    finally:
        with _lock:  # nothing is reported after this: the receiver clears finished tasks
            _current = None


def report() -> None:
    """Write down how far the task of this process is."""
    with _lock:
        if _progress is not None and _current is not None:
            task, state = _current
            _progress.cells[2 * task : 2 * task + 2] = state()
