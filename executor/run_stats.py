"""Count what executors do over a period: steps, epochs, records, time waiting for data, drops."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from fluidio.flow.observer import Drop, Observer, Read, Step, StepResult, observing

__all__ = ["RunStats", "collect"]


class RunStats(Observer):
    """Figures of one run of a script."""

    def __init__(self) -> None:
        self.steps = self.epochs = self.records = self.dropped = 0
        self.waited = 0.0
        self.started = time.perf_counter()
        self.seconds = 0.0
        self._lock = threading.Lock()

    def step_ended(self, step: Step, result: StepResult) -> None:
        if result.error is None:
            with self._lock:
                self.steps += 1
                self.records += step.fed

    def item_read(self, read: Read) -> None:
        with self._lock:
            self.waited += read.stop - read.start
            self.records += read.records
            self.epochs += read.ended

    def items_dropped(self, drop: Drop) -> None:
        with self._lock:
            self.dropped += drop.items

    def summary(self) -> str:
        """Return one line for the end of a run."""
        took = max(self.seconds, 1e-9)
        text = (
            f"fluidio: {self.steps:,} steps, {self.epochs:,} epochs in {took:.1f} s ({self.steps / took:,.0f} steps/s)"
        )
        if self.records:
            text += f", {self.records:,} records ({self.records / took:,.0f}/s)"
        if self.epochs or self.waited:
            text += f", {100 * self.waited / took:.0f} % waiting for data, {self.dropped:,} dropped"
        return text


@contextlib.contextmanager
def collect() -> Iterator[RunStats]:
    """Count all runs of all executors inside the block, and the records readers and loaders delivered to them."""
    stats = RunStats()
    with observing(stats):
        try:
            yield stats
        finally:
            stats.seconds = time.perf_counter() - stats.started
