"""The methods that reader variables carry: reset, start, decorate_*, stats, state_dict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.flow.feed_queue import FeedQueue
from fluidio.flow.lifecycle import State
from fluidio.flow.runtime_reader import ReaderState, RuntimeReader
from fluidio.layers._io.feed_source import BatchSource, from_batches, from_sample_lists
from fluidio.program import Variable
from fluidio.tensor import ScopeVariable, global_scope

__all__ = ["FeedHandle", "attach_feed_handle", "attach_file_handle", "find_reader"]


def find_reader(variable: Variable) -> RuntimeReader:
    """Return the run-time reader of a variable in the global scope, or else the nearest existing one below it."""
    block, name = variable.block, variable.name
    while True:
        held: ScopeVariable | None = global_scope().find_var(name)
        if held is not None and isinstance(held.value, RuntimeReader):
            return held.value
        op = block.vars[name].op if name in block.vars else None
        below = op.input("UnderlyingReader") if op is not None else []
        if not below:
            raise EnforceNotMet(
                f"the global scope has no reader {variable.name}: run the startup program first, in the same "
                "scope (fluid.scope_guard)"
            )
        name = below[0]


class _FileHandle:
    """The methods of file readers' variables."""

    def __init__(self, variable: Variable) -> None:
        self._variable = variable

    def reset(self) -> None:
        """Begin a new epoch of this reader and of the whole chain it belongs to."""
        find_reader(self._variable).reset()

    def stats(self) -> ReaderState:
        """Return counts of items, bytes, waits and drops."""
        return self._top().stats()

    def state_dict(self) -> ReaderState:
        """Return the position, from which another process can resume."""
        return self._top().state_dict()

    def load_state_dict(self, state: ReaderState) -> None:
        """Resume where `state_dict()` was taken; call it after the startup program has run."""
        reader = find_reader(self._variable)
        if reader.name == self._variable.name and reader.is_top():
            reader.load_state_dict(state)
        else:
            self._top().pending = state  # the first run creates the readers above and moves them there

    def _top(self) -> RuntimeReader:
        ends = find_reader(self._variable).end_points()
        if len(ends) > 1:
            raise EnforceNotMet(
                f"{self._variable.name} feeds several readers: use the handle of one of them "
                f"({', '.join(end.name for end in ends)})"
            )
        return ends[0]


def attach_file_handle(variable: Variable) -> Variable:
    """Give a reader variable its methods."""
    handle = _FileHandle(variable)
    for name in ("reset", "stats", "state_dict", "load_state_dict"):
        setattr(variable, name, getattr(handle, name))
    return variable


class FeedHandle:
    """Drives a FeedQueue: remembers the source, starts the thread, resets the readers above."""

    def __init__(self, queue: FeedQueue, variables: Sequence[Variable]) -> None:
        self.queue = queue
        self.variables = list(variables)
        self._source: BatchSource | None = None

    @property
    def source(self) -> BatchSource | None:
        """What the thread started by start() reads."""
        return self._source

    @source.setter
    def source(self, source: BatchSource) -> None:
        self._source = source
        self.queue.has_source = True

    def set_batches(self, reader: Callable[[], Any], places: Any = None) -> None:
        """Take batches: one array or LoDTensor for each slot."""
        self.source = from_batches(reader, [v.name for v in self.variables])

    def set_sample_lists(self, reader: Callable[[], Any], places: Any = None) -> None:
        """Take lists of samples."""
        self.source = from_sample_lists(reader, self.variables)

    def start(self) -> None:
        """Start the thread that feeds the queue."""
        if self.source is None:
            raise EnforceNotMet(
                f"reader {self.queue.name} has no data source: before start(), call decorate_paddle_reader or "
                "decorate_tensor_provider (py_reader), or set_sample_generator, set_sample_list_generator or "
                "set_batch_generator (DataLoader)"
            )
        if self.queue.state in (State.ENDED, State.FAILED):
            self.reset()  # the readers above are at the end as well
        self.queue.start(self.source)

    def reset(self) -> None:
        """Stop the thread, drop queued batches, and get ready for start()."""
        readers = list(self.queue.readers)
        for reader in readers:
            reader.reset()
        if not readers:
            self.queue.reset()

    def stats(self) -> ReaderState:
        """Return counts of items, bytes, waits and drops."""
        return self.queue.stats()

    def state_dict(self) -> ReaderState:
        """Return how many batches of the epoch have been read."""
        return {
            "version": 1,
            "reader": self.queue.name,
            "epoch": self.queue.epoch,
            "items": self.queue.delivered,
            "chain": [["queue"]],
        }

    def load_state_dict(self, state: ReaderState) -> None:
        """At the next start(), skip the batches already read; a warning says how many."""
        self.reset()
        self.queue.resume(state)


def attach_feed_handle(variable: Variable, handle: FeedHandle) -> Variable:
    """Give the variable of a py_reader its methods."""
    reader: Any = variable
    reader.queue = handle.queue
    reader.exited = False
    reader.thread = None
    reader.tensor_provider = None
    for name in ("reset", "stats", "state_dict", "load_state_dict"):
        setattr(variable, name, getattr(handle, name))

    def start() -> None:
        """Start the thread that feeds the queue."""
        handle.start()
        reader.thread = handle.queue.thread

    reader.start = start
    reader.decorate_tensor_provider = reader.decorate_batch_generator = handle.set_batches
    reader.decorate_paddle_reader = reader.decorate_sample_list_generator = handle.set_sample_lists
    return variable
