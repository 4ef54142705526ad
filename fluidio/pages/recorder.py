"""Recorder: observe a run and keep the data of its page, with bounded memory and little overhead."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from operator import length_hint
from typing import Any

from fluidio.errors import EOFException
from fluidio.flow.observer import OBSERVERS, Copy, Drop, Observer, Read, Step, StepResult, Wait
from fluidio.pages.advice import Measured, Queue
from fluidio.pages.counters import Between, Looked, OpTimer, QueueWaits, Workers, scalar
from fluidio.pages.environment import environment_of, memory_now
from fluidio.pages.series import Curve, Lanes

__all__ = ["Recorder"]

_EVENTS = 3000
_MARKS = 400
_CURVES = 40
_OP_SHARE = 0.002
"""The share of the run's time that may be spent on timing ops; ops are timed until it is used up."""
_OP_COST = 4e-6
"""Seconds that it takes to time one op."""
_CLOCKS_EVERY = 0.005
"""Seconds between steps whose processor use is measured: the query takes microseconds."""
_STEP_COST = 80e-6
"""Cost in seconds of observing one step, including the cache misses it causes in the next ones."""
_STEP_SHARE = 0.004
"""The share of the run's time that may be spent on observing steps: of short steps, only some are observed."""
_MOST_SKIPPED = 1000
_ALL_WATCHED = 200
"""Number of steps at the start of a run that are all observed."""
_HELD = 256
"""Number of events to collect before sorting them in, which is faster in bulk."""


class Recorder(Observer):
    """Observes a run between `start` and `stop`.

    Args:
        keep: watch every step and keep every fetched number, to compare runs; else curves of bounded size, and where
            steps are short the numbers of some of them.
        times_ops: time the ops of some steps, for the profile.
        process_clock, thread_clock: return the processor time used by the process and the calling thread.
    """

    def __init__(
        self,
        *,
        keep: bool = False,
        times_ops: bool = True,
        process_clock: Callable[[], float] = time.process_time,
        thread_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self.steps = self.epochs = self.records = self.dropped = 0
        self.curves: dict[str, Curve] = {}
        self.marks: list[int] = []
        self.error = ""
        self.status = 0
        self.lanes = Lanes(time.perf_counter())
        self.chain: tuple[str, ...] = ()
        self._keep = keep
        self._queues: dict[str, QueueWaits] = defaultdict(QueueWaits)
        self._drops: dict[str, int] = {}
        self._events: deque[tuple[int, str, str, float, float]] = deque(maxlen=_EVENTS)
        self._names: dict[int, str] = {}
        self._held: list[tuple[int, str, str, float, float, int]] = []
        self._between = Between()
        self._skipped = self._fed = 0
        self._reads_inside: set[int] = set()
        self._seconds = {"step": 0.0, "wait": 0.0, "wait inside": 0.0}
        self._first = self._last = 0.0
        self._clocks = process_clock, thread_clock
        self._next_clock = 0.0
        self._running: dict[int, tuple[float, float] | None] = {}
        self._looked_at = Looked()
        self._looked_at_memory = 0.0
        self._peak_memory = 0
        self._workers = Workers()
        self._reads = 0
        self._timer = OpTimer() if times_ops else None
        self._op_cost = 0.0
        self._began = time.time()
        self._lock = threading.RLock()

    def start(self) -> None:
        """Start observing, or continue: the time since `stop` is not part of the run."""
        now = time.perf_counter()
        if self._last:
            self._first += now - self._last
            self._last = now
        self.lanes = Lanes(now)
        OBSERVERS.add(self)

    def stop(self) -> None:
        """Stop observing."""
        unwatched = self._unwatched()
        OBSERVERS.remove(self)
        with self._lock:
            self._skipped = 0
            self.steps += unwatched
            self.records += unwatched * self._fed
            self._sum_between(self._last, time.perf_counter())
        if self._timer is not None:
            OBSERVERS.remove(self._timer)

    # -- events ---------------------------------------------------------------------------------------------------

    def step_began(self, step: Step) -> None:
        OBSERVERS.kept = None
        if not self._first:
            self._first = step.start
        clocks = None
        if step.start >= self._next_clock:
            self._next_clock = step.start + _CLOCKS_EVERY
            clocks = self._clocks[0](), self._clocks[1]()
        self._running[step.thread] = clocks
        timer = self._timer
        if timer is not None:
            has_time = self._op_cost <= _OP_SHARE * (step.start - self._first)
            if has_time or self.steps < 3:  # the startup program and a step or two, however short the run
                OBSERVERS.add(timer)

    def step_ended(self, step: Step, result: StepResult) -> None:
        clocks = self._running.pop(step.thread)
        if clocks is not None:
            self._look(clocks, result.stop - step.start)
        timer = self._timer
        if timer is not None and timer in OBSERVERS.of_ops:
            OBSERVERS.remove(timer)
            is_gpu = step.place.startswith("CUDA")  # where every op is waited for
            self._op_cost += result.stop - step.start if is_gpu else _OP_COST * timer.timed
            timer.timed = 0
        with self._lock:
            before, self._last = self._last, result.stop
            if step.thread not in self._names:
                self._name(step.thread)
            if self._skipped:
                self._make_up(step, min(self._skipped * (result.stop - step.start), step.start - before))
            if result.error is not None:
                self._held.append((step.thread, "failed", "", step.start, result.stop, 0))
                self._fail(result.error)
                return
            self._held.append((step.thread, "step", "", step.start, result.stop, step.fed))
            self.steps += 1
            self.records += step.fed
            self._fed = step.fed
            for name, value in zip(result.names, result.values):
                self._fetched(name, value)
            if not self._keep and self.steps >= _ALL_WATCHED:
                self._skip(result.stop - step.start)
            if len(self._held) >= _HELD:
                self._sort_in()
            if result.stop - self._looked_at_memory > 0.5:
                self._look_at_memory(result.stop)

    def _skip(self, seconds: float) -> None:
        """Skip the next steps if observing all steps of this length would take too much of the run's time."""
        steps = min(_MOST_SKIPPED, int(_STEP_COST / (_STEP_SHARE * max(seconds, 1e-9))))
        self._skipped = steps if steps and OBSERVERS.skip(self, steps, self._between) else 0

    def _unwatched(self) -> int:
        """Return how many steps have run since the last one that was observed."""
        return max(0, self._skipped - length_hint(OBSERVERS.skipped))

    def _make_up(self, step: Step, seconds: float) -> None:
        """Count the skipped steps before this one as if they had been like it."""
        steps, self._skipped = self._skipped, 0
        start, stop = step.start - seconds, step.start
        self._events.append((step.thread, "steps", "", start, stop))
        self._seconds["step"] += seconds
        self.lanes.spend("step", start, stop)
        self.lanes.spread("steps", start, stop, steps)
        self.steps += steps
        self._count_records(steps * step.fed, start, stop)
        self._sum_between(start, stop)

    def _count_records(self, records: int, start: float, stop: float) -> None:
        if records:
            self.records += records
            self.lanes.spread("records", start, stop, records)

    def _sum_between(self, start: float, stop: float) -> None:
        """Add the reads and waits between two observed steps, spread over the time between them."""
        reads, waits = self._between.take()
        if reads:
            waited = sum(stopped - started for started, stopped, _, _ in reads)
            inside = sum(stopped - started for started, stopped, _, thread in reads if thread in self._reads_inside)
            self._seconds["wait"] += waited
            self._seconds["wait inside"] += inside
            self.lanes.spread("wait", start, stop, waited)
            self._count_records(sum(records for _, _, records, _ in reads), start, stop)
        for (queue, side), (seconds, most) in waits.items():
            self._add_wait(queue, side, seconds, most)
            kind = "starved" if side == "consumer" else "blocked"
            self.lanes.spread(f"{kind} {queue}", start, stop, seconds)

    def _look(self, clocks: tuple[float, float], seconds: float) -> None:
        looked = self._looked_at
        own = self._clocks[1]() - clocks[1]
        looked.seconds += seconds
        looked.own += own
        looked.others += self._clocks[0]() - clocks[0] - own

    def item_read(self, read: Read) -> None:
        with self._lock:
            waited = read.stop - read.start
            clocks = self._running.get(read.thread)
            if clocks is not None:
                used = self._clocks[0]() - clocks[0]
                self._looked_at.waits += waited
                self._looked_at.during_waits += used
            if read.thread in self._running:
                self._reads_inside.add(read.thread)
            if read.thread in self._reads_inside:
                self._seconds["wait inside"] += waited
            if read.thread not in self._names:
                self._name(read.thread)
            self._held.append((read.thread, "wait", "", read.start, read.stop, read.records))
            self.records += read.records
            self.chain = read.chain
            self._reads += 1
            if self._reads in (2, 8, 64):
                self._workers.count(self.chain)
            if read.ended:
                self.epochs += 1
                if self._skipped and not self._running and read.thread in self._reads_inside:
                    self.steps -= 1  # the step that fails for it is counted among the skipped ones
                if len(self.marks) < _MARKS:
                    self.marks.append(self.steps + self._unwatched())

    def wait_ended(self, wait: Wait) -> None:
        with self._lock:
            kind = "starved" if wait.side == "consumer" else "blocked"
            self._add_wait(wait.queue, wait.side, wait.stop - wait.start, wait.size)
            if wait.side == "producer":
                self._queues[wait.queue].producers.add(wait.thread)
            if wait.thread not in self._names:
                self._name(wait.thread)
            self._held.append((wait.thread, kind, wait.queue, wait.start, wait.stop, wait.size))

    def _add_wait(self, name: str, side: str, seconds: float, size: int) -> None:
        queue = self._queues[name]
        if side == "consumer":
            queue.starved += seconds
        else:
            queue.blocked += seconds
        queue.most = max(queue.most, size)

    def copy_ended(self, copy: Copy) -> None:
        with self._lock:
            lane = -1 - copy.device
            self._names[lane] = f"copies to GPU {copy.device}"
            self._held.append((lane, "copy", "", copy.start, copy.stop, copy.size))

    def _sort_in(self) -> None:
        """Add the collected events to the lanes, kind by kind."""
        held, self._held = self._held, []
        self._events.extend(event[:5] for event in held)
        kinds: dict[tuple[str, str], list[tuple[float, float, int]]] = {}
        for _, kind, queue, start, stop, amount in held:
            kinds.setdefault((kind, queue), []).append((start, stop, amount))
        for (kind, queue), found in kinds.items():
            starts, stops, amounts = zip(*found)
            self.lanes.spend_all(f"{kind} {queue}".strip(), starts, stops)
            if kind in ("step", "wait", "failed"):
                self._seconds["wait" if kind == "wait" else "step"] += sum(stops) - sum(starts)
            if kind == "step":
                self.lanes.count("steps", stops, [1.0] * len(stops))
            if kind in ("step", "wait") and any(amounts):
                self.lanes.count("records", stops, amounts)
            if kind == "copy":
                self.lanes.count("copied", stops, amounts)
            if queue:
                for stop, amount in zip(stops[::16], amounts[::16]):
                    self.lanes.peak(queue, stop, amount)

    def items_dropped(self, drop: Drop) -> None:
        with self._lock:
            self.dropped += drop.items
            self._drops[drop.reader] = self._drops.get(drop.reader, 0) + drop.items

    # -- helpers --------------------------------------------------------------------------------------------------

    def _fetched(self, name: str, value: object) -> None:
        number = scalar(value, self._keep)
        if number is None:
            return
        curve = self.curves.get(name)
        if curve is None:
            if len(self.curves) >= _CURVES:
                return
            curve = self.curves[name] = Curve(self._keep)
        curve.add(self.steps - 1, number)

    def _fail(self, error: BaseException) -> None:
        if not isinstance(error, (EOFException, SystemExit)):
            self.error = f"{type(error).__name__}: {error}"[:4000]

    def _name(self, thread: int) -> None:
        """Record the name of the calling thread."""
        self._names[thread] = threading.current_thread().name.removeprefix("fluidio-")

    def _look_at_memory(self, now: float) -> None:
        self._looked_at_memory = now
        memory = memory_now()
        self._peak_memory = max(self._peak_memory, memory)
        self.lanes.peak("memory", now, memory)

    # -- results --------------------------------------------------------------------------------------------------

    def measured(self) -> Measured:
        """Return the measurements for the advice."""
        with self._lock:
            self._sort_in()
        total = max(1e-9, self._last - self._first)
        spent, looked = self._seconds, self._looked_at
        computing = max(0.0, spent["step"] - spent["wait inside"])
        order = {name: n for n, name in enumerate(self.chain)}
        queues = sorted(self._queues.items(), key=lambda pair: order.get(pair[0], len(order)))
        slowest = next(((row["type"], row["share"]) for row in self.profile()), None)
        return Measured(
            seconds=total,
            waiting=min(1.0, spent["wait"] / total),
            computing=min(1.0, computing / total),
            outside=max(0.0, 1 - (computing + spent["wait"]) / total),
            queues=[self._queue(name, waits, total) for name, waits in queues],
            busy_cores=looked.busy_cores(),
            cores=os.cpu_count() or 1,
            step_seconds=computing / max(1, self.steps),
            held_up=looked.held_up() * computing / total,
            slowest_op=slowest,
            processes=self._workers.processes,
        )

    def _queue(self, name: str, waits: QueueWaits, total: float) -> Queue:
        threads = self._workers.threads.get(name) or len(waits.producers)  # each epoch has new threads
        return Queue(name, waits.starved / total, waits.blocked / total, waits.most, threads)

    def profile(self) -> list[dict[str, Any]]:
        """Return the time of ops by type, the slowest first."""
        return self._timer.profile() if self._timer is not None else []

    def as_json(self) -> dict[str, Any]:
        """Return all as plain values: what `--record` writes and the page shows."""
        with self._lock:
            measured = self.measured()
            return {
                "format": "fluidio trace 1",
                "command": sys.argv[:20],
                "began": self._began,
                "seconds": max(0.0, self._last - self._first),
                "steps": self.steps,
                "epochs": self.epochs,
                "epoch_ends": self.marks,
                "records": self.records,
                "dropped": self._drops,
                "status": self.status,
                "error": self.error,
                "curves": {name: curve.as_json() for name, curve in self.curves.items()},
                "time": self.lanes.as_json(),
                "events": self._told_events(),
                "measured": measured._asdict() | {"queues": [queue._asdict() for queue in measured.queues]},
                "chain": list(self.chain),
                "profile": self.profile(),
                "ops": self._timer.slowest() if self._timer is not None else [],
                "memory": self._peak_memory,
                "environment": environment_of(),
            }

    def _repr_html_(self) -> str:
        """Return the run page, for notebooks."""
        from fluidio.pages.notebook import framed
        from fluidio.pages.runs import run_page

        return framed(run_page(self.as_json()))

    def _told_events(self) -> list[list[Any]]:
        """Return lane, kind, start and length of the last events, in seconds from the first step."""
        return [
            [self._names[thread], f"{kind} {queue}".strip(), round(start - self._first, 6), round(stop - start, 6)]
            for thread, kind, queue, start, stop in self._events
        ]
