"""Turn what users' generators yield into batches of tensors, in the feeding thread."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import GeneratorType
from typing import Any

import numpy as np

from fluidio.flow.feed_queue import Tensors
from fluidio.program import DataFeeder, Variable
from fluidio.tensor import LoDTensor
from fluidio.tensor.lod import NO_LOD

__all__ = ["BatchSource", "from_batches", "from_sample_lists", "from_samples"]

BatchSource = Callable[[], Iterator[Tensors]]
Generator = Callable[[], Iterable[Any]]

_PLAIN = frozenset("?bBilqfdhe")  # dtypes that are kept unchanged


def from_batches(reader: Generator, names: Sequence[str]) -> BatchSource:
    """Return the source of a reader that yields one array or LoDTensor for each variable."""
    expected = len(names)

    def source() -> Iterator[Tensors]:
        with _items(reader) as items:
            for item in items:
                if isinstance(item, (np.ndarray, str, bytes, dict)) or not hasattr(item, "__len__"):
                    raise TypeError(
                        f"the batch generator yielded {type(item).__name__}; it must yield a list or tuple with one "
                        f"array or LoDTensor for each of the {expected} variables {list(names)}"
                    )
                yield [_tensor(value, index, names) for index, value in enumerate(item)]

    return source


def _tensor(value: object, index: int, names: Sequence[str]) -> tuple[Any, Any]:
    if type(value) is np.ndarray and value.dtype.char in _PLAIN:
        return value.copy(), NO_LOD  # the generator may reuse its buffer
    if isinstance(value, LoDTensor):
        return value.held_array(), value.levels
    array = np.asarray(value)
    if array.dtype == object:
        name = names[index] if index < len(names) else f"slot {index}"
        raise TypeError(
            f"the values for {name!r} have different lengths, so they do not form one array; yield a "
            "LoDTensor (fluid.create_lod_tensor), or declare the variable with lod_level=1 and yield lists "
            "of samples"
        )
    tensor = LoDTensor()
    tensor.set(array)
    return tensor.array, NO_LOD


def from_sample_lists(reader: Generator, variables: Sequence[Variable]) -> BatchSource:
    """Return the source of a reader that yields lists of samples."""
    feeder = DataFeeder(variables)

    def source() -> Iterator[Tensors]:
        with _items(reader) as items:
            for samples in items:
                yield _feed(feeder, samples)

    return source


def from_samples(
    reader: Generator, variables: Sequence[Variable], batch_size: int, drop_last: bool, dropped: Callable[[int], None]
) -> BatchSource:
    """Return the source of a reader that yields single samples; `dropped` is called for a short last batch."""
    feeder = DataFeeder(variables)

    def source() -> Iterator[Tensors]:
        samples: list[Any] = []
        with _items(reader) as items:
            for sample in items:
                samples.append(sample if isinstance(sample, (list, tuple)) else (sample,))
                if len(samples) == batch_size:
                    yield _feed(feeder, samples)
                    samples = []
        if samples and drop_last:
            dropped(len(samples))
        elif samples:
            yield _feed(feeder, samples)

    return source


def _feed(feeder: DataFeeder, samples: Any) -> Tensors:
    fed = feeder.feed(samples)
    return [(fed[name].array, fed[name].levels) for name in feeder.feed_names]


@contextlib.contextmanager
def _items(reader: Generator) -> Iterator[Iterable[Any]]:
    """Yield what a reader returns; close a generator in this thread, so that an error in its `finally` surfaces."""
    items = reader() if callable(reader) else reader
    if not hasattr(items, "__iter__") and not hasattr(items, "__next__"):
        raise TypeError(
            f"the reader returned {type(items).__name__}, which cannot be iterated: write it as a generator, with yield"
        )
    try:
        yield items
    finally:
        if isinstance(items, GeneratorType):
            items.close()
