"""Epoch: carries the items of one epoch from the thread that runs the user's generator to the program.

Every epoch has its own channel, so items from a late thread of the previous epoch are discarded.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from fluidio.errors import ReaderError
from fluidio.flow.observer import OBSERVERS
from fluidio.flow.threads import dead_producers_error
from fluidio.flow.watchdog import waiting
from fluidio.tensor.lod import LoD

__all__ = ["Epoch", "Tensors", "feed"]

Tensors = list[tuple[Any, LoD]]
"""One batch: the array and LoD of each slot."""

_PATIENCE = 0.0005  # seconds a waiting consumer lets a fast source gather a few items
_GATHER = 16  # items that wake it sooner
_QUICK = 0.00005  # seconds per item of a source ...
_SHORT = 0.0005  # ... and per step, both too short for parallel work to pay off


class Epoch:
    """The items of one epoch in transit; `ended` and `error` say why there are no more."""

    def __init__(self, name: str, capacity: int) -> None:
        self.name = name
        self.items: deque[Tensors] = deque()
        self.capacity = capacity
        self.refill_at = capacity // 2  # waking a blocked producer for each item would cost a thread switch each time
        self.produced = 0  # items since the producer had room again
        self.resumed = time.perf_counter()  # when that was
        self.pace = self.step = 1.0  # recent best seconds per item on either side
        self.wake_at = min(_GATHER, capacity)  # two busy threads alternating at each item cost more than the items
        self.eager = False
        self.closed = False
        self.ended = False
        self.error: BaseException | None = None
        self.late_error: BaseException | None = None  # from a generator closed before its end
        self.thread: threading.Thread | None = None
        self.producers_waiting = 0
        self.consumers_waiting = 0
        self.producer_wait = 0.0
        self.consumer_wait = 0.0
        lock = threading.RLock()  # garbage collection inside put() may free the queue, which calls abandon()
        self._room = threading.Condition(lock)
        self._data = threading.Condition(lock)

    def put(self, item: Tensors) -> bool:
        items = self.items
        if len(items) >= self.capacity:
            self._wait_for_room()
        if self.closed or self.ended:
            return False
        items.append(item)
        self.produced += 1
        if self.consumers_waiting and (self.eager or len(items) >= self.wake_at):
            with self._data:
                self._data.notify_all()
        return True

    def _wait_for_room(self) -> None:
        """Wait until half of the items are taken, or all of them if both sides are fast.

        Two threads that compete for the interpreter lock swap it at each array operation: a fast source is cheaper when
        it works while the consumer waits.
        """
        began = time.perf_counter()
        # Use the best times: a busy machine interrupts either side now and then.
        self.pace = min((began - self.resumed) / max(1, self.produced), self.pace * 1.5)
        self.refill_at = 0 if self.pace < _QUICK and self.step < _SHORT else self.capacity // 2
        with self._room:
            self.producers_waiting += 1
            with waiting(f"room in the queue of reader {self.name}"):
                while len(self.items) > self.refill_at and not self.closed and not self.ended:
                    self._room.wait()
            self.producers_waiting -= 1
        self.produced, self.resumed = 0, time.perf_counter()
        waited = self.resumed - began
        self.step = min(waited / (self.capacity - self.refill_at), self.step * 1.5)
        self.producer_wait += waited
        if OBSERVERS.all:
            OBSERVERS.waited(self.name, "producer", len(self.items), began, self.resumed)

    def take(self) -> Tensors | None:
        """Return the next item, None at the end; raise the producer's error if it failed."""
        items = self.items
        while True:
            over = self.ended or self.closed  # read first: nothing is added once it is true
            try:
                item = items.popleft()
                break
            except IndexError:
                if over:
                    if self.error is not None:
                        _fail(self.name, self.error)
                    return None
                self._wait_for_data()
        if self.producers_waiting and len(items) <= self.refill_at:
            with self._room:
                self._room.notify_all()
        return item

    def _wait_for_data(self) -> None:
        began = time.perf_counter()
        with self._data:
            self.consumers_waiting += 1
            try:
                if not self.items and not self.ended and not self.closed:
                    self._data.wait(_PATIENCE)
                self.eager = True  # nothing arrived in time: the source is slow, so take each item at once
                self._wait_long()
            finally:
                self.consumers_waiting -= 1
                self.eager = False
        now = time.perf_counter()
        self.consumer_wait += now - began
        if OBSERVERS.all:
            OBSERVERS.waited(self.name, "consumer", len(self.items), began, now)

    def _wait_long(self) -> None:
        with waiting(f"an item of reader {self.name}", lambda: [self.thread]) as wait:
            while not self.items and not self.ended and not self.closed:
                if not self._data.wait(wait.poll):
                    if self._producers_dead():
                        raise dead_producers_error(self.name)
                    wait.look()

    def _producers_dead(self) -> bool:
        gone = self.thread is not None and not self.thread.is_alive()
        return gone and not self.items and not self.ended

    def look(self, seconds: float) -> None:
        """Wait a little for an item."""
        with self._data:
            self.consumers_waiting += 1
            self.eager = True
            if not self.items and not self.ended:
                self._data.wait(seconds)
            self.eager = False
            self.consumers_waiting -= 1

    def finish(self, error: BaseException | None = None) -> None:
        """Mark the end of the items: waiting ones are still delivered, then the end or the error."""
        with self._data:
            if not self.ended:
                self.ended = True
                self.error = error
            self._data.notify_all()
            self._room.notify_all()

    def abandon(self) -> None:
        """Discard the waiting items and wake all waiting threads."""
        self.closed = True
        self.items.clear()
        with self._data:
            self._data.notify_all()
            self._room.notify_all()


def _fail(name: str, error: BaseException) -> NoReturn:
    if isinstance(error, ReaderError):  # from a Python reader: it already names the user's exception
        raise ReaderError(f"the source of reader {name}: {error}") from error.__cause__ or error
    raise ReaderError(f"the source of reader {name} raised {type(error).__name__}: {error}") from error


def feed(source: Callable[[], Iterable[Tensors]], epoch: Epoch, skip: int) -> None:
    """Run the user's generator in a thread; the epoch ends with the generator or its exception."""
    items: Any = None
    try:
        items = iter(source())
        for item in items:
            if skip > 0:
                skip -= 1
            elif not epoch.put(item):
                break
        epoch.finish()
    except BaseException as error:
        epoch.finish(error)
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            _close_quietly(close, epoch)


def _close_quietly(close: Callable[[], None], epoch: Epoch) -> None:
    """Finalise a generator in the thread that ran it; `reset()` reports errors from its `finally`."""
    try:
        close()
    except BaseException as error:
        epoch.late_error = error
