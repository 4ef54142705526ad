"""The decorators of `paddle.reader` that need no threads.

A *reader* is a callable without arguments that returns an iterable of samples; calling it again starts again.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from fluidio.era import era
from fluidio.flow.threads import Reader

__all__ = ["ComposeNotAligned", "Fake", "cache", "chain", "compose", "firstn", "map_readers", "shuffle"]

T = TypeVar("T")


class ComposeNotAligned(ValueError):
    """The readers given to `compose` have different numbers of samples."""


def map_readers(func: Callable[..., T], *readers: Reader[Any]) -> Callable[[], Iterator[T]]:
    """Return a reader of `func(a, b, ...)` with one sample of each reader; the shortest one ends it."""

    def mapped() -> Iterator[T]:
        yield from map(func, *[reader() for reader in readers])

    return mapped


def shuffle(reader: Reader[T], buf_size: int) -> Callable[[], Iterator[T]]:
    """Return a reader that collects blocks of `buf_size` samples and yields each block in random order.

    The order comes from Python's own `random`, as in Fluid: `random.seed(7)` makes it reproducible.
    """

    def shuffled() -> Iterator[T]:
        source = iter(reader())
        while block := list(itertools.islice(source, max(1, buf_size))):
            _shuffle(block)
            yield from block

    return shuffled


def _shuffle(block: list[Any]) -> None:
    """Shuffle a list as the Python does that the program was written for: Python 2 drew other numbers."""
    if (os.environ.get("FLUIDIO_PYTHON") or os.environ.get("FLUIDIO_PROGRAM_PYTHON")) != "2":
        random.shuffle(block)
        return
    for i in range(len(block) - 1, 0, -1):
        j = int(random.random() * (i + 1))
        block[i], block[j] = block[j], block[i]


def chain(*readers: Reader[T]) -> Callable[[], Iterator[T]]:
    """Return a reader that yields all samples of the first reader, then those of the second, and so on."""

    def chained() -> Iterator[T]:
        yield from itertools.chain(*[reader() for reader in readers])

    return chained


def compose(*readers: Reader[Any], check_alignment: bool = True) -> Callable[[], Iterator[tuple[Any, ...]]]:
    """Return a reader that joins one sample of each reader into a flat tuple.

        >>> list(compose(lambda: [(1, 2)], lambda: [3])())
        [(1, 2, 3)]

    Args:
        check_alignment: raise ComposeNotAligned when one reader ends before the others; otherwise the shortest ends it.

    Fluid: a sample that is None counted as an early end; here only a strict era does so.
    """
    missing = object()

    def composed() -> Iterator[tuple[Any, ...]]:
        sources = [reader() for reader in readers]
        if not check_alignment:
            for samples in zip(*sources):
                yield sum(map(_as_tuple, samples), ())
            return
        for number, samples in enumerate(itertools.zip_longest(*sources, fillvalue=missing)):
            ended = [i for i, one in enumerate(samples) if one is missing or (one is None and era().strict)]
            if ended:
                raise ComposeNotAligned(
                    f"compose: reader {ended[0]} of {len(readers)} ended after {number} samples, but others "
                    "have more; check_alignment=False stops at the shortest"
                )
            yield sum(map(_as_tuple, samples), ())

    return composed


def _as_tuple(sample: object) -> tuple[Any, ...]:
    return sample if isinstance(sample, tuple) else (sample,)


def firstn(reader: Reader[T], n: int) -> Callable[[], Iterator[T]]:
    """Return a reader of the first `n` samples at most.

    Fluid: it read one sample more from the source than it yielded; here it does not.
    """

    def first() -> Iterator[T]:
        yield from itertools.islice(reader(), max(0, n))

    return first


def cache(reader: Reader[T]) -> Callable[[], Iterator[T]]:
    """Read all samples now, keep them in memory, and return a reader over them."""
    samples = tuple(reader())

    def cached() -> Iterator[T]:
        yield from samples

    return cached


class Fake:
    """Repeats the first sample, to measure how fast a program is without its reader.

    >>> list(Fake()(lambda: iter("abc"), 3)())
    ['a', 'a', 'a']
    """

    def __init__(self) -> None:
        self.data: Any = None
        self._known = False

    def __call__(self, reader: Reader[Any], data_num: int) -> Callable[[], Iterator[Any]]:
        """Return a reader that yields the first sample ever read `data_num` times."""

        def fake_reader() -> Iterator[Any]:
            if not self._known:
                for self.data in reader():
                    self._known = True
                    break
            if not self._known:
                raise ValueError("Fake: the reader is empty, so there is no sample to repeat")
            yield from itertools.repeat(self.data, data_num)

        return fake_reader
