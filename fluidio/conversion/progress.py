"""A line that shows a job's progress, speed and remaining time."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import IO

__all__ = ["BYTES", "RECORDS", "Progress", "note", "say", "showing", "terminal"]

RECORDS, BYTES = "records", "bytes"
PATIENCE = 1.0  # seconds
_BAR = 20


def terminal(*, quiet: bool = False) -> IO[str] | None:
    """Return where a command shows its progress: stderr, if that is a terminal; logs and pipes get none."""
    stream: IO[str] = getattr(sys.stderr, "unfiltered", sys.stderr)  # the line moves the cursor
    return stream if stream.isatty() and not quiet else None


@contextlib.contextmanager
def showing(count: Callable[[], int], unit: str = RECORDS, *, if_long: bool = False) -> Iterator[None]:
    """Show the progress reported to `note` in this block on a terminal; nothing in a pipe.

    Args:
        count: returns the total; called only for a terminal.
        if_long: show nothing of work that takes less than a second.
    """
    stream = terminal()
    if stream is None:
        yield
        return
    shown = Progress(count(), unit, stream, after=PATIENCE if if_long else 0.0)
    before = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(before)
        shown.finish()


def note(count: int) -> None:
    """Report that this many more of the records, files or bytes that are shown were processed."""
    shown = _shown.get()
    if shown is not None:
        shown.done += count
        if shown.unit == BYTES:
            shown.bytes += count
        elif shown.unit == RECORDS:
            shown.rows += count
        shown.tell()


def say(line: str) -> None:
    """Print a result while progress may be shown: it takes the place of the progress line, which comes back below."""
    shown = _shown.get()
    if shown is not None:
        shown.clear()
    print(line, flush=shown is not None)


class Progress:
    """Show progress on a stream: one line that changes on a terminal, now and then a new line elsewhere.

    Args:
        total: how many steps there are.
        unit: what a step is called.
        stream: None shows nothing.
        after: show nothing of work that takes fewer seconds.
    """

    def __init__(self, total: int, unit: str = "tasks", stream: IO[str] | None = None, *, after: float = 0.0) -> None:
        self.total, self.unit = total, unit
        self.done = self.kept = self.rows = self.bytes = 0
        self._running = (0, 0, 0.0)
        self._stream = stream
        self._start = self._reported = time.monotonic()
        self._due = self._start + after
        self._terminal = stream is not None and stream.isatty()

    def step(self, rows: int = 0, size: int = 0, *, kept: bool = False) -> None:
        """Count one finished step; `kept` ones were finished before and do not count towards the speed."""
        self.done += 1
        self.kept += kept
        if not kept:
            self.rows += rows
            self.bytes += size
        self.tell()

    def running(self, rows: int, size: int, share: float) -> None:
        """Report the total progress of unfinished steps: their rows and bytes, and their equivalent in steps."""
        self._running = rows, size, share

    def tell(self) -> None:
        """Show the line if it is due."""
        now = time.monotonic()
        due = max(self._due, self._reported + (0.1 if self._terminal else 10.0))
        if self._stream is not None and now >= due:
            self._reported = now
            self._show()

    def line(self) -> str:
        """Return the line."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        rows, size, share = self._running if self.done < self.total else (0, 0, 0.0)
        bar = "#" * int((self.done + share) / self.total * _BAR if self.total else _BAR)
        fresh = self.done - self.kept + share
        left = (self.total - self.done - share) * seconds / fresh if fresh else None
        parts = [f"[{bar:<{_BAR}}] {self._state()}"]
        if rows:
            parts.append(f"{self.rows + rows:,} rows")
        if self.rows + rows:
            parts.append(f"{(self.rows + rows) / seconds:,.0f} rows/s")
        if self.bytes + size:
            parts.append(f"{(self.bytes + size) / seconds / 1e6:.1f} MB/s")
        if self.kept:
            parts.append(f"{self.kept} kept")
        if self.done < self.total:
            parts.append("time left " + (_clock(left) if left is not None else "unknown"))
        else:
            parts.append(f"took {_clock(seconds)}")
        return ", ".join(parts)

    def _state(self) -> str:
        if self.unit == BYTES:
            return f"{self.done / 1e6:.1f}/{self.total / 1e6:.1f} MB"
        return f"{self.done}/{self.total} {self.unit}"

    def finish(self) -> None:
        """Show the last state."""
        if self._stream is not None and time.monotonic() >= self._due:
            self._show()
            if self._terminal:
                print(file=self._stream, flush=True)

    def clear(self) -> None:
        """Remove the line from a terminal until it is due again."""
        if self._stream is not None and self._terminal:
            print("\r\x1b[K", end="", file=self._stream, flush=True)

    def _show(self) -> None:
        start, end = ("\r", "\x1b[K") if self._terminal else ("", "\n")
        print(start + self.line(), end=end, file=self._stream, flush=True)


_shown: ContextVar[Progress | None] = ContextVar("shown", default=None)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
