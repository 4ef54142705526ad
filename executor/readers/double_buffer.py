"""DoubleBuffer: a thread reads the next items while the program works on the last one.

On the CPU that is all. On a GPU the thread also brings the items to the device, through the backend's `copy_stage()`.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from fluidio.executor.readers.base import Reader, Spec, Tensors, part_of_item
from fluidio.executor.readers.batch import Batch
from fluidio.executor.readers.open_files import OpenFiles
from fluidio.flow.observer import OBSERVERS
from fluidio.flow.threads import Channel
from fluidio.recordio.blocks.cut import PartBuffer
from fluidio.recordio.decode.spans import Part, gather

__all__ = ["CopyStage", "DoubleBuffer", "on_host", "stage_next"]

_AHEAD = 2  # parts or batches that wait; one more is in the thread's hands
_RECORDS = 256  # records of one part, when records and not batches are read
_WORTH_IT = 0.0002  # seconds of work for an item from which on handing it over from a thread pays
_SAMPLE = 5  # one read in so many is measured
_SAMPLES = 16  # measured reads over which that work is averaged

Hand = tuple[Any, Exception | None]
T = TypeVar("T")


class CopyStage(Protocol):
    """Brings items to a device, or to several in turn."""

    @property
    def width(self) -> int:
        """How many devices are served in turn."""
        ...

    def allocate(self, fields: Sequence[tuple[tuple[int, ...], Any]]) -> list[Any]:
        """Return arrays for the fields of the next item: filled and staged, they need no other copy."""
        ...

    def stage(self, tensors: Tensors) -> Any:
        """Start the copy of an item (by the thread that reads)."""
        ...

    def take(self, slot: Any) -> Tensors:
        """Return it on the device (by the thread that runs programs)."""
        ...

    def release(self) -> None:
        """Give back the item that the device took last which takes the next one."""
        ...

    def reset(self) -> None:
        """Forget all items."""
        ...


class DoubleBuffer(Reader):
    """Reads ahead in a thread.

    Over a reader that reads ahead itself there is nothing to gain on the CPU: items of a queue are only passed on, and
    batches are cut out of the chunks that `open_files` decodes ahead by whoever wants them, unless that is much work
    (joining many small chunks, say).
    """

    def __init__(self, name: str, underlying: Reader, spec: Spec = (), stage: CopyStage | None = None) -> None:
        super().__init__(name, spec, underlying)
        self._stage = stage
        self.passes_on = underlying.asynchronous and stage is None
        self._buffer = PartBuffer()
        self._channel: Channel[Hand] | None = None
        self._thread: threading.Thread | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None
        self.waits = [0.0, 0.0]
        self._directly = stage is None and _decodes_ahead(underlying)
        self._reads = 0
        self._work = 0.0  # seconds for the reads measured of late, where items are read directly
        if self.passes_on:
            self.read_next = underlying.read_next  # type: ignore[method-assign]
            self.read_part = underlying.read_part  # type: ignore[method-assign]

    def _next(self) -> Tensors | None:
        if self._stage is not None:
            item: Tensors | None = self._take()
            return item
        if self._directly:
            assert self.underlying is not None
            return self._measured(self.underlying.read_next)
        part = self._buffer.take(1, self._refill)
        return None if part is None else gather([part], self._buffers).tensors()

    def _part(self, most: int) -> Part | None:
        if self._stage is not None:
            item = self._next()
            return None if item is None else part_of_item(on_host(item))
        if self._directly:
            assert self.underlying is not None
            return self._measured(partial(self.underlying.read_part, most))
        return self._buffer.take(most, self._refill)

    def _measured(self, read: Callable[[], T]) -> T:
        """Read here and now; the thread takes over when that proves to be much work (waiting is none)."""
        self._reads += 1
        if self._reads % _SAMPLE != 1:
            return read()
        began = time.thread_time()
        item = read()
        self._work += time.thread_time() - began
        self._directly = self._work < _WORTH_IT * _SAMPLES
        if self._reads >= _SAMPLE * _SAMPLES:
            self._reads, self._work = 0, 0.0
        return item

    def _refill(self) -> Part | None:
        part: Part | None = self._take()
        return part

    def _take(self) -> Any:
        channel = self._channel
        if channel is None:
            channel = self._launch()
        if self._stage is not None:
            self._stage.release()
        began = time.perf_counter()
        taken = channel.take()
        ended = time.perf_counter()
        self.waits[1] += ended - began
        if OBSERVERS.all:
            OBSERVERS.waited(self.name, "consumer", len(channel), began, ended)
        if not taken:
            self._join()
            return None
        item, error = taken[0]
        if error is not None:
            raise error
        return item if self._stage is None else self._stage.take(item)

    def _launch(self) -> Channel[Hand]:
        """Start the thread with the first read, so that an unused reader costs none."""
        assert self.underlying is not None
        # On a device one item less waits: the memory of one that was given out is used again later.
        ahead = _AHEAD if self._stage is None else _AHEAD * self._stage.width - 1
        channel: Channel[Hand] = Channel(self.name, ahead)
        self._channel = channel
        self._thread = threading.Thread(
            target=_prefetch,
            args=(self._reading(), channel, self.waits),
            name=f"fluidio-{self.name}",
            daemon=True,
        )
        channel.threads = [self._thread]
        self._finalizer = weakref.finalize(self, channel.close)
        self._finalizer.atexit = False
        self._thread.start()
        return channel

    def _reading(self) -> Callable[[], Any]:
        """Return what the thread calls for each item; it must not hold this reader, which stops when it is let go."""
        below, stage = self.underlying, self._stage
        assert below is not None
        if stage is None:
            return partial(below.read_part, _RECORDS)
        if isinstance(below, Batch):
            return partial(stage_next, partial(below.read_into, stage.allocate), stage)
        return partial(stage_next, below.read_next, stage)

    def _stop_soon(self) -> None:
        if self._channel is not None:
            self._channel.close()

    def _stop(self) -> None:
        self._join()
        self._channel = None
        self._buffer.clear()
        if self._stage is not None:
            self._stage.reset()

    def _join(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None

    def skip(self, count: int) -> int:
        assert self.underlying is not None
        self.delivered = self.underlying.skip(count)  # before the thread begins
        return self.delivered

    def start(self, epoch: int | None = None) -> None:
        if not self.passes_on:
            super().start(epoch)

    def shutdown(self) -> None:
        if not self.passes_on:
            super().shutdown()
        elif self.underlying is not None:
            self.underlying.shutdown()

    def stats(self) -> dict[str, Any]:
        below = self.underlying.stats() if self.underlying is not None else {}
        if self.passes_on:
            return below
        if self._directly:
            return super().stats()
        size = len(self._channel) if self._channel is not None else 0
        return {
            **super().stats(),
            "producer_wait": self.waits[0],
            "consumer_wait": self.waits[1],
            "queue_size": size,
            "capacity": _AHEAD,
        }

    def progress(self) -> tuple[int, int]:
        assert self.underlying is not None
        return self.underlying.progress() if self.passes_on else super().progress()

    def state_dict(self) -> dict[str, Any]:
        assert self.underlying is not None
        return self.underlying.state_dict() if self.passes_on else super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        assert self.underlying is not None
        if self.passes_on:
            self.underlying.load_state_dict(state)
        else:
            super().load_state_dict(state)


def _decodes_ahead(reader: Reader | None) -> bool:
    """Tell whether the threads of `open_files` do all the work below but cutting out batches."""
    while reader is not None and reader.light:
        reader = reader.underlying
    return isinstance(reader, OpenFiles)


def on_host(item: Tensors) -> Tensors:
    """Return an item for a reader that stands on this one: those work on the host."""
    return [(array if isinstance(array, np.ndarray) else array.get(), lod) for array, lod in item]


def stage_next(read: Callable[[], Tensors | None], stage: CopyStage) -> Any:
    """Read an item and start its copy; None at the end."""
    tensors = read()
    return None if tensors is None else stage.stage(on_host(tensors))


def _prefetch(read: Callable[[], Any], channel: Channel[Hand], waits: list[float]) -> None:
    """Read until the end, an error, or until nobody wants more."""
    try:
        while (item := read()) is not None:
            began = time.perf_counter()
            if not channel.put((item, None)):
                break
            ended = time.perf_counter()
            waits[0] += ended - began
            if OBSERVERS.all:
                OBSERVERS.waited(channel.name, "producer", len(channel), began, ended)
    except Exception as error:
        channel.put((None, error))
    finally:
        channel.done()
