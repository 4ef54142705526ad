"""Watchdog: report once which threads wait for what when a run has stalled.

A thread that has to wait for a queue announces it with `waiting(...)`. Threads that wait for items check periodically:
if one has waited for `limit` seconds and no step of any program has ended meanwhile, it writes all current waits to
stderr.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from time import perf_counter
from types import FrameType, TracebackType

__all__ = ["WATCHDOG", "Watchdog", "waiting"]

Threads = Callable[[], Iterable[threading.Thread | None]]
_POLL = 1.0  # seconds between checks of a waiting consumer
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PYTHONS = os.path.dirname(os.path.abspath(threading.__file__))


class Watchdog:
    """The waits of this process's threads.

    Attributes:
        limit: seconds without a step after which a wait is reported; 0 for never. FLUIDIO_WATCHDOG sets it.
        steps: completed steps of all programs.
        warned: whether the report has been written.
        say: the function that writes the report.
    """

    def __init__(self) -> None:
        self.limit = _limit_of(os.environ.get("FLUIDIO_WATCHDOG", ""))
        self.steps = 0
        self.warned = False
        self.say: Callable[[str], None] = _to_stderr
        self.waits: dict[int, waiting] = {}
        self._telling = threading.Lock()

    def tell(self, wait: waiting) -> None:
        """Report which threads wait for what, unless already reported."""
        with self._telling:
            if self.warned:
                return
            self.warned = True
        self.say(self._report(perf_counter() - wait.since))

    def _report(self, seconds: float) -> str:
        frames, names = sys._current_frames(), {thread.ident: thread.name for thread in threading.enumerate()}
        waits = dict(self.waits)
        lines = [f"fluidio: there has been no progress for {seconds:.0f} s. Who waits for whom:"]
        busy: dict[int, str] = {}
        for ident, wait in waits.items():
            where = _where(frames.get(ident))
            lines.append(f"  {names.get(ident, 'a thread')} waits for {wait.what}{where}")
            for maker in wait.makers():
                if maker is not None and maker.ident is not None and maker.ident not in waits:
                    busy[maker.ident] = wait.what
        lines += [
            f"  {names[ident]}, which brings {what}, is busy{_where(frames.get(ident))}"
            for ident, what in busy.items()
            if ident in names
        ]
        lines.append(
            "This is reported once. FLUIDIO_WATCHDOG=SECONDS sets the time, 0 turns it off; "
            "`fluidio run --debug` (FLUIDIO_DEBUG=1) adds the stacks of all threads."
        )
        if os.environ.get("FLUIDIO_DEBUG"):
            import traceback

            for ident, frame in frames.items():
                lines.append(f"stack of {names.get(ident, 'a thread')}:")
                lines += [line.rstrip() for line in traceback.format_stack(frame)]
        return "\n".join(lines)


def _limit_of(text: str) -> float:
    try:
        return max(0.0, float(text)) if text else 30.0
    except ValueError:
        raise ValueError(f"FLUIDIO_WATCHDOG must be a number of seconds, got {text!r}") from None


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _where(frame: FrameType | None) -> str:
    """Return where a thread is in the user's own code; "" if it is not there."""
    while frame is not None:
        path = frame.f_code.co_filename
        if not os.path.abspath(path).startswith((_OURS, _PYTHONS)) and not path.startswith("<"):
            import linecache

            code = linecache.getline(path, frame.f_lineno).strip()
            return f", at {path}:{frame.f_lineno} in {frame.f_code.co_name}" + (f": {code}" if code else "")
        frame = frame.f_back
    return ""


WATCHDOG = Watchdog()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WATCHDOG.waits.clear)  # the waiting threads do not exist in the child


class waiting:
    """A wait of this thread, for the duration of a `with` block.

    Args:
        what: the object of the wait: "an item of reader x".
        makers: returns the threads that supply it.

    Attributes:
        poll: seconds after which to call `look`.
    """

    __slots__ = ("_before", "makers", "poll", "since", "steps", "what")

    def __init__(self, what: str, makers: Threads = tuple) -> None:
        self.what = what
        self.makers = makers
        self.poll = min(_POLL, WATCHDOG.limit) or _POLL

    def __enter__(self) -> waiting:
        self.since, self.steps = perf_counter(), WATCHDOG.steps
        ident = threading.get_ident()
        self._before = WATCHDOG.waits.get(ident)
        WATCHDOG.waits[ident] = self
        return self

    def look(self) -> None:
        """Report this wait if it has lasted too long and no step has ended meanwhile."""
        if self.steps != WATCHDOG.steps:
            self.since, self.steps = perf_counter(), WATCHDOG.steps
        elif 0 < WATCHDOG.limit <= perf_counter() - self.since:
            WATCHDOG.tell(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is None:
            WATCHDOG.waits.pop(threading.get_ident(), None)
        else:
            WATCHDOG.waits[threading.get_ident()] = self._before
