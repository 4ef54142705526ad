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

__all__ = ["ThreadPool"]

T = TypeVar("T")

_LINGER = 1.0  # seconds for which an idle thread waits for more: a new one for each job would cost more than the job


_Job = tuple[Callable[[], T], Future[T]]


def _do(job: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(job())
    except BaseException as error:
        future.set_exception(error)


class ThreadPool(Generic[T]):
    """Runs jobs in order of arrival in at most `size` threads; an idle pool soon has no thread at all.

    Attributes:
        idle: seconds that its threads waited for jobs.
    """

    def __init__(self, name: str, size: int) -> None:
        self.idle = 0.0
        self._name = name
        self._size = size
        self._jobs: deque[_Job[T]] = deque()
        self._threads: set[threading.Thread] = set()
        self._waiting = 0
        self._stopping = False
        self._pid = os.getpid()
        self._wake = threading.Condition()

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Have a job done."""
        if self.producers_dead():
            raise dead_producers_error(self._name)
        future: Future[T] = Future()
        with self._wake:
            self._jobs.append((job, future))
            if self._waiting >= len(self._jobs):
                self._wake.notify()
            elif len(self._threads) < self._size:
                thread = threading.Thread(target=self._work, name=f"fluidio-{self._name}", daemon=True)
                self._threads.add(thread)
                thread.start()
        return future

    def result(self, future: Future[T]) -> T:
        """Return what a job gives; meanwhile do jobs here that no thread has begun, this one or those behind it.

        Where others keep all cores busy, threads would come late each time. A fork, whose threads stayed behind, is
        told instead of waiting for ever.
        """
        while not future.done() and not self.producers_dead() and (job := self._unbegun()) is not None:
            _do(*job)
            error = job[1].exception()
            if error is not None and not isinstance(error, Exception):
                raise error  # Ctrl-C is not the job's
        if future.done():
            return future.result()
        with waiting(f"a chunk of reader {self._name}", lambda: list(self._threads)) as wait:
            while True:
                try:
                    return future.result(wait.poll)
                except FutureTimeout:
                    if self.producers_dead():
                        raise dead_producers_error(self._name) from None
                    wait.look()

    def _unbegun(self) -> _Job[T] | None:
        with self._wake:
            return self._jobs.popleft() if self._jobs else None

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
            _do(*job)

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
        """Forget the jobs that have not begun and let the threads end; do not wait for them."""
        if self.producers_dead():
            return  # the lock may be held for ever
        with self._wake:
            self._stopping = True
            self._jobs.clear()
            self._wake.notify_all()

    def stop(self) -> None:
        """Forget the jobs that have not begun and wait for the others; the pool can be used again."""
        self.abandon()
        if self.producers_dead():
            return
        with self._wake:
            threads = list(self._threads)
        for thread in threads:
            thread.join()
        self._stopping = False
