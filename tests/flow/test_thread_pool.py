"""A pool does jobs in its threads, and lets who waits for them do those that no thread has begun."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator

import pytest

from fluidio.flow import thread_pool
from fluidio.flow.thread_pool import ThreadPool


class Busy:
    """A pool whose only thread is inside a job until it is let go."""

    def __init__(self) -> None:
        self.pool: ThreadPool[str] = ThreadPool("busy", 1)
        self._started, self._go = threading.Event(), threading.Event()
        self.first = self.pool.submit(self._job)
        assert self._started.wait(30)

    def _job(self) -> str:
        self._started.set()
        assert self._go.wait(30)
        return threading.current_thread().name

    def let_go(self) -> None:
        self._go.set()


@pytest.fixture
def busy() -> Iterator[Busy]:
    found = Busy()
    yield found
    found.let_go()
    found.pool.stop()


def name_of_thread() -> str:
    return threading.current_thread().name


def test_a_job_that_no_thread_has_begun_is_done_by_who_waits_for_it(busy: Busy) -> None:
    assert busy.pool.result(busy.pool.submit(name_of_thread)) == "MainThread"


def test_jobs_behind_are_done_while_waiting(busy: Busy) -> None:
    behind = busy.pool.submit(name_of_thread)

    def let_go() -> str:
        busy.let_go()
        return name_of_thread()

    last = busy.pool.submit(let_go)
    assert busy.pool.result(busy.first) == "fluidio-busy"
    assert (busy.pool.result(behind), busy.pool.result(last)) == ("MainThread", "MainThread")


def raising(error: BaseException) -> Callable[[], str]:
    def job() -> str:
        raise error

    return job


def test_an_error_belongs_to_its_job(busy: Busy) -> None:
    bad = busy.pool.submit(raising(ValueError("bad")))
    good = busy.pool.submit(name_of_thread)
    assert busy.pool.result(good) == "MainThread"
    with pytest.raises(ValueError, match="bad"):
        busy.pool.result(bad)


def test_ctrl_c_in_a_job_done_here_is_raised_at_once(busy: Busy) -> None:
    busy.pool.submit(raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        busy.pool.result(busy.pool.submit(name_of_thread))


def test_a_stopped_pool_can_be_used_again() -> None:
    pool: ThreadPool[str] = ThreadPool("again", 2)
    for _ in range(3):
        assert len({pool.result(pool.submit(name_of_thread)) for _ in range(5)}) >= 1
        pool.stop()
        assert not [t for t in threading.enumerate() if t.name == "fluidio-again"]


def test_urgent_jobs_are_done_first(busy: Busy) -> None:
    done: list[str] = []

    def job(name: str) -> str:
        done.append(name)
        return name

    last = busy.pool.submit(lambda: job("last"))
    busy.pool.submit(lambda: job("first"), urgent=True)
    assert busy.pool.result(last) == "last"
    assert done == ["first", "last"]


def test_a_job_that_was_cancelled_is_done_by_who_still_wants_it(busy: Busy) -> None:
    one, other = busy.pool.submit(name_of_thread), busy.pool.submit(raising(ValueError("done")))
    assert busy.pool.cancel(other)
    assert not busy.pool.cancel(busy.first)
    busy.pool.abandon()
    assert one.cancelled()
    assert busy.pool.result(one) == "MainThread"


@pytest.mark.parametrize(("computed", "threads"), [(1.0, 2), (0.1, 4)])
def test_jobs_that_compute_get_no_more_threads_than_cores(
    monkeypatch: pytest.MonkeyPatch, computed: float, threads: int
) -> None:
    monkeypatch.setattr(thread_pool, "usable_cores", lambda: 3)
    pool: ThreadPool[bool] = ThreadPool("cores", 4)
    pool._took, pool._computed = 1.0, computed
    go = threading.Event()
    jobs = [pool.submit(lambda: go.wait(30)) for _ in range(6)]
    assert len([thread for thread in threading.enumerate() if thread.name == "fluidio-cores"]) == threads
    go.set()
    assert all(pool.result(job) for job in jobs)
    pool.stop()


def test_jobs_are_done_where_the_system_gives_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool: ThreadPool[str] = ThreadPool("poor", 2)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    jobs = [pool.submit(name_of_thread) for _ in range(3)]
    assert [pool.result(job) for job in jobs] == [threading.current_thread().name] * 3
    pool.stop()


@pytest.mark.parametrize(
    ("average", "now", "threads"),
    [
        (0.5, "9/300", 3),  # work begins
        (20.0, "9/300", 0),
        (20.0, "2/300", 3),  # it has just ended, or waits for a disk
        (20.0, "nothing", 0),
    ],
)
def test_a_busy_machine_gets_no_helpers(
    monkeypatch: pytest.MonkeyPatch, average: float, now: str, threads: int
) -> None:
    monkeypatch.setattr(thread_pool, "usable_cores", lambda: 4)
    monkeypatch.setattr("os.getloadavg", lambda: (average, 0.0, 0.0), raising=False)
    text = f"{average} 0.00 0.00 {now} 1234"
    monkeypatch.setattr(thread_pool, "open", lambda path: io.StringIO(text), raising=False)
    assert thread_pool.usual_threads() == threads
