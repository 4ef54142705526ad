"""The copy ring: batches travel to a GPU on a stream of their own while the previous ones are computed on.

    source -> pinned slot -> (copy stream) -> device slot -> read_next -> the consumer's stream

`depth` batches are on their way and one is in the consumer's hands. Nobody waits who does not have to: the worker
waits for a copy only when it needs that copy's pinned memory again, the consumer's stream (not its thread) waits for
the copy.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from fluidio.executor.devices.cupy_backend import CupyBackend
from fluidio.executor.devices.slot import Field, Slot
from fluidio.tensor import LoDTensor

__all__ = ["Allocate", "DeviceRing", "Source"]

Allocate = Callable[[Sequence[Field]], list[Any]]
Source = Callable[[Allocate], Sequence[LoDTensor] | None]
"""Gives the next batch, or None at the end. It may write the batch into arrays of `allocate([(shape, dtype), ...])`,
which are pinned, and return those; anything else is copied there."""

_STOPPED = object()


class _Round:
    """What the worker of one epoch and the ring share; a stopped round is never used again."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.slots = slots  # alive while the worker is: copies read their pinned memory
        self.free: queue.SimpleQueue[Slot | None] = queue.SimpleQueue()
        self.ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for slot in slots:
            self.free.put(slot)
        self.thread: threading.Thread | None = None


class DeviceRing:
    """Reads batches ahead and copies them to one GPU.

    `start`, `read_next` until None, `stop`; then `start` again. Stop the source first: a worker that waits inside it
    cannot be woken from here.

    Fluid: a slot's memory is not refilled while the batch is in use; here it is also safe to keep a batch for good.
    """

    def __init__(self, source: Source, backend: CupyBackend, depth: int = 2) -> None:
        if depth < 1:
            raise ValueError(f"a ring needs a depth of at least 1, got {depth}")
        self._source = source
        self._backend = backend
        cupy = backend.xp
        with backend.active():
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._slots = [Slot(cupy) for _ in range(depth + 1)]
        self._round: _Round | None = None
        self._held: Slot | None = None
        self._ended = False
        self._finalizer: Any = None

    def start(self) -> None:
        """Begin to read and copy."""
        if self._round is not None:
            raise RuntimeError("the ring is running: stop() it first")
        self._ended = False
        current = self._round = _Round(self._slots)
        current.thread = threading.Thread(
            target=_work,
            args=(current, self._source, self._backend, self._stream),
            name=f"fluidio-copy-gpu{self._backend.device}",
            daemon=True,
        )
        self._finalizer = weakref.finalize(self, current.free.put, None)
        current.thread.start()

    def read_next(self) -> list[LoDTensor] | None:
        """Return the next batch on the device, or None at the end; the current stream waits for its copy.

        The batch before is given back: its memory is used again unless somebody keeps an array of it.

        Raises:
            Exception: what the source or the copy raised, when its turn comes.
        """
        current = self._round
        if current is None:
            raise RuntimeError("the ring is not running: start() it first")
        if self._ended:
            return None
        with self._backend.active():
            stream = self._backend.xp.cuda.get_current_stream()
            if self._held is not None:
                self._held.released.record(stream)
                current.free.put(self._held)
                self._held = None
            item = current.ready.get()
            if isinstance(item, Slot):
                stream.wait_event(item.copied)
                self._held = item
                return item.tensors()
        self._ended = True
        if isinstance(item, BaseException):
            raise item
        return None

    def stop(self) -> None:
        """End the worker and throw away what it has read ahead; the slots stay for the next start."""
        current, self._round = self._round, None
        if current is None:
            return
        self._finalizer.detach()
        current.free.put(None)
        current.ready.put(_STOPPED)  # wakes a consumer that waits in another thread
        assert current.thread is not None
        current.thread.join()
        with self._backend.active():
            if self._held is not None:
                self._held.released.record(self._backend.xp.cuda.get_current_stream())
                self._held = None


def _work(current: _Round, source: Source, backend: CupyBackend, stream: Any) -> None:
    """Fill free slots until the source ends, fails, or the ring stops."""
    try:
        with backend.active():  # the current device belongs to the thread
            try:
                _fill_slots(current, source, stream)
            finally:
                stream.synchronize()  # pinned memory must outlive the copies out of it
        current.ready.put(None)
    except BaseException as error:
        current.ready.put(error)


def _fill_slots(current: _Round, source: Source, stream: Any) -> None:
    while (slot := current.free.get()) is not None:
        slot.copied.synchronize()  # the old copy out of its pinned memory is over
        batch = source(slot.allocate)
        if batch is None:
            return
        slot.fill(batch, stream)
        current.ready.put(slot)
