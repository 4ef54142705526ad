"""ThreadPool: threads that come when there is work and go when there is none."""

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

__all__ = ["Job", "ThreadPool", "usable_cores"]

T = TypeVar("T")

_BUSY = 0.25  # of the time that jobs take: threads that wait for disks and networks compute less
_MEMORY = 0.9  # how much jobs before the last one count
_LINGER = 1.0  # seconds for which an idle thread waits for more: a new one for each job would cost more than the job


class Job(Future[T]):
    """Work that was given to a pool, and what becomes of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__()
        self.work = work

    def do(self) -> None:
        """Do it, in this thread."""
        try:
            self.set_result(self.work())
        except BaseException as error:
            self.set_exception(error)


class ThreadPool(Generic[T]):
    """Runs jobs in order of arrival, urgent ones first, in at most `size` threads; an idle pool soon has no thread.

    Jobs that compute get a thread for each core but one, which is for the thread that waits for them and does some of
    them itself: more would only take the interpreter lock from each other. Jobs that wait, for a disk say, get all.

    Attributes:
        size: threads it has at most.
        idle: seconds that its threads waited for jobs.
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
        """Have some work done."""
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
        """Return how many threads may work at a time."""
        computes = self._computed > _BUSY * self._took
        return min(self.size, max(1, usable_cores() - 1)) if computes else self.size

    def _bring_thread(self) -> None:
        if self._waiting >= len(self._jobs):
            self._wake.notify()
        elif len(self._threads) < self.size:
            thread = threading.Thread(target=self._work, name=f"fluidio-{self._name}", daemon=True)
            self._threads.add(thread)
            thread.start()

    def result(self, job: Job[T]) -> T:
        """Return what a job gives; meanwhile do jobs here that no thread has begun, this one or those behind it.

        Where others keep all cores busy, threads would come late each time. A fork, whose threads stayed behind, is
        told instead of waiting for ever.
        """
        while not job.done() and not self.producers_dead() and (other := self._unbegun()) is not None:
            other.do()
            error = other.exception()
            if error is not None and not isinstance(error, Exception):
                raise error  # Ctrl-C is not the job's
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
        """Forget a job; False when it has begun."""
        with self._wake:
            try:
                self._jobs.remove(job)
            except ValueError:
                return False
        return job.cancel()

    def producers_dead(self) -> bool:
        """Tell whether this process is a fork of the one that the threads belong to."""
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
        """Cancel the jobs that have not begun and let the threads end; do not wait for them."""
        if self.producers_dead():
            return  # the lock may be held for ever
        with self._wake:
            self._stopping = True
            while self._jobs:
                self._jobs.pop().cancel()
            self._wake.notify_all()

    def stop(self) -> None:
        """Cancel the jobs that have not begun and wait for the others; the pool can be used again.

        Who still wants the result of a cancelled job does it himself.
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
