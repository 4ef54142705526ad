"""Kernels share their work among as many threads as the environment and the program allow."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import threads
from fluidio.ops.compiled import channels


@pytest.fixture(autouse=True)
def _no_threads_left() -> Iterator[None]:
    yield
    threads.close()


def parts(total: int, least: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    threads.share(total, least, lambda begin, end: found.append((begin, end)))
    return sorted(found)


def test_parts_cover_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert parts(10, 1) == [(0, 3), (3, 6), (6, 10)]
    assert parts(10, 5) == [(0, 5), (5, 10)]
    assert parts(10, 6) == [(0, 10)]
    assert parts(0, 1) == [(0, 0)]


def test_omp_num_threads_counts_where_blas_has_no_number_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert threads.thread_count() == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert threads.thread_count() >= 1


def test_an_error_in_another_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")

    def fail(begin: int, end: int) -> None:
        if begin:
            raise ValueError("the second part failed")

    with pytest.raises(ValueError, match="second part"):
        threads.share(4, 1, fail)


def test_a_block_can_have_fewer_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    with threads.limited(2):
        assert threads.thread_count() == 2
        with threads.limited(9):
            assert threads.thread_count() == 2
    with threads.limited(0):
        assert threads.thread_count() == 1
    assert threads.thread_count() == 4


@pytest.mark.parametrize(("places", "given", "expected"), [(1, 0, 4), (1, 3, 3), (2, 0, 2), (4, 0, 1), (2, 2, 1)])
def test_places_share_the_cores_and_num_threads_limits_them(
    places: int, given: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    seen: dict[int, int] = {}

    def note(x: np.ndarray) -> np.ndarray:
        seen[threading.get_ident()] = threads.thread_count()
        return x

    program = fluid.default_main_program()
    x = fluid.layers.data("x", [2])
    out = program.global_block().create_var(name="out", shape=[-1, 2], dtype="float32")
    loss = fluid.layers.mean(fluid.layers.py_func(note, x, out))
    strategy = fluid.ExecutionStrategy()
    strategy.num_threads = given
    compiled = fluid.CompiledProgram(program).with_data_parallel(
        loss.name, exec_strategy=strategy, places=fluid.cpu_places(places)
    )
    fluid.Executor(fluid.CPUPlace()).run(compiled, feed={"x": np.ones((8, 2), "float32")}, fetch_list=[loss])
    assert set(seen.values()) == {expected}


POOL = pytest.mark.skipif(threads.pool is None, reason="there was no C compiler when fluidio was installed")


def added_up(total: int, count: int) -> int:
    """Add up the numbers below `total` in so many threads."""
    sums: list[int] = []
    threads.pool.call_in_parts(lambda begin, end: sums.append(sum(range(begin, end))), total, 1, count)
    return sum(sums)


@POOL
def test_many_threads_share_work_at_the_same_time_and_none_is_done_twice() -> None:
    found: list[int] = []

    def caller() -> None:
        found.extend(added_up(1000 + i, 2 + i % 5) for i in range(100))

    callers = [threading.Thread(target=caller) for _ in range(12)]  # more than there can be jobs at a time
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert sorted(found) == sorted(sum(range(1000 + i)) for i in range(100) for _ in callers)


@POOL
def test_who_comes_while_all_processors_are_used_works_alone() -> None:
    count = max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    came, may_go = threading.Barrier(2, timeout=60), threading.Event()

    def hold(begin: int, end: int) -> None:
        if begin == 0:
            came.wait()
        may_go.wait(60)

    one = threading.Thread(target=threads.pool.call_in_parts, args=(hold, count, 1, count))
    one.start()
    came.wait()
    seen: list[tuple[int, int, int]] = []
    for _ in range(3):
        threads.pool.call_in_parts(lambda *part: seen.append((threading.get_ident(), *part)), 10, 1, count)
    may_go.set()
    one.join()
    assert seen == [(threading.get_ident(), 0, 10)] * 3
    assert len(set(parts_of_pool(100, count))) == count


def parts_of_pool(total: int, count: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    threads.pool.call_in_parts(lambda *part: found.append(part), total, 1, count)
    return found


@POOL
def test_work_within_shared_work_is_shared_too() -> None:
    assert [added_up(100, 3), added_up(100, 3)] == [4950, 4950]
    inner: list[int] = []
    threads.pool.call_in_parts(lambda begin, end: inner.append(added_up(50, 2)), 4, 1, 4)
    assert inner == [1225] * 4


@POOL
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert added_up(1000, 3) == 499500
    child = os.fork()
    if child == 0:
        os._exit(0 if added_up(1000, 3) == 499500 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert added_up(1000, 3) == 499500


@POOL
def test_other_threads_round_and_flush_as_the_caller_does() -> None:
    before = channels.compiled.flush_denormals(0x8040)
    try:
        seen: set[int] = set()
        for _ in range(20):
            threads.pool.call_in_parts(lambda begin, end: seen.add(channels.compiled.flush_denormals(-1)), 3, 1, 3)
        assert seen == {channels.compiled.flush_denormals(-1)}
    finally:
        if before is not None:
            channels.compiled.flush_denormals(before)


def test_without_the_c_python_has_threads_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "pool", None)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert parts(10, 1) == [(0, 3), (3, 6), (6, 10)]
    with pytest.raises(ZeroDivisionError):
        threads.share(9, 1, lambda begin, end: 1 // (6 - begin))


@POOL
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_a_thread_leaves_the_processor_of_the_one_that_brings_work() -> None:
    allowed = os.sched_getaffinity(0)
    own = min(allowed)
    seen: dict[int, set[int]] = {}
    meet = threading.Barrier(2, timeout=60)

    def pin(begin: int, end: int) -> None:
        meet.wait()  # so that each thread has one part
        os.sched_setaffinity(0, {own})

    def look(begin: int, end: int) -> None:
        meet.wait()
        seen[threading.get_ident()] = os.sched_getaffinity(0)

    def caller() -> None:
        threads.pool.call_in_parts(pin, 2, 1, 2)
        threads.pool.call_in_parts(look, 2, 1, 2)
        assert seen.pop(threading.get_ident()) == {own}

    one = threading.Thread(target=caller)
    one.start()
    one.join()
    assert list(seen.values()) == [allowed - {own} or {own}]


@POOL
def test_an_interrupt_before_a_part_begins_is_not_lost() -> None:
    def fail(begin: int, end: int) -> None:
        raise KeyboardInterrupt

    for count in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            threads.pool.call_in_parts(fail, 9, 1, count)
    assert added_up(100, 3) == 4950


@POOL
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals for threads")
def test_a_signal_during_shared_work_interrupts_the_main_thread_when_it_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")

    def part(begin: int, end: int) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        threads.share(9, 1, part)
    assert added_up(100, 3) == 4950
