"""ThreadPool: threads that start when there is work and end when there is none."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Generic, TypeVar

from fluidio.flow.observer import OBSERVERS
from fluidio.flow.threads import dead_producers_error
from fluidio.flow.watchdog import waiting

__all__ = ["Job", "ThreadPool", "usable_cores", "usual_threads"]

T = TypeVar("T")

_BUSY = 0.25  # share of job time spent computing; threads waiting for disks and networks have less
_MEMORY = 0.9  # weight of the jobs before the last one
_LINGER = 1.0  # seconds an idle thread waits for more work: a new thread per job would cost more than the job


class Job(Future[T]):
    """Work submitted to a pool, and its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__()
        self.work = work

    def do(self) -> None:
        """Run the job in this thread."""
        try:
            self.set_result(self.work())
        except BaseException as error:
            self.set_exception(error)


class ThreadPool(Generic[T]):
    """Runs jobs in order of arrival, urgent ones first, in at most `size` threads; an idle pool soon has none.

    Jobs that compute get one thread per core, minus one for the thread that waits for them and runs some itself: more
    would only compete for the interpreter lock. Jobs that wait, for a disk for instance, get all threads.

    Attributes:
        size: maximum number of threads.
        idle: seconds the threads waited for jobs.
    """

    def __init__(self, name: str, size: int) -> None:
        self.idle = 0.0
        self._name = name
        self.size = size
        self._jobs: deque[Job[T]] = deque()
        self._threads: set[threading.Thread] = set()
        self._waiting = 0
        self._took = self._computed = 0.0  # seconds of the last jobs
        self._stopping = False
        self._pid = os.getpid()
        self._wake = threading.Condition()

    def submit(self, work: Callable[[], T], *, urgent: bool = False) -> Job[T]:
        """Add a job to the queue."""
        if self.producers_dead():
            raise dead_producers_error(self._name)
        job = Job(work)
        with self._wake:
            if urgent:
                self._jobs.appendleft(job)
            else:
                self._jobs.append(job)
            if len(self._threads) - self._waiting < self._useful():
                self._bring_thread()
        return job

    def _useful(self) -> int:
        """Return how many threads may usefully work at a time."""
        computes = self._computed > _BUSY * self._took
        return min(self.size, max(1, usable_cores() - 1)) if computes else self.size

    def _bring_thread(self) -> None:
        if self._waiting >= len(self._jobs):
            self._wake.notify()
        elif len(self._threads) < self.size:
            thread = threading.Thread(target=self._work, name=f"fluidio-{self._name}", daemon=True)
            self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError:  # the system has no more threads to give: who waits for the job does it
                self._threads.discard(thread)

    def result(self, job: Job[T]) -> T:
        """Return a job's result; meanwhile run jobs here that no thread has started, this one or later ones.

        When other work keeps all cores busy, pool threads would be late each time. A fork, which has no pool threads,
        gets an error instead of waiting forever.
        """
        while not job.done() and not self.producers_dead() and (other := self._unbegun()) is not None:
            other.do()
            error = other.exception()
            if error is not None and not isinstance(error, Exception):
                raise error  # Ctrl-C is not an error of the job
        if job.cancelled():
            return job.work()
        if job.done():
            return job.result()
        with waiting(f"a chunk of reader {self._name}", lambda: list(self._threads)) as wait:
            while True:
                try:
                    return job.result(wait.poll)
                except FutureTimeout:
                    if self.producers_dead():
                        raise dead_producers_error(self._name) from None
                    wait.look()

    def _unbegun(self) -> Job[T] | None:
        with self._wake:
            return self._jobs.popleft() if self._jobs else None

    def cancel(self, job: Job[T]) -> bool:
        """Cancel a job; return False if it has started."""
        with self._wake:
            try:
                self._jobs.remove(job)
            except ValueError:
                return False
        return job.cancel()

    def producers_dead(self) -> bool:
        """Return whether this process is a fork of the one that owns the threads."""
        return os.getpid() != self._pid

    def _work(self) -> None:
        while True:
            with self._wake:
                if not self._jobs and not self._stopping:
                    self._wait()
                if not self._jobs:
                    self._threads.discard(threading.current_thread())
                    return
                job = self._jobs.popleft()
            began, used = time.perf_counter(), time.thread_time()
            job.do()
            self._took = _MEMORY * self._took + time.perf_counter() - began
            self._computed = _MEMORY * self._computed + time.thread_time() - used
            del job  # its result may be large

    def _wait(self) -> None:
        began = time.perf_counter()
        self._waiting += 1
        self._wake.wait(_LINGER)
        self._waiting -= 1
        ended = time.perf_counter()
        self.idle += ended - began
        if OBSERVERS.all:
            OBSERVERS.waited(self._name, "producer", len(self._jobs), began, ended)

    def abandon(self) -> None:
        """Cancel the jobs that have not started and let the threads end; do not wait for them."""
        if self.producers_dead():
            return  # the lock may be held forever
        with self._wake:
            self._stopping = True
            while self._jobs:
                self._jobs.pop().cancel()
            self._wake.notify_all()

    def stop(self) -> None:
        """Cancel the jobs that have not started and wait for the others; the pool can be reused.

        A caller that still asks for the result of a cancelled job runs it itself.
        """
        self.abandon()
        if self.producers_dead():
            return
        with self._wake:
            threads = list(self._threads)
        for thread in threads:
            thread.join()
        self._stopping = False


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usual_threads() -> int:
    """Return the default number of helper threads of a reader: one per other core, at most 4; 0 on a busy machine."""
    cores = usable_cores()
    return min(cores - 1, 4) if _load(2 * cores) <= 2 * cores else 0


def _load(much: float) -> float:
    """Return how many threads want a core: the average of a minute, or those of this moment if the average is `much`.

    The average is high long after work has ended, and where threads wait for a disk.
    """
    average = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if average <= much:
        return average
    try:
        with open("/proc/loadavg") as file:
            running, _ = file.read().split()[3].split("/")
            return min(average, float(running))
    except (OSError, ValueError, IndexError):  # not on Linux
        return average
