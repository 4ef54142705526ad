"""Iterate over a loader: one feed for each place and step."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

from fluidio.executor.devices import backend_for
from fluidio.executor.devices.rings import copy_stage
from fluidio.executor.readers import QueueBuffer, QueueReader
from fluidio.flow.feed_queue import FeedQueue, Tensors
from fluidio.flow.observer import OBSERVERS
from fluidio.places import CUDAPlace, PlaceLike, cuda_means_cpu, unwrap
from fluidio.tensor import LoDTensor

__all__ = ["LoaderIterator", "RingCache", "as_places", "feeds_of"]

_SLOTS = 4  # the loop variable keeps a batch while the next one is requested


def as_places(places: Sequence[PlaceLike] | PlaceLike) -> list[Any]:
    """Return one place, or a list of them, as a list."""
    return list(places) if isinstance(places, (list, tuple)) else [places]


def feeds_of(items: Sequence[Tensors], names: Sequence[str], return_list: bool, place0_only: bool) -> Any:
    """Return the value a loader yields in one step: a dict, or a list of tensors, for each place."""
    tensors = [[LoDTensor.wrap(array, lod) for array, lod in item] for item in items]
    if return_list:
        return tensors[0] if place0_only else tensors
    return [dict(zip(names, item)) for item in tensors]


class RingCache:
    """Keeps a loader's copy rings between epochs, so that their GPU memory is allocated only once."""

    def __init__(self) -> None:
        self._places: list[Any] = []
        self._stage: Any = None
        self._buffer: QueueBuffer | None = None  # the current or last user of the stage

    def buffer(self, queue: FeedQueue, places: Sequence[PlaceLike]) -> QueueBuffer | None:
        """Return the buffer that copies a queue's batches to these places ahead of time; None if one is not a GPU."""
        if self._buffer is not None:
            self._buffer.abandon()
            self._buffer.wait_for_stage()
            self._buffer = None
        if not all(map(_device, places)):
            return None
        if self._stage is None or self._places != list(places):
            self._stage, self._places = copy_stage([backend_for(place) for place in places], _SLOTS), list(places)
        self._buffer = QueueBuffer(queue.name, QueueReader(queue.name, queue), self._stage)
        return self._buffer


class LoaderIterator(Iterator[Any]):
    """One epoch of an iterable loader; reading ahead starts at once and stops when the iterator is released.

    Args:
        queue: a started queue.
        places: each step takes one batch per place, in this order.
        make: converts the batches of a step to the value for the user.
        drop_last: drop a last step without a batch for every place.
        expected: names of the variables that each batch feeds.
        ring_cache: the loader's.
    """

    def __init__(
        self,
        queue: FeedQueue,
        places: Sequence[PlaceLike],
        make: Callable[[list[Tensors]], Any],
        drop_last: bool,
        expected: Sequence[str],
        ring_cache: RingCache,
    ) -> None:
        self._queue = queue
        self._places = places
        self._make = make
        self._drop_last = drop_last
        self._expected = expected
        self._on_device = [_device(place) for place in places]
        self._read: Callable[[], Tensors | None] = queue.take
        self._buffer = ring_cache.buffer(queue, places)
        if self._buffer is not None:
            self._read = self._buffer.read_next
            weakref.finalize(self, self._buffer.abandon).atexit = False

    def __next__(self) -> Any:
        items: list[Tensors] = []
        began = perf_counter()
        for _ in self._places:
            item = self._read()
            if item is None:
                break
            items.append(item)
        ended = len(items) < len(self._places) and (self._drop_last or not items)
        if OBSERVERS.all:
            OBSERVERS.read((self._queue.name,), 0, ended, began, perf_counter())
        if ended:
            self._queue.drop(
                len(items), "batches", f"too few for {len(self._places)} places; drop_last=False keeps them"
            )
            self.close()
            raise StopIteration
        if self._expected and len(items[0]) != len(self._expected):
            raise ValueError(
                f"reader {self._queue.name} yields batches of {len(items[0])} arrays, but the feed list has "
                f"{len(self._expected)} variables: {', '.join(self._expected)}"
            )
        if self._buffer is None and any(self._on_device):
            items = [
                _upload(item, place) if device else item
                for item, place, device in zip(items, self._places, self._on_device)
            ]
        return self._make(items)

    def close(self) -> None:
        """Stop reading ahead."""
        if self._buffer is not None:
            self._buffer.shutdown()
        self._queue.reset()


def _device(place: PlaceLike) -> bool:
    return isinstance(unwrap(place), CUDAPlace) and not cuda_means_cpu()


def _upload(item: Tensors, place: PlaceLike) -> Tensors:
    dev = backend_for(place)
    return [(dev.upload(array), lod) for array, lod in item]
