"""The counters of a recorder: op times, queue waits, processor use, fetched numbers."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from fluidio.flow.observer import Kept, Observer, OpRun

__all__ = ["Between", "Looked", "OpTimer", "QueueWaits", "Workers", "scalar"]

_FEW = 16


class OpTimer(Observer):
    """Times the ops of the steps it observes."""

    times_ops = True

    def __init__(self) -> None:
        self.ops: dict[tuple[str, str], list[Any]] = {}
        self.timed = 0

    def op_ran(self, op: OpRun) -> None:
        self.timed += 1
        found = self.ops.get((op.type, op.output))
        if found is None:
            found = self.ops[op.type, op.output] = [0, 0.0, op.site]
        found[0] += 1
        found[1] += op.stop - op.start

    def profile(self) -> list[dict[str, Any]]:
        """Return the time of ops by type, the slowest first."""
        types: dict[str, list[float]] = {}
        for (kind, _), (runs, seconds, _) in self.ops.items():
            if kind == "read":  # waits, which are reported as such
                continue
            row = types.setdefault(kind, [0, 0.0])
            row[0] += runs
            row[1] += seconds
        often = {kind: row for kind, row in types.items() if row[0] > 1}
        types = often or types  # ops that ran once belong to the startup program
        whole = sum(row[1] for row in types.values()) or 1.0
        rows = [{"type": k, "runs": int(r), "seconds": s, "share": s / whole} for k, (r, s) in types.items()]
        return sorted(rows, key=lambda row: -float(str(row["seconds"])))

    def slowest(self) -> list[list[Any]]:
        """Return type, output, runs, seconds and line of the slowest single ops."""
        found = [[kind, out, *row] for (kind, out), row in self.ops.items() if kind != "read"]
        return sorted(found, key=lambda row: -row[3])[:200]


class QueueWaits:
    """The waits of one queue."""

    def __init__(self) -> None:
        self.starved = self.blocked = 0.0
        self.most = 0
        self.producers: set[int] = set()


class Workers:
    """The most threads that filled each queue, and the most worker processes, seen at one time."""

    def __init__(self) -> None:
        self.threads: dict[str, int] = {}
        self.processes = 0

    def count(self, readers: Iterable[str]) -> None:
        """Count what runs now."""
        names = [thread.name for thread in threading.enumerate()]
        for reader in readers:
            self.threads[reader] = max(sum(reader in name for name in names), self.threads.get(reader, 0))
        workers = [child for child in multiprocessing.active_children() if child.name.startswith("fluidio-")]
        self.processes = max(self.processes, len(workers))


class Between(Kept):
    """The reads and waits between two observed steps."""

    def take(self) -> tuple[list[tuple[float, float, int, int]], dict[tuple[str, str], tuple[float, int]]]:
        """Return the reads, and by queue and side the seconds of the waits and the most items; keep no more of them."""
        reads, waits = self.reads[:], self.waits[:]
        del self.reads[: len(reads)], self.waits[: len(waits)]  # others may append meanwhile
        sums: dict[tuple[str, str], tuple[float, int]] = {}
        for queue, side, size, start, stop in waits:
            seconds, most = sums.get((queue, side), (0.0, 0))
            sums[queue, side] = seconds + stop - start, max(most, size)
        return reads, sums


class Looked:
    """Processor use in the sampled steps.

    Attributes:
        seconds, waits: of these steps, and of their waits for data.
        own, others: processor time of the step's thread and of all other threads.
        during_waits: processor time of all threads from the step's begin to the end of the wait.
    """

    def __init__(self) -> None:
        self.seconds = self.waits = self.own = self.others = self.during_waits = 0.0

    def busy_cores(self) -> float:
        """Return how many cores worked while steps waited."""
        return self.during_waits / self.waits if self.waits else 0.0

    def held_up(self) -> float:
        """Return the share of computing time in which other threads, but not the step's, had the processor."""
        computing = self.seconds - self.waits
        off = max(0.0, computing - self.own)
        return min(off, max(0.0, self.others - self.during_waits)) / computing if computing > 0 else 0.0


def scalar(value: object, keep: bool) -> float | None:
    """Return a fetched value as one number: itself, or the mean of a small array (of any array if all is kept)."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub" or not value.size:
        return None
    if value.size == 1:
        return float(value.item())
    if keep or (value.ndim == 1 and value.size <= _FEW):
        return float(value.astype(np.float64).mean())
    return None
