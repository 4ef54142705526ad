"""Ahead: a thread that reads items before they are requested."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from time import perf_counter
from typing import Any, Generic, TypeVar

from fluidio.flow.observer import OBSERVERS
from fluidio.flow.runtime_reader import ReaderState
from fluidio.flow.threads import Channel

__all__ = ["Ahead"]

T = TypeVar("T")
_Hand = tuple[T | None, Exception | None]


class Ahead(Generic[T]):
    """Reads up to `size` items ahead of its consumer; the thread starts when the first item is taken."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._waits = [0.0, 0.0]
        self._channel: Channel[_Hand[T]] | None = None
        self._thread: threading.Thread | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None

    @property
    def running(self) -> bool:
        """Whether reading has begun."""
        return self._channel is not None

    def take(self, read: Callable[[], T | None]) -> T | None:
        """Return the next item, None at the end; raise what reading it raised.

        Args:
            read: called by the thread for each item. It must not reference the reader, which stops once it is
            unreferenced.
        """
        channel = self._launch(read) if self._channel is None else self._channel
        began = perf_counter()
        taken = channel.take()
        ended = perf_counter()
        self._waits[1] += ended - began
        if OBSERVERS.all:
            OBSERVERS.waited(self._name, "consumer", len(channel), began, ended)
        if not taken:
            self._join()
            return None
        item, error = taken[0]
        if error is not None:
            raise error
        return item

    def _launch(self, read: Callable[[], T | None]) -> Channel[_Hand[T]]:
        channel: Channel[_Hand[T]] = Channel(self._name, self._size)
        args = read, channel, self._waits
        self._thread = threading.Thread(target=_prefetch, args=args, name=f"fluidio-{self._name}", daemon=True)
        channel.threads = [self._thread]
        self._finalizer = weakref.finalize(self, channel.close)
        self._finalizer.atexit = False
        self._channel = channel
        self._thread.start()
        return channel

    def close(self) -> None:
        """Signal the thread that no more items are needed."""
        if self._channel is not None:
            self._channel.close()

    def stop(self) -> None:
        """Wait for the thread, which was asked to end, and discard the items it has read."""
        self._join()
        self._channel = None

    def _join(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None

    def stats(self, capacity: int) -> ReaderState:
        """Return the waits in seconds and the number of items ready."""
        return {
            "producer_wait": self._waits[0],
            "consumer_wait": self._waits[1],
            "queue_size": len(self._channel) if self._channel is not None else 0,
            "capacity": capacity,
        }


def _prefetch(read: Callable[[], T | None], channel: Channel[_Hand[T]], waits: list[float]) -> None:
    """Read until the end, an error, or the channel is closed."""
    try:
        while (item := read()) is not None:
            began = perf_counter()
            if not channel.put((item, None)):
                break
            ended = perf_counter()
            waits[0] += ended - began
            if OBSERVERS.all:
                OBSERVERS.waited(channel.name, "producer", len(channel), began, ended)
    except Exception as error:
        channel.put((None, error))
    finally:
        channel.done()
