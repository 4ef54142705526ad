"""A status line for a run in the terminal, rewritten a few times a second."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, TextIO

from fluidio.flow.observer import OBSERVERS, Observer, Step, StepResult
from fluidio.pages.recorder import Recorder

__all__ = ["LiveLine"]

_EVERY = 0.25
_CLEAR = "\r\x1b[2K"


class LiveLine(Observer):
    """Writes the line between `start` and `stop`; the script's own output appears above it."""

    def __init__(self, recorder: Recorder, stream: TextIO) -> None:
        self._recorder = recorder
        self._stream = stream
        self._next = 0.0
        self._shown = False
        self._began = time.perf_counter()
        self._last = (self._began, 0, 0)
        self._stdout: Any = None

    def start(self) -> None:
        """Start the line; do nothing if the output is not a terminal."""
        if not self._stream.isatty():
            return
        if sys.stdout.isatty():
            self._stdout = sys.stdout
            above: Any = _Above(sys.stdout, self)
            sys.stdout = above
        OBSERVERS.add(self)

    def stop(self) -> None:
        """Stop and clear the line."""
        OBSERVERS.remove(self)
        if self._stdout is not None:
            sys.stdout, self._stdout = self._stdout, None
        self.clear()

    def step_ended(self, step: Step, result: StepResult) -> None:
        if result.stop >= self._next:
            self._next = result.stop + _EVERY
            self.show(result.stop)

    def show(self, now: float) -> None:
        """Rewrite the line."""
        width = max(20, shutil.get_terminal_size().columns - 1)
        self._stream.write(f"{_CLEAR}{self.text(now)[:width]}")
        self._stream.flush()
        self._shown = True

    def text(self, now: float) -> str:
        """Return the line: steps, speeds since the last one, waiting, the last fetched numbers."""
        recorder = self._recorder
        before, steps, records = self._last
        passed = max(1e-9, now - before)
        self._last = (now, recorder.steps, recorder.records)
        parts = [f"step {recorder.steps:,}", f"{(recorder.steps - steps) / passed:,.0f} steps/s"]
        if recorder.epochs:
            parts.insert(0, f"epoch {recorder.epochs + 1}")
        if recorder.records:
            parts.append(f"{(recorder.records - records) / passed:,.0f} records/s")
        waiting = recorder.measured().waiting
        if waiting > 0.005:
            parts.append(f"{100 * waiting:.0f} % waiting")
        parts += [f"{name.split('.')[0]} {curve.last:.5g}" for name, curve in list(recorder.curves.items())[:3]]
        return " · ".join(parts)

    def clear(self) -> None:
        """Remove the line, if there is one."""
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._shown = False


class _Above:
    """Standard output that clears the line before it writes."""

    def __init__(self, inner: Any, line: LiveLine) -> None:
        self._inner = inner
        self._line = line

    def write(self, text: str) -> int:
        self._line.clear()
        return int(self._inner.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
