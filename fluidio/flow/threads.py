"""Move items between threads so that nothing hangs: a bounded channel that carries items, the end and errors.

Every wait can be woken: a consumer that stops closes the channel and its producers stop; a failing producer's exception
follows the items it has already delivered.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from fluidio.errors import ReaderError
from fluidio.flow.watchdog import waiting

__all__ = ["Channel", "Reader", "dead_producers_error", "producing", "pump"]

T = TypeVar("T")
Reader = Callable[[], Iterable[T]]

_JOIN = 2.0  # seconds to wait for a thread that may be inside the user's own blocking call


class Channel(Generic[T]):
    """Carries items from producers to consumers; at most `size` items wait (0: any number)."""

    def __init__(self, name: str, size: int, producers: int = 1) -> None:
        self.name = name
        self._size = size if size > 0 else float("inf")
        self._items: deque[T] = deque()
        self._producers = producers
        self._error: BaseException | None = None
        self._closed = False
        self._home = os.getpid()
        lock = threading.RLock()  # garbage collection inside put() may finalise the consumer, which calls close()
        self._not_empty = threading.Condition(lock)
        self._not_full = threading.Condition(lock)
        self.threads: list[threading.Thread] = []

    def put(self, item: T) -> bool:
        """Add an item, waiting for room; return False if the channel is closed."""
        with self._not_full:
            if len(self._items) >= self._size and not self._closed:
                with waiting(f"room in the queue of {self.name}"):
                    while len(self._items) >= self._size and not self._closed:
                        self._not_full.wait()
            if self._closed:
                return False
            self._items.append(item)
            self._not_empty.notify()
            return True

    def done(self, error: BaseException | None = None) -> None:
        """Mark one producer as finished, with its error if it failed."""
        with self._not_empty:
            self._producers -= 1
            self._error = self._error or error
            self._not_empty.notify_all()

    def close(self) -> None:
        """Refuse further items, discard the waiting ones and wake all waiting threads."""
        if os.getpid() != self._home:
            return  # inherited by a fork: it has none of the threads, and the lock may be held forever
        with self._not_empty:
            self._closed = True
            self._items.clear()
            self._not_empty.notify_all()
            self._not_full.notify_all()

    def take(self, most: int = 1) -> list[T]:
        """Return the next items, at least one, or an empty list at the end; raise the error of a failed producer."""
        with self._not_empty:
            if not self._items:
                self._wait_for_item()
            taken = [self._items.popleft() for _ in range(min(most, len(self._items)))]
            if taken:
                self._not_full.notify(len(taken))
            elif self._error is not None:
                self._raise(self._error)
            return taken

    def _wait_for_item(self) -> None:
        with waiting(f"an item of {self.name}", lambda: self.threads) as wait:
            while not self._items and self._producers > 0 and not self._closed:
                if not self._not_empty.wait(wait.poll) and not self._items and self._producers > 0:
                    if self.producers_dead():  # and had not just put its last item
                        raise dead_producers_error(self.name)
                    wait.look()

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        return True  # also when nothing waits

    def _raise(self, error: BaseException) -> NoReturn:
        if isinstance(error, ReaderError):
            raise error
        raise ReaderError(f"{self.name}: the reader raised {type(error).__name__}: {error}") from error

    def producers_dead(self) -> bool:
        """Return whether no thread is left that could deliver anything."""
        return bool(self.threads) and not any(thread.is_alive() for thread in self.threads)

    def __iter__(self) -> Iterator[T]:
        while items := self.take():
            yield from items


def pump(reader: Reader[T], channel: Channel[T]) -> None:
    """Put the items of a reader into a channel until the reader ends or the channel is closed."""
    for item in reader():
        if not channel.put(item):
            return


@contextlib.contextmanager
def producing(
    name: str, channels: Sequence[Channel[Any]], *targets: tuple[Callable[[], None], Channel[Any]]
) -> Iterator[None]:
    """Run each target in a thread until the block ends, however it ends.

    A target's end or exception is reported to its channel; `channels` lists all channels that must be closed to stop
    the threads.
    """
    threads = [threading.Thread(target=_run, args=pair, name=f"fluidio-{name}", daemon=True) for pair in targets]
    for channel in channels:
        channel.threads = threads
    try:
        for thread in threads:
            thread.start()
        yield
    finally:
        for channel in channels:
            channel.close()
        for thread in threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join(_JOIN)


def _run(target: Callable[[], None], channel: Channel[Any]) -> None:
    try:
        target()
    except BaseException as error:
        channel.done(error)
    else:
        channel.done()


def dead_producers_error(name: str) -> ReaderError:
    """Return the error of a reader that was started in one process and is used in its fork."""
    return ReaderError(
        f"{name}: this reader was started before a fork and is used after it, where its threads do not exist: "
        "call the reader again in the new process"
    )
