"""Crew: threads that come when there is work and go when there is none."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

__all__ = ["Crew"]

T = TypeVar("T")


class Crew(Generic[T]):
    """Runs jobs in order of arrival in at most `size` threads; an idle crew has no thread at all."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._jobs: deque[tuple[Callable[[], T], Future[T]]] = deque()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Have a job done."""
        future: Future[T] = Future()
        with self._lock:
            self._jobs.append((job, future))
            if len(self._threads) < self._size:
                thread = threading.Thread(target=self._work, name=f"fluidio-{self._name}", daemon=True)
                self._threads.add(thread)
                thread.start()
        return future

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._threads.discard(threading.current_thread())
                    return
                job, future = self._jobs.popleft()
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)

    def stop(self) -> None:
        """Forget the jobs that have not begun and wait for the others."""
        with self._lock:
            self._jobs.clear()
            threads = list(self._threads)
        for thread in threads:
            thread.join()
