"""Reader: the run-time value of a reader variable; readers form a chain, each built on the one below.

A reader delivers items. `read_next` returns one item as tensors; `read_part` returns many at once as a Part, so that
records need not be passed one by one and are copied only once, into their batch. Subclasses implement `_part` (records)
or `_next` (batches); the other is derived.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.flow.feed_queue import Tensors
from fluidio.flow.lifecycle import Event, State, step
from fluidio.flow.runtime_reader import ReaderState
from fluidio.recordio import Column, RecordBlock
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.spans import Part, gather, part_of

__all__ = ["Decorator", "Reader", "Source", "Spec", "Tensors", "part_of_item"]

Spec = tuple[Any, ...]
"""The op type and attributes a reader was made from; equal specs make equal readers."""


class Reader:
    """One reader of a chain: a Source, or a Decorator on another reader.

    Attributes:
        name: the variable's name.
        spec: the op type and attributes it was made from.
        underlying: the reader below, None for a source.
        decorators: the readers directly above this one.
        epoch: number of earlier epochs; the order depends on it and on the seed.
        delivered: items delivered in this epoch.
    """

    prefetches = False
    """Whether the reader already reads ahead in its own thread."""
    is_cheap = False
    """Whether the reader adds hardly any work to that of the reader below."""
    underlying: Reader | None = None

    def __init__(self, name: str, spec: Spec = ()) -> None:
        self.name = name
        self.spec = spec
        self.decorators: weakref.WeakSet[Reader] = weakref.WeakSet()
        self.state = State.RUNNING
        self.epoch = 0
        self.delivered = 0
        self.items = 0
        self.bytes = 0
        self.dropped = 0
        self.pending_warning = ""  # issued at the end of the epoch, not in a thread
        self.sits_out = False  # other trainers have one more step in this epoch; this one has no data for it
        self.pending: ReaderState | None = None
        self._chain: tuple[str, ...] | None = None
        self._error: Exception | None = None
        self._buffers = Pool()
        self._lock = threading.RLock()

    # -- reading ------------------------------------------------------------------------------------------------

    def read_next(self) -> Tensors | None:
        """Return the tensors of the next item, None at the end of the epoch."""
        with self._lock:
            if not self._ready():
                return None
            try:
                item = self._next()
            except BaseException as error:
                self._fail(error)
                raise
            if item is None:
                self.state = step(self.state, Event.END, self.name)
                return None
            self.delivered += 1
            self.items += 1
            for array, _ in item:
                self.bytes += array.nbytes
            return item

    def read_part(self, most: int) -> Part | None:
        """Return up to `most` next items of one layout as one part; None at the end of the epoch."""
        with self._lock:
            if not self._ready():
                return None
            try:
                part = self._part(most)
            except BaseException as error:
                self._fail(error)
                raise
            if part is None:
                self.state = step(self.state, Event.END, self.name)
                return None
            self.delivered += len(part)
            self.items += len(part)
            self.bytes += part.nbytes
            return part

    def read_parts(self, count: int) -> list[Part]:
        """Return parts with `count` items in total, fewer at the end of the epoch."""
        parts: list[Part] = []
        while count > 0 and (part := self.read_part(count)) is not None:
            parts.append(part)
            count -= len(part)
        return parts

    def ready(self) -> int:
        """Return how many records are known to be readable without waiting."""
        return 0

    def _ready(self) -> bool:
        if self.pending is not None:
            state, self.pending = self.pending, None
            self.load_state_dict(state)
        if self.state is State.RUNNING:
            return True
        self.state = step(self.state, Event.READ, self.name)
        if self._error is not None:
            raise self._error
        return False

    def _fail(self, error: BaseException) -> None:
        self.state = step(self.state, Event.FAIL, self.name)
        if not isinstance(error, Exception):  # Ctrl-C, for example: items read so far are lost
            error = EnforceNotMet(
                f"reader {self.name} was interrupted by {type(error).__name__} in the middle of an item: reset() it"
            )
        self._error = error

    def _next(self) -> Tensors | None:
        part = self._part(1)
        return None if part is None else gather([part], self._buffers).tensors()

    def _part(self, most: int) -> Part | None:
        item = self._next()
        return None if item is None else part_of_item(item)

    # -- life cycle ---------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Begin a new epoch in this reader, all readers below it and all readers above those.

        Fluid: until 0.14 only this reader and those below; from 0.15 also all readers above.
        """
        ends = self.end_points()
        epoch = max(end.epoch + (end.delivered > 0 or end.state is not State.RUNNING) for end in ends)
        for end in ends:
            end.shutdown()
        for end in ends:
            end.start(epoch)

    def shutdown(self) -> None:
        """Stop reading here and below; threads are joined."""
        self._stop_soon()
        if self.underlying is not None:
            self.underlying.shutdown()
        with self._lock:
            self._stop()
            if self.state is not State.IDLE:
                self.state = step(self.state, Event.RESET, self.name)
            self._error = None

    def start(self, epoch: int | None = None) -> None:
        """Begin an epoch (the next one by default); does nothing while one is under way."""
        with self._lock:
            if self.state is State.RUNNING:
                return
            if self.state is not State.IDLE:
                self.shutdown()
            number = self.epoch + 1 if epoch is None else epoch
            if self.underlying is not None:
                self.underlying.start(self._epoch_below(number))
            self.epoch = number
            self.delivered = 0
            self.state = step(self.state, Event.START, self.name)
            self._begin()

    def _epoch_below(self, epoch: int) -> int:
        return epoch

    def _begin(self) -> None:
        """Prepare to read the first item of the epoch."""

    def _stop_soon(self) -> None:
        """Signal this reader's thread that no more items are needed."""

    def _stop(self) -> None:
        """Discard items read ahead."""

    def source(self) -> Source:
        """Return the reader at the bottom of the chain."""
        raise NotImplementedError

    def chain(self) -> tuple[str, ...]:
        """Return the names of the readers from the source up to this one."""
        if self._chain is None:
            self._chain = (self.name,) if self.underlying is None else (*self.underlying.chain(), self.name)
        return self._chain

    def is_top(self) -> bool:
        """Return whether no reader is built on this one."""
        return not self.decorators

    def end_points(self) -> list[Reader]:
        """Return the readers at the top of every chain on the same source."""
        found: list[Reader] = []
        waiting: list[Reader] = [self.source()]
        while waiting:
            reader = waiting.pop(0)
            above = sorted(reader.decorators, key=lambda r: r.name)
            if above:
                waiting += [r for r in above if r not in waiting]
            elif reader not in found:
                found.append(reader)
        return found

    def progress(self) -> tuple[int, int]:
        """Return the epoch (from 0) and the number of items delivered in it."""
        return self.epoch, self.delivered

    # -- looking at it, and resuming ------------------------------------------------------------------------------

    def stats(self) -> ReaderState:
        """Return counts since the reader was made; waits in seconds where a thread reads ahead."""
        below = self.underlying.stats() if self.underlying is not None else {}
        return {
            **below,
            "items": self.items,
            "bytes": self.bytes,
            "dropped": self.dropped + int(below.get("dropped", 0)),
            "epoch": self.epoch,
        }

    def fingerprint(self) -> list[list[object]]:
        """Return what must match before a saved state may be loaded: the chain and its files."""
        below = self.underlying.fingerprint() if self.underlying is not None else []
        return [*below, list(map(_plain, self.spec))]

    def state_dict(self) -> ReaderState:
        """Return this reader's position: numbers only, never data."""
        records = self.records_at(self.delivered)
        return {
            "version": 1,
            "reader": self.name,
            "epoch": self.epoch,
            "items": self.delivered,
            "chain": self.fingerprint(),
            **({} if records is None else {"records": records}),
        }

    def records_at(self, items: int) -> int | None:
        """Return how many records all trainers together have read after these items; None without trainers."""
        return None if self.underlying is None else self.underlying.records_at(items)

    def skip_records(self, count: int) -> int:
        """Skip records of a fresh epoch, below the reader that divides them among trainers."""
        return self.skip(count) if self.underlying is None else self.underlying.skip_records(count)

    def load_state_dict(self, state: ReaderState) -> None:
        """Resume where `state_dict()` was taken; EnforceNotMet if it belongs to other files or another chain."""
        mine = self.fingerprint()
        if state.get("version") != 1 or "items" not in state or "epoch" not in state:
            raise EnforceNotMet(
                f"reader {self.name}: expected a state that a reader has saved, got a dict with the keys "
                f"{sorted(state)}"
            )
        saved = state.get("chain")
        if state["items"] == 0 and isinstance(saved, list) and saved:
            mine = mine[: len(saved)]  # saved before the first run, which creates the readers above
        if saved != mine:
            raise EnforceNotMet(
                f"reader {self.name}: the state belongs to another reader or to other files\n  saved: "
                f"{saved}\n  here:  {mine}"
            )
        wanted, source = int(state["items"]), self.source()
        self.shutdown()
        source.holding = True
        try:
            self.start(int(state["epoch"]))
            if "records" in state:
                self.skip_records(int(state["records"]))
                missing = 0  # the last step of an epoch may have had fewer
            else:
                missing = wanted - self.skip(wanted)
        finally:
            source.holding = False
        if missing:
            raise EnforceNotMet(f"reader {self.name}: the epoch ends {missing} items before the saved position")

    def skip(self, count: int) -> int:
        """Skip items of a fresh epoch without counting them in `stats()`; return how many were skipped."""
        items, volume, left = self.items, self.bytes, count
        while left > 0:
            part = self.read_part(left)
            if part is None:
                break
            left -= len(part)
        self.items, self.bytes = items, volume
        return count - left

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.state.value}, epoch {self.epoch}, {self.delivered} items)"


class Source(Reader):
    """A reader at the bottom of a chain.

    Attributes:
        origin: number of the program that created it.
        holding: begin an epoch without reading ahead, because skip() comes first.
    """

    def __init__(self, name: str, spec: Spec = ()) -> None:
        super().__init__(name, spec)
        self.origin = -1
        self.holding = False

    def source(self) -> Source:
        return self


class Decorator(Reader):
    """A reader that processes what the reader `below` delivers."""

    def __init__(self, name: str, below: Reader, spec: Spec = ()) -> None:
        super().__init__(name, spec)
        self.below = self.underlying = below
        self.epoch = below.epoch
        below.decorators.add(self)
        self.pending, below.pending = below.pending, None

    def source(self) -> Source:
        return self.below.source()


def part_of_item(item: Tensors) -> Part:
    """Return a batch as one record."""
    return part_of(RecordBlock([Column(array, None, lod, num_records=1) for array, lod in item], 1))


def _plain(value: object) -> Any:
    return list(map(_plain, value)) if isinstance(value, (list, tuple)) else value
