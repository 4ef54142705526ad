"""Time every op of every run."""

from __future__ import annotations

import json
import os

from fluidio.flow.observer import OBSERVERS, Observer, OpRun

__all__ = ["Timeline"]


class Timeline(Observer):
    """The ops that run between `start` and `stop`."""

    times_ops = True

    def __init__(self) -> None:
        self.events: list[OpRun] = []

    def start(self) -> None:
        OBSERVERS.add(self)

    def stop(self) -> None:
        OBSERVERS.remove(self)

    @property
    def is_recording(self) -> bool:
        return self in OBSERVERS.all

    def clear(self) -> None:
        self.events.clear()

    def op_ran(self, op: OpRun) -> None:
        self.events.append(op)

    def chrome_trace(self) -> str:
        """Return the events as a Chrome trace (chrome://tracing, Perfetto)."""
        process = os.getpid()
        events = [
            {
                "name": op.type,
                "cat": "op",
                "ph": "X",
                "pid": process,
                "tid": op.thread,
                "ts": op.start * 1e6,
                "dur": (op.stop - op.start) * 1e6,
                "args": {"output": op.output},
            }
            for op in self.events
        ]
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
