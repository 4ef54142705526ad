"""Observer: watch runs without changing them: steps, ops, reads, waits, copies, drops.

An observer is called in the thread where an event happens, so its methods must be quick and lock shared data. An
exception in an observer ends the run. Times are seconds of `time.perf_counter()`. Without observers, an event costs one
comparison.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from fluidio.tensor.lod import LoD

__all__ = [
    "OBSERVERS",
    "Copy",
    "Drop",
    "Kept",
    "Observer",
    "Observers",
    "OpRun",
    "Read",
    "Step",
    "StepResult",
    "Wait",
    "observing",
    "records_in",
]

T = TypeVar("T", bound="Observer")


class Step(NamedTuple):
    """A call of `Executor.run`, including nested runs (a compiled program, a py_func).

    Attributes:
        program: number of the program within the process; a compiled program has that of its inner program.
        place: "CPU", "CUDA:0".
        fed: records in the feed; 0 if readers supply the data.
    """

    program: int
    place: str
    fed: int
    thread: int
    start: float


class StepResult(NamedTuple):
    """How a step ended: the fetched names, or the error (an EOFException at the end of the data)."""

    names: tuple[str, ...]
    values: Sequence[Any]
    error: BaseException | None
    stop: float


class OpRun(NamedTuple):
    """An op that ran: its type, its first output, and the file, line and function that built it."""

    type: str
    output: str
    site: tuple[str, int, str] | None
    thread: int
    start: float
    stop: float


class Read(NamedTuple):
    """A read of one item by a program or a loop, from request to delivery.

    Attributes:
        reader: name of the source, at the bottom of the chain.
        chain: names from the source to the reader that was read.
        records: number in the batch; 0 from a loader, whose batches are counted when they are fed.
        ended: whether there was no next item, because the epoch is over.
    """

    reader: str
    chain: tuple[str, ...]
    records: int
    ended: bool
    thread: int
    start: float
    stop: float


class Wait(NamedTuple):
    """A thread's wait for a queue: as "consumer" for an item, as "producer" for room or work.

    Attributes:
        queue: name of the reader that the queue belongs to.
        size: items in the queue afterwards.
    """

    queue: str
    side: Literal["producer", "consumer"]
    size: int
    thread: int
    start: float
    stop: float


class Copy(NamedTuple):
    """A batch that a reader sent to a GPU, with the actual start and end of the transfer by the GPU's events.

    Attributes:
        device: number of the GPU.
        size: bytes.
    """

    device: int
    size: int
    start: float
    stop: float


class Drop(NamedTuple):
    """Records or batches that a reader left out at the end of an epoch."""

    reader: str
    items: int


class Observer:
    """Base class: override the methods for the events of interest.

    Attributes:
        times_ops: also receive every op. On a GPU each op is then waited for, to time it on its own; copies and
            computation no longer overlap.
    """

    times_ops = False

    def step_began(self, step: Step) -> None:
        """`Executor.run` was called."""

    def step_ended(self, step: Step, result: StepResult) -> None:
        """`Executor.run` is about to return or raise."""

    def op_ran(self, op: OpRun) -> None:
        """An op ran without an error (with `times_ops`)."""

    def item_read(self, read: Read) -> None:
        """A `read` op or the loop over a loader got an item, or the end."""

    def wait_ended(self, wait: Wait) -> None:
        """A wait for a queue is over."""

    def copy_ended(self, copy: Copy) -> None:
        """A batch has reached a GPU. Reported some batches later, in the thread that starts the copies."""

    def items_dropped(self, drop: Drop) -> None:
        """Data was dropped."""


class Kept:
    """Short reads and waits that are only kept while steps are skipped: to sum them up later costs least.

    Attributes:
        reads: (start, stop, records, thread) of each.
        waits: (queue, side, size, start, stop) of each.
    """

    shorter_than = 2e-3
    """Seconds; longer ones are reported at once, as observers may want to show them."""

    def __init__(self) -> None:
        self.reads: list[tuple[float, float, int, int]] = []
        self.waits: list[tuple[str, str, int, float, float]] = []


class Observers:
    """All observers of this process.

    Attributes:
        all: all observers; empty when nothing needs to be reported.
        of_ops: those with `times_ops`.
        skipped: one item for each of the next steps that need no report; an iterator, which threads may share.
        kept: where short reads and waits go meanwhile, instead of to the observer.
        checks_numbers: check every op's outputs for NaN and infinity (`FLAGS_check_nan_inf`).
    """

    def __init__(self) -> None:
        self.all: tuple[Observer, ...] = ()
        self.of_ops: tuple[Observer, ...] = ()
        self.skipped: Iterator[int] = iter(range(0))
        self.kept: Kept | None = None
        flag = os.environ.get("FLAGS_check_nan_inf", "")  # noqa: SIM112  (Fluid's name)
        self.checks_numbers = flag.lower() in ("1", "true", "yes")
        self._changing = threading.Lock()

    def add(self, observer: Observer) -> None:
        """Report events to an observer from now on; adding it twice is harmless."""
        with self._changing:
            if observer not in self.all:
                self._set((*self.all, observer))

    def remove(self, observer: Observer) -> None:
        """Stop reporting to an observer; harmless if it was not added."""
        with self._changing:
            self._set(tuple(one for one in self.all if one is not observer))

    def skip(self, observer: Observer, steps: int, kept: Kept | None = None) -> bool:
        """Run this many steps without reporting their start and end, if this is the only observer.

        Args:
            kept: keep short reads and waits there until the next step that is reported.
        """
        with self._changing:
            if self.all != (observer,):
                return False
            self.skipped = iter(range(steps))
            self.kept = kept
            return True

    def _set(self, observers: tuple[Observer, ...]) -> None:
        self.all = observers
        self.skipped = iter(range(0))
        self.kept = None
        self.of_ops = tuple(one for one in observers if one.times_ops)

    def read(self, chain: tuple[str, ...], records: int, ended: bool, start: float, stop: float) -> None:
        """Report an item that was read."""
        kept = self.kept
        if kept is not None and stop - start < kept.shorter_than and not ended:
            kept.reads.append((start, stop, records, threading.get_ident()))
            return
        event = Read(chain[0], chain, records, ended, threading.get_ident(), start, stop)
        for observer in self.all:
            observer.item_read(event)

    def waited(self, queue: str, side: Literal["producer", "consumer"], size: int, start: float, stop: float) -> None:
        """Report a wait."""
        kept = self.kept
        if kept is not None and stop - start < kept.shorter_than:
            kept.waits.append((queue, side, size, start, stop))
            return
        event = Wait(queue, side, size, threading.get_ident(), start, stop)
        for observer in self.all:
            observer.wait_ended(event)

    def copied(self, device: int, size: int, start: float, stop: float) -> None:
        """Report a copy to a GPU."""
        event = Copy(device, size, start, stop)
        for observer in self.all:
            observer.copy_ended(event)

    def dropped(self, reader: str, count: int) -> None:
        """Report dropped data."""
        for observer in self.all:
            observer.items_dropped(Drop(reader, count))


OBSERVERS = Observers()


@contextlib.contextmanager
def observing(observer: T) -> Iterator[T]:
    """Add an observer for the duration of a `with` block.

    Example:
        >>> class Steps(Observer):
        ...     count = 0
        ...     def step_ended(self, step, result):
        ...         self.count += 1
        >>> with observing(Steps()) as steps:
        ...     pass
        >>> steps.count
        0
    """
    OBSERVERS.add(observer)
    try:
        yield observer
    finally:
        OBSERVERS.remove(observer)


def records_in(item: Sequence[tuple[Any, LoD]]) -> int:
    """Return how many records a batch holds: the sequences of the first tensor if it has any, else its rows."""
    if not item:
        return 0
    array, lod = item[0]
    if lod:
        return len(lod[0]) - 1
    return int(array.shape[0]) if array.ndim else 1
