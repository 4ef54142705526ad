"""DataLoader: batches for programs, from a generator (`from_generator`) or from a map-style dataset."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.flow.feed_queue import FeedQueue, Tensors
from fluidio.io.collate import default_collate_fn
from fluidio.io.dataset_loader import DatasetLoader
from fluidio.io.dataset_types import Dataset
from fluidio.io.generator_loader import GeneratorLoader
from fluidio.io.loader_iterator import LoaderIterator, RingCache, as_places, feeds_of
from fluidio.io.samplers import BatchSampler
from fluidio.io.slot_dataset import InMemoryDataset, QueueDataset
from fluidio.io.workers import iterate_batches
from fluidio.layers._io.feed_source import from_batches
from fluidio.places import CPUPlace, PlaceLike
from fluidio.program import Variable

__all__ = ["DataLoader"]

_AHEAD = 2  # batches waiting after the workers


class DataLoader:
    """Iterates over a map-style dataset in batches, made in this process or in worker processes.

    Args:
        dataset: has `__getitem__` and `__len__`.
        feed_list: the variables to feed; needed unless `return_list` is set.
        places: each step yields one batch per place.
        return_list: yield lists of tensors instead of feed dicts.
        batch_sampler: yields lists of indices; else `batch_size`, `shuffle` and `drop_last` make one.
        collate_fn: converts a list of samples to arrays.
        num_workers: worker processes, 0 for none.
        use_buffer_reader: read ahead in a thread (always done).
        use_shared_memory, timeout, worker_init_fn: see `fluidio.io.workers`.
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Sequence[Variable] | None = None,
        places: Sequence[PlaceLike] | PlaceLike | None = None,
        return_list: bool = False,
        batch_sampler: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        use_shared_memory: bool = True,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
    ) -> None:
        assert isinstance(return_list, bool), f"DataLoader: return_list must be True or False, got {return_list!r}"
        assert isinstance(dataset, Dataset), (
            f"DataLoader: dataset must be a paddle.io.Dataset, got {type(dataset).__name__}"
        )
        if feed_list is None and not return_list:
            raise AssertionError("DataLoader: pass feed_list, or return_list=True to get lists")
        assert num_workers >= 0, f"DataLoader: num_workers must not be negative, got {num_workers}"
        assert timeout >= 0, f"DataLoader: timeout must not be negative, got {timeout}"
        if batch_sampler is not None:
            assert isinstance(batch_sampler, BatchSampler), (
                f"DataLoader: batch_sampler must be a paddle.io.BatchSampler, got {type(batch_sampler).__name__}"
            )
            assert batch_size == 1 and not shuffle and not drop_last, (
                "DataLoader: batch_size, shuffle and drop_last are settings of the batch_sampler: leave them out here"
            )
        self.dataset = dataset
        self.feed_list = None if feed_list is None else list(feed_list)
        if places is None and era().checks_layer_arguments:
            raise AssertionError("DataLoader: places must be given, for example fluid.CPUPlace()")
        self.places = as_places(CPUPlace() if places is None else places)
        self.return_list = return_list
        self.batch_sampler = batch_sampler or BatchSampler(
            dataset=dataset, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last
        )
        self.drop_last = drop_last
        self.collate_fn = collate_fn or default_collate_fn
        self.num_workers = num_workers
        self.use_buffer_reader = use_buffer_reader
        self.use_shared_memory = use_shared_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self._live: weakref.ref[LoaderIterator] | None = None
        self._ring_cache = RingCache()

    def __len__(self) -> int:
        return -(-len(self.batch_sampler) // len(self.places))

    def __call__(self) -> Iterator[Any]:
        return iter(self)

    def __iter__(self) -> Iterator[Any]:
        previous = self._live() if self._live is not None else None
        if previous is not None:
            previous.close()
        names = [] if self.feed_list is None else [v.name for v in self.feed_list]

        def make(items: list[Tensors]) -> Any:
            # Fluid: with worker processes and one place, the list of tensors is not wrapped in a list of places.
            return feeds_of(items, names, self.return_list, self.num_workers > 0 and len(self.places) == 1)

        queue = FeedQueue("DataLoader", max(_AHEAD, len(self.places)))
        iterator = LoaderIterator(queue, self.places, make, False, names, self._ring_cache)
        self._live = weakref.ref(iterator)
        queue.start(from_batches(self._batches, names))
        return iterator

    def _batches(self) -> Iterator[Any]:
        for batch in iterate_batches(
            self.dataset,
            self.batch_sampler,
            self.collate_fn,
            self.num_workers,
            use_shared_memory=self.use_shared_memory,
            timeout=self.timeout,
            worker_init_fn=self.worker_init_fn,
        ):
            yield [batch] if isinstance(batch, np.ndarray) else batch

    @staticmethod
    def from_generator(
        feed_list: Sequence[Variable] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> GeneratorLoader:
        """Return a loader that a generator feeds.

        Args:
            feed_list: the variables to feed.
            capacity: maximum number of waiting batches.
            use_double_buffer: copy batches to the device in a thread.
            iterable: True yields feeds and does not change the program; False adds reader ops to it.
            return_list: yield lists instead of dicts.
            use_multiprocess: accepted; it has no effect in static programs, as in Fluid.
            drop_last: drop a last step without a batch for every place.

        Example:
            >>> import fluidio as fluid, numpy as np
            >>> x = fluid.data("x", [None, 2])
            >>> loader = fluid.io.DataLoader.from_generator(feed_list=[x], capacity=2)
            >>> _ = loader.set_batch_generator(lambda: ([np.ones((4, 2), "float32")] for _ in range(3)),
            ...                                places=fluid.CPUPlace())
            >>> [step[0]["x"].shape() for step in loader()]
            [[4, 2], [4, 2], [4, 2]]
        """
        if use_multiprocess:
            warnings.warn("DataLoader.from_generator: use_multiprocess has no effect in static programs", stacklevel=2)
        return GeneratorLoader(feed_list, capacity, use_double_buffer, iterable, return_list, drop_last)

    @staticmethod
    def from_dataset(
        dataset: QueueDataset | InMemoryDataset, places: Sequence[PlaceLike] | PlaceLike, drop_last: bool = True
    ) -> DatasetLoader:
        """Return an iterable loader over the files of a `fluid.DatasetFactory` dataset.

        Args:
            dataset: an InMemoryDataset (loaded) or a QueueDataset, with its files, variables and batch size.
            places: one place or a list of them; each reads its own files, so there must be at least as many files.
            drop_last: drop short batches, and a last step without a batch for every place.
        """
        return DatasetLoader(dataset, places, drop_last)
