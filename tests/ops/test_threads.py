"""Kernels share their work among as many threads as the environment and the program allow."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import threads


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
