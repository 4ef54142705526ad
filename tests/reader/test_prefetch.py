"""buffered and xmap_readers: order, errors, and threads that end."""

from __future__ import annotations

import gc
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidio import reader as R
from fluidio.errors import EnforceNotMet, ReaderError
from fluidio.flow import threads, watchdog


def failing(after: int) -> Callable[[], Iterator[int]]:
    def source() -> Iterator[int]:
        yield from range(after)
        raise KeyError("bad line")

    return source


def endless() -> Iterator[int]:
    yield from itertools.count()


def threads_of_ours() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("fluidio-")]


@given(st.lists(st.integers()), st.integers(0, 3))
def test_buffered_keeps_samples_and_order(samples: list[int], size: int) -> None:
    ahead = R.buffered(lambda: samples, size)
    assert list(ahead()) == list(ahead()) == samples


def test_buffered_hands_over_arrays_and_none_untouched() -> None:
    samples = [np.arange(3), None, (np.zeros(2), "x")]
    got = list(R.buffered(lambda: samples, 1)())
    assert all(a is b for a, b in zip(got, samples, strict=True))


def test_an_error_of_the_source_reaches_the_consumer_behind_the_good_samples() -> None:
    samples = R.buffered(failing(2), 10)()
    assert [next(samples), next(samples)] == [0, 1]
    with pytest.raises(ReaderError, match="buffered: the reader raised KeyError: 'bad line'") as caught:
        next(samples)
    assert isinstance(caught.value.__cause__, KeyError)
    assert isinstance(caught.value, EnforceNotMet) and isinstance(caught.value, ValueError)
    assert caught.value.__cause__.__traceback__ is not None


def test_a_reader_that_cannot_even_be_called_is_an_error() -> None:
    def broken() -> Iterator[int]:
        raise OSError("no such file")

    with pytest.raises(ReaderError, match="no such file"):
        list(R.buffered(broken, 1)())


def test_the_thread_starts_with_the_first_next_and_ends_with_the_iterator() -> None:
    samples = R.buffered(endless, 2)()
    assert threads_of_ours() == []
    assert next(samples) == 0
    assert len(threads_of_ours()) == 1
    del samples
    gc.collect()
    assert threads_of_ours() == []


def test_an_abandoned_source_is_closed() -> None:
    closed = threading.Event()

    def source() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            closed.set()

    for sample in R.buffered(source, 3)():
        if sample == 5:
            break
    assert closed.wait(5)


def test_no_more_than_size_samples_wait() -> None:
    asked = itertools.count()

    def source() -> Iterator[int]:
        for _ in range(100):
            yield next(asked)

    channel: threads.Channel[int] = threads.Channel("test", 4)
    with threads.producing("test", [channel], (lambda: threads.pump(source, channel), channel)):
        assert channel.take() == [0]
        assert channel.take(most=9)  # whatever waits
        assert len(channel._items) <= 4


def test_nested_readers_name_the_first_error_once() -> None:
    nested = R.buffered(R.xmap_readers(lambda x: x, R.buffered(failing(1), 2), 2, 2), 2)
    with pytest.raises(ReaderError) as caught:
        list(nested())
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_consumer_in_a_cycle_is_collected_with_its_thread() -> None:
    class Holder:
        pass

    holder = Holder()
    holder.me = holder  # type: ignore[attr-defined]
    holder.samples = R.buffered(endless, 1)()  # type: ignore[attr-defined]
    next(holder.samples)  # type: ignore[attr-defined]
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None and threads_of_ours() == []


@settings(deadline=None)
@given(st.lists(st.integers(), max_size=30), st.integers(1, 4), st.integers(0, 3))
def test_xmap_in_order_is_map(samples: list[int], workers: int, size: int) -> None:
    mapped = R.xmap_readers(lambda x: x + 1, lambda: samples, workers, size, order=True)
    assert list(mapped()) == list(mapped()) == [x + 1 for x in samples]


@settings(deadline=None)
@given(st.lists(st.integers(), max_size=30), st.integers(1, 4), st.integers(0, 3))
def test_xmap_without_order_gives_each_sample_once(samples: list[int], workers: int, size: int) -> None:
    mapped = R.xmap_readers(lambda x: x + 1, lambda: samples, workers, size)
    assert sorted(mapped()) == sorted(x + 1 for x in samples)


@pytest.mark.parametrize("order", [False, True])
def test_xmap_reports_errors_of_mapper_and_source(order: bool) -> None:
    def mapper(x: int) -> int:
        if x == 3:
            raise ZeroDivisionError("three")
        return x

    with pytest.raises(ReaderError, match="ZeroDivisionError: three") as caught:
        list(R.xmap_readers(mapper, endless, 3, 4, order)())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(ReaderError, match="KeyError: 'bad line'") as caught:
        list(R.xmap_readers(lambda x: x, failing(5), 3, 4, order)())
    assert isinstance(caught.value.__cause__, KeyError)


def test_xmap_in_order_delivers_all_before_the_error() -> None:
    got = []
    with pytest.raises(ReaderError):
        for sample in R.xmap_readers(lambda x: 6 // (3 - x), lambda: range(9), 4, 2, order=True)():
            got.append(sample)
    assert got == [2, 3, 6]


def test_xmap_without_order_delivers_all_that_came_before_an_error_of_the_source() -> None:
    got = []
    with pytest.raises(ReaderError):
        for sample in R.xmap_readers(lambda x: x, failing(20), 3, 2)():
            got.append(sample)
    assert sorted(got) == list(range(20))


@pytest.mark.parametrize("order", [False, True])
def test_an_abandoned_xmap_stops_its_threads(order: bool) -> None:
    samples = R.xmap_readers(lambda x: x, endless, 3, 2, order)()
    next(samples)
    assert len(threads_of_ours()) == 4
    samples.close()  # type: ignore[attr-defined]
    assert threads_of_ours() == []


def test_xmap_needs_a_worker() -> None:
    with pytest.raises(ValueError, match="process_num"):
        R.xmap_readers(lambda x: x, endless, 0, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_reader_carried_over_a_fork_is_an_error_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "_POLL", 0.05)
    gate = threading.Event()

    def source() -> Iterator[int]:
        yield 1
        gate.wait(30)

    samples = R.buffered(source, 1)()
    assert next(samples) == 1

    def use_after_fork() -> Iterator[int]:
        yield from samples

    with pytest.raises(ReaderError, match="before a fork"):
        list(R.multiprocess_reader([use_after_fork])())
    gate.set()
    assert list(samples) == []
