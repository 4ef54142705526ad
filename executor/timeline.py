"""Time every op of every run: the loop over steps is swapped for one with a clock, so that it costs nothing off."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any, NamedTuple

from fluidio.executor import parallel, plan
from fluidio.executor.bind import Step
from fluidio.executor.failure import explain
from fluidio.executor.frame import Frame

__all__ = ["Event", "Timeline"]


class Event(NamedTuple):
    """One op that ran: its type, first output, thread, start and length in nanoseconds."""

    name: str
    output: str
    thread: int
    start: int
    duration: int


def _run_steps_by(function: Any) -> None:
    """Swap the loop over steps where it is called from."""
    for module in (plan, parallel):
        vars(module)["run_steps"] = function


class Timeline:
    """Events of the ops that run between `start` and `stop`.

    On a GPU each op is waited for, so that its time is its own; the overlap of copies and work is lost meanwhile.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._plain: Any = None

    def start(self) -> None:
        if self._plain is None:
            self._plain = plan.run_steps
            _run_steps_by(self._run_steps)

    def stop(self) -> None:
        if self._plain is not None:
            _run_steps_by(self._plain)
            self._plain = None

    def clear(self) -> None:
        self.events.clear()

    def _run_steps(self, steps: list[Step], f: Frame) -> None:
        clock, thread = time.perf_counter_ns, threading.get_ident()
        wait = f.plan.dev.xp.cuda.get_current_stream().synchronize if f.plan.dev.is_gpu else None
        step: Step | None = None
        try:
            for step in steps:
                begin = clock()
                step.run(f)
                if wait is not None:
                    wait()
                output = f.plan.name_of(step.writes[0]) if step.writes else ""
                self.events.append(Event(step.op.type, output, thread, begin, clock() - begin))
                for slot in step.dead:
                    f.values[slot] = None
        except Exception as error:
            failure = explain(error, step, f)
            if failure is error:
                raise
            raise failure from error

    def chrome_trace(self) -> str:
        """Return the events as a Chrome trace (chrome://tracing, Perfetto)."""
        process = os.getpid()
        events = [
            {
                "name": event.name,
                "cat": "op",
                "ph": "X",
                "pid": process,
                "tid": event.thread,
                "ts": event.start / 1000,
                "dur": event.duration / 1000,
                "args": {"output": event.output},
            }
            for event in self.events
        ]
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
