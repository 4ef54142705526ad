"""Tasks go to workers that are slow, die and come back; each is done at least once and committed once."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections import Counter
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.distributed.dispatch import Ledger, dispatch
from fluidio.errors import DistributedError
from fluidio.recordio import Writer
from tests.distributed.jobs import SCRIPTS, Job


class Unsteady(Executor):
    """Workers of which some die with their task, and some never answer, as a list says."""

    def __init__(self, fates: list[str]) -> None:
        self.fates = iter(fates)
        self.done: Counter[Any] = Counter()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        fate = next(self.fates, "works")
        if fate == "dies":
            future.set_exception(ConnectionError("the worker is gone"))
        elif fate != "hangs":
            self.done[args[0]] += 1
            future.set_result(fn(*args))
        return future


@given(st.integers(0, 12), st.lists(st.sampled_from(["works", "dies", "hangs"]), max_size=8), st.integers(1, 4))
def test_every_task_is_given_out_once_whatever_happens_to_workers(count: int, fates: list[str], at_once: int) -> None:
    workers = Unsteady(fates)
    found = list(dispatch(workers, lambda n: 10 * n, range(count), lease=0.001, at_once=at_once, tries=20))
    assert sorted(found) == [(n, 10 * n) for n in range(count)]
    assert all(workers.done[n] >= 1 for n in range(count))


def test_a_slow_worker_is_overtaken_and_its_late_result_dropped() -> None:
    slow, calls = threading.Event(), Counter[int]()

    def work(task: int) -> int:
        calls[task] += 1
        if task == 1 and calls[1] == 1:
            assert slow.wait(20)
        return task

    with ThreadPoolExecutor(3) as pool:
        found = dispatch(pool, work, [1, 2], lease=0.01)
        assert sorted(found) == [(1, 1), (2, 2)]
        slow.set()
    assert calls[1] >= 2


def test_a_task_that_always_fails_is_an_error_that_names_it() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(DistributedError, match=r"task 0 failed 2 times.*ZeroDivision"):
        list(dispatch(pool, lambda n: 1 // n, [0], tries=2))


def test_a_second_run_does_what_is_left(tmp_path: Path) -> None:
    done: list[int] = []

    def work(task: int) -> int:
        if task == 3 and len(done) < 5:
            raise OSError("power failure")
        done.append(task)
        return task + 100

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(DistributedError):
            list(dispatch(pool, work, range(6), at_once=1, tries=1, ledger=Ledger(tmp_path)))
        assert done == [0, 1, 2]
        done += [-1, -1]
        found = list(dispatch(pool, work, range(6), ledger=Ledger(tmp_path)))
    assert sorted(found) == [(3, 103), (4, 104), (5, 105)]
    assert Ledger(tmp_path).results() == {str(n): n + 100 for n in range(6)}


def test_of_two_results_of_a_task_the_first_is_committed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert ledger.commit("task", 1) and not ledger.commit("task", 2)
    assert ledger.results() == {"'task'": 1} and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("options", [{"lease": 0}, {"at_once": 0}, {"tries": 0}])
def test_options_must_be_above_zero(options: dict[str, Any]) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="must be above 0"):
        list(dispatch(pool, str, [1], **options))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="extra: dask is not installed")
def test_records_are_dispatched_to_workers_of_dask_one_of_which_is_killed(tmp_path: Path) -> None:
    name = tmp_path / "numbers.recordio"
    with Writer(str(name), max_num_records=4) as writer:
        for number in range(50):
            writer.write_tensors([(np.array([number], "int64"), ())])
    with Job() as job:
        job.start([sys.executable, SCRIPTS / "dask_tasks.py", name, tmp_path])
        (ended,) = job.wait()
    assert ended.status == 0 and f"tasks 7 sum {sum(range(50))}" in ended.output, ended.output
    assert (tmp_path / "grave").exists() and len(Ledger(tmp_path / "done").results()) == 7
