"""One sentence on what slows a run down and what to do about it, from measured waits alone."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Advice", "Measured", "Queue", "advise"]

_MUCH = 0.10
"""A share of the time that is worth a change."""
_BUSY = 0.2
"""With fewer busy cores than this while a program waits, nothing decodes: the source itself is slow."""
_NOTHING = 1e-9
"""Seconds that stand for a run without a step."""
_SHORT = 0.5
"""Seconds; shorter runs get no advice."""
_HELD_UP = 0.25
_QUICK_STEP = 1e-3
_CALLED = {"multi_file": "open_files", "recordio_file": "open_recordio_file"}
_NAME = re.compile(r"^(?:create_)?(py_reader|.+?)(?:_reader)?(?:_\d+)?$")


class Queue(NamedTuple):
    """A queue of the pipeline; shares are fractions of the run's time, for one thread on each side.

    Attributes:
        name: the name of its reader, such as open_files_0.
        starved: how long the consumer waited for an item.
        blocked: how long a producer waited for room, or for work to do.
        most: the largest number of items in it.
        threads: the number of threads that fill it.
    """

    name: str
    starved: float
    blocked: float
    most: int
    threads: int


class Measured(NamedTuple):
    """The measurements of a run.

    Attributes:
        seconds: from the first step to the end of the last.
        waiting, computing, outside: shares of that time: waiting for data, otherwise in steps, between steps.
        queues: from the source to the program.
        busy_cores: how many cores the process kept busy while the program waited for data.
        cores: number of cores of the machine.
        step_seconds: of one step, without waits.
        held_up: share of the time in which steps neither waited for data nor got the processor, though other threads of
            the process did.
        slowest_op: with its share of the time in ops, if measured.
        processes: number of worker processes that make samples; what they compute is not measured.
    """

    seconds: float
    waiting: float
    computing: float
    outside: float
    queues: Sequence[Queue]
    busy_cores: float
    cores: int
    step_seconds: float = 1.0
    held_up: float = 0.0
    slowest_op: tuple[str, float] | None = None
    processes: int = 0


class Advice(NamedTuple):
    """The sentence; its kind is "short", "source", "decoding", "queue", "step", "outside" or "balanced"."""

    kind: str
    text: str


def advise(run: Measured) -> Advice:
    """Return the most important advice."""
    if run.seconds <= _NOTHING:
        return Advice("short", "no step was run")
    if run.seconds < _SHORT:
        return Advice("short", f"the run took {run.seconds:.2g} s: too short to say what it waits for")
    if run.waiting >= _MUCH:
        return _for_data(run)
    if run.held_up >= _HELD_UP and run.queues:
        return Advice(
            "decoding",
            f"steps are held up {_percent(run.held_up)} of the time by the threads that make samples: "
            f"let processes make them, DataLoader(num_workers={_workers(run)})",
        )
    if run.outside >= max(_MUCH, run.computing):
        share = _percent(run.outside)
        return Advice("outside", f"{share} of the time passes between steps: the script's own Python is the slow part")
    if run.computing >= 0.8:
        return Advice("step", f"the program computes {_percent(run.computing)} of the time{_op(run)}: data is not slow")
    rest = f"waits {_percent(run.waiting)} for data, {_percent(run.outside)} passes between steps"
    return Advice("balanced", f"balanced: the program computes {_percent(run.computing)} of the time, {rest}")


def _for_data(run: Measured) -> Advice:
    waits = f"the program waits {_percent(run.waiting)} of the time for"
    starved = [queue for queue in run.queues if queue.starved >= _MUCH / 2]
    if not starved:
        last = run.queues[-1] if run.queues else None
        return _slow(run, f"{waits} {_name(last.name) if last else 'data'}", last)
    first = starved[0]  # the one nearest the source delays the others
    text = f"{waits} {_name(first.name)}"
    idle = first.blocked / max(1, first.threads)
    if idle >= _MUCH and 1 - idle <= 1.1 * (1 - run.waiting):  # on average it is fast enough
        if run.step_seconds < _QUICK_STEP:
            return Advice("balanced", f"{text}, as both sides take turns: larger batches would cost less per record")
        return Advice(
            "queue", f"{text}, which is blocked {_percent(idle)} of it: its queue is too small; {_larger(first)}"
        )
    return _slow(run, text, first)


def _slow(run: Measured, text: str, queue: Queue | None) -> Advice:
    """Blame the source if no core works while the program waits, otherwise the decoding."""
    is_file = queue is not None and _name(queue.name) == "`open_files`"
    if run.processes and not is_file:
        return Advice("decoding", f"{text}: its {_worker_processes(run)}")
    if run.busy_cores < _BUSY:
        if is_file and queue is not None:
            return Advice("source", f"{text}: the files are slow to read; give {_threads(run, queue, most=64)}")
        return Advice("source", f"{text}: the source is slow and computes nothing; {_overlap(queue)}")
    if is_file and queue is not None and queue.threads < run.cores:
        return Advice("decoding", f"{text}: decoding is slow; give {_threads(run, queue, most=run.cores)}")
    if is_file:
        cores = f"all {run.cores} cores decode"
        return Advice("decoding", f"{text}: {cores}; recompress the files with less compression, or use more cores")
    processes = f"let processes make them, DataLoader(num_workers={_workers(run)})"
    return Advice("decoding", f"{text}: making samples is slow; {processes}")


def _threads(run: Measured, queue: Queue, most: int) -> str:
    """Return how many more threads would make up for the waiting."""
    have = max(1, queue.threads)
    need = min(most, math.ceil(have / max(0.05, 1 - run.waiting)))
    more = max(1, need - have)
    return f"{_name(queue.name).strip('`')} {more} more thread{'s' if more > 1 else ''} (thread_num={have + more})"


def _worker_processes(run: Measured) -> str:
    """Return what to do about worker processes that are too slow, whether they compute or wait."""
    have = run.processes
    slow = f"{have} worker process{'es' if have > 1 else ''} {'are' if have > 1 else 'is'} slow"
    if have < run.cores:
        return f"{slow}; use more (num_workers={max(have + 1, min(run.cores, 2 * have))})"
    return f"{slow}, one or more for each core; make samples cheaper, or use more workers if they wait for files"


def _workers(run: Measured) -> int:
    return max(2, min(run.cores, math.ceil(1 / max(0.05, 1 - run.waiting))))


def _overlap(queue: Queue | None) -> str:
    if queue is None:
        return "read ahead of the program: layers.double_buffer, or a DataLoader"
    return "read from several at once: paddle.reader.xmap_readers, or DataLoader(num_workers=...)"


def _larger(queue: Queue) -> str:
    if _name(queue.name) == "`open_files`":
        return f"give open_files buffer_size={max(2, 4 * queue.most)}"
    if _name(queue.name) == "`double_buffer`":  # the user cannot choose its size
        return "larger batches would even it out"
    return f"give it a capacity of {max(8, 4 * queue.most)}"


def _name(name: str) -> str:
    """Return the user's name for a reader: shuffle for create_shuffle_reader_0."""
    match = _NAME.match(name)
    short = match[1] if match else name
    return f"`{_CALLED.get(short, short)}`"


def _op(run: Measured) -> str:
    return f", {_percent(run.slowest_op[1])} of that in {run.slowest_op[0]}" if run.slowest_op else ""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
