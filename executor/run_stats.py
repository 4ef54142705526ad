"""Count what executors do in a stretch of time: steps, epochs, records, time waiting for data, drops."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fluidio.executor.executor import Executor
from fluidio.flow.run_counters import TALLY

__all__ = ["RunStats", "collect"]


@dataclass
class RunStats:
    """Figures of one run of a script."""

    steps: int = 0
    epochs: int = 0
    records: int = 0
    waited: float = 0.0
    dropped: int = 0
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0

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
    """Count all runs of all executors inside the block, and what readers and loaders delivered to them."""
    stats = RunStats()
    plain = Executor.run
    inside = threading.local()  # a compiled program is run by a run inside the run

    def counting(self: Executor, *args: Any, **kwargs: Any) -> list[Any]:
        if getattr(inside, "depth", 0):
            return plain(self, *args, **kwargs)
        inside.depth = 1
        try:
            results = plain(self, *args, **kwargs)
        finally:
            inside.depth = 0
        stats.steps += 1
        stats.records += _fed_records(args[1] if len(args) > 1 else kwargs.get("feed"))
        return results

    before = TALLY.records, TALLY.epochs, TALLY.waited, TALLY.dropped
    TALLY.wanted = True
    Executor.run = counting  # type: ignore[method-assign]
    try:
        yield stats
    finally:
        Executor.run = plain  # type: ignore[method-assign]
        TALLY.wanted = False
        stats.seconds = time.perf_counter() - stats.started
        stats.records += TALLY.records - before[0]
        stats.epochs = TALLY.epochs - before[1]
        stats.waited = TALLY.waited - before[2]
        stats.dropped = TALLY.dropped - before[3]


def _fed_records(feed: Any) -> int:
    """Return how many records a feed holds: sequences or rows of its first value, over all devices."""
    if isinstance(feed, (list, tuple)):
        return sum(map(_fed_records, feed))
    if not isinstance(feed, dict) or not feed:
        return 0
    value = next(iter(feed.values()))
    lengths = getattr(value, "recursive_sequence_lengths", None)
    if lengths is not None and lengths():
        return len(lengths()[0])
    shape = value.shape() if callable(getattr(value, "shape", None)) else getattr(value, "shape", ())
    return int(shape[0]) if shape else 0
