"""FeedQueue: the bounded queue between a thread that runs the user's generator and the executor.

It is in this package because layers create it when a reader is declared and the executor drains it when a program runs.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from fluidio.errors import EnforceNotMet, ReaderError
from fluidio.flow.feed_epoch import Epoch, Tensors, feed
from fluidio.flow.lifecycle import Event, State, step
from fluidio.flow.observer import OBSERVERS
from fluidio.flow.runtime_reader import RuntimeReader
from fluidio.flow.watchdog import waiting
from fluidio.tensor.lod import LoD

__all__ = ["FeedQueue", "Tensors"]

_JOIN = 5.0  # seconds that reset() waits for a busy generator
_PUSH = 0.1  # seconds between checks for the thread that will push the first item


class FeedQueue:
    """A bounded queue of batches, fed by a thread (`start`) or by hand (`push`, `close`).

    Args:
        name: the reader's name, for messages.
        capacity: maximum number of waiting batches.
        site: where the user's code made it, for messages.
    """

    def __init__(self, name: str, capacity: int, site: str = "") -> None:
        if not isinstance(capacity, int) or capacity < 1:
            raise EnforceNotMet(f"reader {name}: capacity must be a whole number of at least 1, got {capacity!r}")
        self.name = name
        self.site = site
        self.state = State.IDLE
        self.epoch = 0
        self.delivered = 0
        self.has_source = False  # a handle will start() it
        self.skip = 0  # items to skip in the next epoch, after load_state_dict()
        self.owner: weakref.ref[object] | None = None  # the program it was made for
        self.readers: weakref.WeakSet[RuntimeReader] = weakref.WeakSet()  # the readers that drain this queue
        self._capacity = capacity
        self._home = os.getpid()
        self._pushing = threading.Lock()
        self._current = Epoch(name, capacity)
        self._finalizer: weakref.finalize[Any, Any] | None = None
        self._waits = [0.0, 0.0]
        self._items = 0
        self._bytes = 0
        self._dropped = 0
        self._note: tuple[int, str, str] | None = None
        self.warned: set[str] = set()  # warnings already given

    # -- Fluid's own methods ------------------------------------------------------------------------------------

    def push(self, item: Any) -> bool:
        """Add one batch (LoDTensors or arrays), waiting for room; False when the queue is closed.

        Fluid: a LoDTensorArray is pushed; any sequence of tensors and arrays works.
        """
        if self.state is State.IDLE:
            self.state = step(self.state, Event.START, self.name)
        epoch, tensors = self._current, [_pair(value) for value in item]
        with self._pushing:  # one thread at a time waits for room and takes it
            return epoch.put(tensors)

    def close(self) -> None:
        """Mark the epoch as complete: waiting batches are delivered, then the end."""
        if self.state is State.IDLE:
            self.state = step(self.state, Event.START, self.name)
        self._current.finish()

    def kill(self) -> None:
        """End the epoch with an error."""
        self._current.finish(EnforceNotMet(f"reader {self.name}: the queue was killed"))

    def is_closed(self) -> bool:
        return self._current.ended or self._current.closed

    def size(self) -> int:
        return len(self._current.items)

    def capacity(self) -> int:
        return self._capacity

    @property
    def current(self) -> object:
        """Return a token for the epoch; it changes when the queue starts a new one."""
        return self._current

    @property
    def thread(self) -> threading.Thread | None:
        """The thread of start(); None if items are pushed by hand."""
        return self._current.thread

    # -- life cycle ---------------------------------------------------------------------------------------------

    def start(self, source: Callable[[], Iterable[Tensors]]) -> None:
        """Run `source` in a thread and queue what it yields."""
        if self.state is State.RUNNING:
            warnings.warn(
                f"reader {self.name} is already running, so start() has no effect; call reset() first to start again",
                stacklevel=3,
            )
            return
        if self.state is not State.IDLE:
            self.reset()
        self.state = step(self.state, Event.START, self.name)
        epoch = self._current
        skip, self.skip = self.skip, 0
        self.delivered = skip
        epoch.thread = threading.Thread(
            target=feed, args=(source, epoch, skip), name=f"fluidio-feed-{self.name}", daemon=True
        )
        self._finalizer = weakref.finalize(self, epoch.abandon)
        self._finalizer.atexit = False
        epoch.thread.start()

    def take(self, deliver: bool = True) -> Tensors | None:
        """Return the next batch, None at the end of the epoch.

        Args:
            deliver: count it as delivered. A reader that reads ahead counts each item itself when it passes it on, and
                collects the end or the error then: until that point the epoch keeps running.

        Raises:
            EnforceNotMet: `start()` was not called.
            ReaderError: the source failed; `__cause__` is its own exception.
        """
        if self.state is not State.RUNNING:
            return self._take_when_not_running()
        try:
            item = self._current.take()
        except ReaderError:
            if deliver:
                self.state = step(self.state, Event.FAIL, self.name)
            raise
        if item is None:
            if deliver:
                self.state = step(self.state, Event.END, self.name)
                self._tell_drops()
            return None
        self.delivered += deliver
        self._items += 1
        for array, _ in item:
            self._bytes += array.nbytes
        return item

    def _take_when_not_running(self) -> Tensors | None:
        # Without a source, only a user thread can supply data, by push(); it may not have done so yet.
        with waiting(f"somebody to push the first item into the queue of reader {self.name}") as wait:
            while self.state is State.IDLE and not self.has_source and _other_threads():
                self._current.look(_PUSH)
                wait.look()
        if self.state is State.RUNNING:
            return self.take()
        self.state = step(self.state, Event.READ, self.name)
        return self._current.take()  # the end or the error once more

    def reset(self) -> None:
        """Drop waiting batches, stop the thread and get ready for `start()`; legal at any time."""
        epoch = self._current
        if self.state is State.RUNNING:
            self._dropped += len(epoch.items)
        epoch.abandon()
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None
        thread = epoch.thread
        if thread is not None and thread is not threading.current_thread() and os.getpid() == self._home:
            thread.join(_JOIN)
            if thread.is_alive():
                warnings.warn(
                    f"reader {self.name}: {_JOIN:.0f} s after reset() the generator is still busy; its thread "
                    "ends when it yields again",
                    stacklevel=3,
                )
        if epoch.late_error is not None:
            late = epoch.late_error
            warnings.warn(
                f"reader {self.name}: the generator raised {type(late).__name__}: {late} when it was closed",
                stacklevel=3,
            )
        self._waits[0] += epoch.producer_wait
        self._waits[1] += epoch.consumer_wait
        if self.state is not State.IDLE:
            self.epoch += 1
        self.state = step(self.state, Event.RESET, self.name)
        self.delivered = 0
        self._current = Epoch(self.name, self._capacity)

    def note_drop(self, count: int, what: str, why: str) -> None:
        """Record (from any thread) that items were dropped; the consumer is warned at the end of the epoch."""
        self._note = (count, what, why)

    def drop(self, count: int, what: str, why: str) -> None:
        """Count dropped items and warn once."""
        if not count:
            return
        self._dropped += count
        OBSERVERS.dropped(self.name, count)
        if what not in self.warned:
            self.warned.add(what)
            warnings.warn(f"reader {self.name} drops the last {count:,} {what} of each epoch: {why}", stacklevel=4)

    def _tell_drops(self) -> None:
        if self._note is not None:
            note, self._note = self._note, None
            self.drop(*note)

    def resume(self, state: dict[str, Any]) -> None:
        """Skip the batches that a saved state counts, at the next `start()`.

        A generator cannot start in the middle, so it runs again and its first batches are dropped.
        """
        if state.get("version") != 1 or state.get("chain") != [["queue"]]:
            raise EnforceNotMet(f"reader {self.name}: expected a state that such a reader has saved, got {state}")
        if self.state is not State.IDLE:
            self.reset()
        self.epoch = int(state["epoch"])
        self.skip = int(state["items"])
        if self.skip:
            warnings.warn(
                f"reader {self.name}: start() runs the generator from its beginning and skips the first "
                f"{self.skip:,} batches",
                stacklevel=3,
            )

    def stats(self) -> dict[str, Any]:
        """Return counts since the queue was made, and waits in seconds."""
        epoch = self._current
        return {
            "items": self._items,
            "bytes": self._bytes,
            "producer_wait": self._waits[0] + epoch.producer_wait,
            "consumer_wait": self._waits[1] + epoch.consumer_wait,
            "queue_size": len(epoch.items),
            "capacity": self._capacity,
            "dropped": self._dropped,
            "epoch": self.epoch,
        }


def _other_threads() -> bool:
    me = threading.current_thread()
    return any(t is not me and not t.name.startswith("fluidio-") for t in threading.enumerate())


def _pair(value: object) -> tuple[Any, LoD]:
    from fluidio.tensor import LoDTensor

    if not isinstance(value, LoDTensor):
        tensor = LoDTensor()
        tensor.set(value)
        value = tensor
    return value.held_array(), value.levels
