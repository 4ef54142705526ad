"""Count what executors do in a stretch of time: steps, epochs, time in steps and waiting for data."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fluidio.errors import EOFException
from fluidio.executor.executor import Executor

__all__ = ["RunStats", "collect"]


@dataclass
class RunStats:
    """Figures of one run of a script."""

    steps: int = 0
    epochs: int = 0
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    readers: list[Any] = field(default_factory=list)
    """What each reader tells of itself: objects with items, records, waited and dropped."""

    def summary(self) -> str:
        """Return one line for the end of a run."""
        took = max(self.seconds, 1e-9)
        text = (
            f"fluidio: {self.steps:,} steps, {self.epochs:,} epochs in {took:.1f} s ({self.steps / took:,.0f} steps/s)"
        )
        records = sum(r["records"] for r in self.readers)
        if self.readers:
            waited = sum(r["consumer_wait"] for r in self.readers)
            dropped = sum(r["dropped"] for r in self.readers)
            text += f", {records:,} records ({records / took:,.0f}/s), {100 * waited / took:.0f} % waiting for data"
            text += f", {dropped:,} dropped"
        return text


@contextlib.contextmanager
def collect() -> Iterator[RunStats]:
    """Count all runs of all executors inside the block."""
    stats = RunStats()
    plain = Executor.run

    def counting(self: Executor, *args: Any, **kwargs: Any) -> list[Any]:
        try:
            results = plain(self, *args, **kwargs)
        except EOFException:
            stats.epochs += 1
            raise
        stats.steps += 1
        return results

    Executor.run = counting  # type: ignore[method-assign]
    try:
        yield stats
    finally:
        Executor.run = plain  # type: ignore[method-assign]
        stats.seconds = time.perf_counter() - stats.started
