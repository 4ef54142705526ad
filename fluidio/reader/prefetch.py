"""`buffered` and `xmap_readers`: read ahead and map in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from typing import TypeVar

from fluidio.errors import ReaderError
from fluidio.flow.threads import Channel, Reader, dead_producers_error, producing, pump

__all__ = ["buffered", "xmap_readers"]

S = TypeVar("S")
T = TypeVar("T")


def buffered(reader: Reader[T], size: int) -> Callable[[], Iterator[T]]:
    """Return a reader whose samples are read ahead by a thread, at most `size` (0: any number) waiting.

    The thread starts at the first `next()` and ends with the iterator.

    Raises:
        ReaderError: the source failed; its exception is the `__cause__`. Fluid: the consumer waited forever.
    """

    def buffered_reader() -> Iterator[T]:
        channel: Channel[T] = Channel("buffered", size)
        with producing("buffered", [channel], (partial(pump, reader, channel), channel)):
            yield from channel

    return buffered_reader


def xmap_readers(
    mapper: Callable[[S], T], reader: Reader[S], process_num: int, buffer_size: int, order: bool = False
) -> Callable[[], Iterator[T]]:
    """Return a reader of `mapper(sample)`, computed by `process_num` threads.

    Args:
        buffer_size: maximum number of samples waiting before and after the mappers (0: any number).
        order: keep the source's order; otherwise samples arrive as they are ready.

    Raises:
        ReaderError: the source or the mapper failed; samples ready before are delivered first. Fluid: a hang.
    """
    if process_num < 1:
        raise ValueError(f"xmap_readers: process_num must be at least 1, got {process_num}")

    def in_order() -> Iterator[T]:
        jobs: Channel[tuple[S, Future[T]]] = Channel("xmap_readers", buffer_size)
        results: Channel[Future[T]] = Channel("xmap_readers", buffer_size)
        mappers = [(partial(_map_in_order, mapper, jobs), _Nobody())] * process_num
        with producing("xmap", [jobs, results], (partial(_number, reader, jobs, results), results), *mappers):
            for future in results:
                yield _wait(future, results)

    def as_ready() -> Iterator[T]:
        jobs: Channel[S] = Channel("xmap_readers", buffer_size)
        results: Channel[T] = Channel("xmap_readers", buffer_size, producers=process_num)
        mappers = [(partial(_map_as_ready, mapper, jobs, results), results)] * process_num
        with producing("xmap", [jobs, results], (partial(pump, reader, jobs), jobs), *mappers):
            yield from results

    return in_order if order else as_ready


def _map_as_ready(mapper: Callable[[S], T], jobs: Channel[S], results: Channel[T]) -> None:
    try:
        for sample in jobs:
            if not results.put(mapper(sample)):
                return
    except BaseException:
        jobs.close()  # the other mappers finish their current samples, then the consumer gets the error
        raise


class _Nobody(Channel[None]):
    """Receives the end of threads that deliver results through futures."""

    def __init__(self) -> None:
        super().__init__("xmap_readers", 1)


def _number(reader: Reader[S], jobs: Channel[tuple[S, Future[T]]], results: Channel[Future[T]]) -> None:
    """Queue a future for each sample, in the source's order, and distribute the work."""
    try:
        for sample in reader():
            future: Future[T] = Future()
            if not (results.put(future) and jobs.put((sample, future))):
                return
    finally:
        jobs.done()


def _map_in_order(mapper: Callable[[S], T], jobs: Channel[tuple[S, Future[T]]]) -> None:
    for sample, future in jobs:
        try:
            future.set_result(mapper(sample))
        except BaseException as error:
            future.set_exception(error)


def _wait(future: Future[T], results: Channel[Future[T]]) -> T:
    while True:
        try:
            error = future.exception(timeout=1.0)
        except FutureTimeout:
            if results.producers_dead() and not future.done():
                raise dead_producers_error("xmap_readers") from None
            continue
        if error is None:
            return future.result()
        if isinstance(error, ReaderError):
            raise error
        raise ReaderError(f"xmap_readers: the mapper raised {type(error).__name__}: {error}") from error
