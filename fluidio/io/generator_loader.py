"""GeneratorLoader: returned by `DataLoader.from_generator` and `PyReader`; a generator feeds programs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.flow.feed_queue import FeedQueue
from fluidio.flow.runtime_reader import ReaderState
from fluidio.io.loader_iterator import LoaderIterator, RingCache, as_places, feeds_of
from fluidio.layers._io.feed_source import BatchSource, from_batches, from_sample_lists, from_samples
from fluidio.layers._io.queue_reader import append_double_buffer, append_py_reader, make_queue
from fluidio.layers._io.reader_handle import FeedHandle
from fluidio.places import PlaceLike
from fluidio.program import Variable, default_main_program
from fluidio.program.unique_name import UniqueNameGenerator
from fluidio.tensor import global_scope

__all__ = ["DataLoaderBase", "GeneratorLoader"]

_names = UniqueNameGenerator()  # separate, so that unique_name.guard() does not make loaders clash


class DataLoaderBase:
    """Base class of loaders: calling one returns the iterable."""

    def __call__(self) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")

    def __next__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __next__")


class GeneratorLoader(DataLoaderBase):
    """A loader fed by a generator.

    Iterable: `for data in loader(): exe.run(feed=data, ...)`; the program is not involved. Not iterable: the
    program gets reader ops; `start()`, `exe.run` until `fluid.core.EOFException`, `reset()`.
    """

    _kind = "DataLoader"

    @classmethod
    def _check_input_array(cls, item: object) -> Any:
        """Return an item as an array; raise TypeError if its parts differ in length."""
        try:
            array = np.asarray(item)
        except ValueError:
            array = np.empty(0, object)
        if array.dtype == object:
            raise TypeError(
                "the values do not form one array: usually they are nested lists of different lengths. Pad "
                "them, or yield a LoDTensor (fluid.create_lod_tensor)"
            )
        return array

    _place0_only = False

    def __init__(
        self,
        feed_list: Sequence[Variable] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        drop_last: bool = True,
    ) -> None:
        if not capacity:
            raise ValueError("capacity must be given: the number of batches that may wait in the queue")
        if feed_list is None:
            raise Exception("feed_list must be given: the Variables to feed")  # Fluid: a plain Exception
        self._feed_list = [feed_list] if isinstance(feed_list, Variable) else list(feed_list)
        self._feed_names = [v.name for v in self._feed_list]
        self._capacity = int(capacity)
        self._use_double_buffer = use_double_buffer
        self._iterable = bool(iterable)
        self._return_list = return_list
        self._drop_last = drop_last
        self._places: list[Any] | None = None
        self._source: BatchSource | None = None
        self._live: weakref.ref[LoaderIterator] | None = None
        self._ring_cache = RingCache()
        self._own: Iterator[Any] | None = None
        self._dropped = 0
        self._skip = 0
        self._warned: set[str] = set()
        self._handle: FeedHandle | None = None
        if not self._iterable:
            self._handle = self._insert_reader()

    def _insert_reader(self) -> FeedHandle:
        block = default_main_program().current_block()
        queue_name, reader_name = self._free("lod_tensor_blocking_queue"), self._free("create_py_reader")
        queue = make_queue(queue_name, reader_name, self._capacity, block.program)
        slots = [(v.shape, v.dtype, v.lod_level) for v in self._feed_list]
        checked = [v.need_check_feed for v in self._feed_list]
        reader = append_py_reader(block, queue_name, reader_name, queue, slots, checked)
        if self._use_double_buffer:
            reader = append_double_buffer(block, reader, self._free("double_buffer"))
        block.append_op(
            type="read",
            inputs={"Reader": [reader]},
            outputs={"Out": self._feed_list},
            attrs={"drop_last": self._drop_last},
        )
        return FeedHandle(queue, self._feed_list)

    @staticmethod
    def _free(stem: str) -> str:
        while True:
            name = _names(stem)
            held = global_scope().find_var(name)
            if held is None or held.value is None:
                return name

    # -- sources ------------------------------------------------------------------------------------------------

    def set_sample_generator(
        self,
        reader: Callable[[], Any],
        batch_size: int,
        drop_last: bool = True,
        places: Sequence[PlaceLike] | PlaceLike | None = None,
    ) -> GeneratorLoader:
        """Take single samples and join them into batches; a short last batch is dropped by default."""
        assert batch_size > 0, f"batch_size must be above 0, got {batch_size}"
        return self._set(from_samples(reader, self._feed_list, batch_size, drop_last, self._note_dropped), places)

    def set_sample_list_generator(
        self, reader: Callable[[], Any], places: Sequence[PlaceLike] | PlaceLike | None = None
    ) -> GeneratorLoader:
        """Take lists of samples, as `paddle.batch` yields them."""
        return self._set(from_sample_lists(reader, self._feed_list), places)

    def set_batch_generator(
        self, reader: Callable[[], Any], places: Sequence[PlaceLike] | PlaceLike | None = None
    ) -> GeneratorLoader:
        """Take whole batches: one array or LoDTensor for each variable of the feed list."""
        return self._set(from_batches(reader, self._feed_names), places)

    def _set(self, source: BatchSource, places: Sequence[PlaceLike] | PlaceLike | None) -> GeneratorLoader:
        if self._handle is not None:
            self._handle.source = source
        else:
            assert places is not None, (
                f"{self._kind} is iterable, so it needs places: pass fluid.CPUPlace() or fluid.cpu_places()"
            )
            self._places = as_places(places)
        self._source = source
        return self

    def _note_dropped(self, count: int) -> None:
        if self._queue is not None:
            self._queue.note_drop(count, "samples", "too few for a batch; drop_last=False delivers them")

    @property
    def _queue(self) -> FeedQueue | None:
        if self._handle is not None:
            return self._handle.queue
        iterator = self._live() if self._live is not None else None
        return iterator._queue if iterator is not None else None

    # -- not iterable -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start feeding; call it before the first exe.run of every epoch."""
        assert self._handle is not None, (
            f"{self._kind} is iterable: write `for data in loader:` instead of calling start()"
        )
        self._handle.start()

    def reset(self) -> None:
        """Stop feeding and get ready for start(); legal at any time."""
        assert self._handle is not None, (
            f"{self._kind} is iterable: write `for data in loader:` instead of calling reset()"
        )
        self._handle.reset()

    def _reset(self) -> None:
        """Stop a running iteration; programs call this although it is private in Fluid."""
        if self._handle is not None:
            self._handle.reset()
        iterator = self._live() if self._live is not None else None
        if iterator is not None:
            iterator.close()
        self._own = None

    @property
    def queue(self) -> FeedQueue:
        """Return the queue between generator and program."""
        queue = self._queue
        if queue is None:
            raise EnforceNotMet(f"this {self._kind} is not being iterated, so it has no queue")
        return queue

    @property
    def iterable(self) -> bool:
        return self._iterable

    def stats(self) -> ReaderState:
        """Return counts of items, bytes, waits and drops."""
        return self.queue.stats()

    def state_dict(self) -> ReaderState:
        """Return how many batches of the epoch were read."""
        return FeedHandle(self.queue, self._feed_list).state_dict()

    def load_state_dict(self, state: ReaderState) -> None:
        """Skip the batches that were already read, in the next epoch; a warning says how many."""
        if self._handle is not None:
            self._handle.load_state_dict(state)
        else:
            probe = FeedQueue(self._kind, self._capacity)
            probe.resume(state)
            self._skip = probe.skip

    # -- iterable -----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        assert self._iterable, (
            f"{self._kind} is not iterable: pass iterable=True, or call start() and exe.run without feed"
        )
        assert self._source is not None, (
            f"{self._kind} has no data source: call set_sample_generator, set_sample_list_generator or "
            "set_batch_generator first"
        )
        assert self._places is not None
        previous = self._live() if self._live is not None else None
        if previous is not None:
            previous.close()
        queue = FeedQueue(self._kind, max(self._capacity, len(self._places)))
        queue.skip, self._skip = self._skip, 0
        queue.warned = self._warned  # once, not in every epoch
        make = partial(feeds_of, names=self._feed_names, return_list=self._return_list, place0_only=self._place0_only)
        iterator = LoaderIterator(queue, self._places, make, self._drop_last, self._feed_names, self._ring_cache)
        self._live = weakref.ref(iterator)
        queue.start(self._source)
        return iterator

    def __next__(self) -> Any:
        if self._own is None:
            self._own = iter(self)
        try:
            return next(self._own)
        except StopIteration:
            self._own = None
            raise
