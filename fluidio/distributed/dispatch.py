"""Dispatch tasks to workers that may be slow, die, join or leave: each task runs at least once, commits once.

The workers are those of any `concurrent.futures.Executor`; `dask.distributed.Client(...).get_executor()` adds other
machines. A worker holds a task for a limited time, its lease; when the lease expires or the worker is lost, another
worker gets the task as well, and the first result counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from fluidio.errors import DistributedError

__all__ = ["Ledger", "dispatch"]

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")
_LOOK = 0.05  # seconds between checks of leases
_TRIES = 3


@dataclass
class _Loan(Generic[T]):
    """A task held by workers: their futures, the start of the last lease, and the number of failures."""

    task: T
    futures: list[Future[Any]] = field(default_factory=list)
    since: float = 0.0
    failures: int = 0


def dispatch(
    executor: Executor,
    work: Callable[[T], R],
    tasks: Iterable[T],
    *,
    lease: float = 60.0,
    at_once: int = 16,
    tries: int = _TRIES,
    ledger: Ledger | None = None,
) -> Iterator[tuple[T, R]]:
    """Yield each task with its result, once, in order of completion.

    Args:
        work: called by a worker with a task; it may run twice, so it should have no side effects.
        lease: seconds after which an unfinished task also goes to another worker.
        at_once: how many tasks are leased at the same time.
        tries: how often a task may fail before its error is raised.
        ledger: stores results; tasks in it are not run again, in later runs either.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(2) as pool:
        ...     sorted(dispatch(pool, lambda n: n * n, range(4)))
        [(0, 0), (1, 1), (2, 4), (3, 9)]
    """
    if lease <= 0 or at_once < 1 or tries < 1:
        raise ValueError(f"dispatch: lease {lease}, at_once {at_once}, tries {tries}: all must be above 0")
    waiting = (task for task in dict.fromkeys(tasks) if ledger is None or not ledger.has(task))
    loans: dict[T, _Loan[T]] = {}
    try:
        while True:
            while len(loans) < at_once and (loan := next((_Loan(task) for task in waiting), None)) is not None:
                loans[loan.task] = loan
                _lend(executor, work, loan)
            if not loans:
                return
            yield from _collect(executor, work, loans, lease, tries, ledger)
    finally:
        for loan in loans.values():
            _take_back(loan)


def _lend(executor: Executor, work: Callable[[T], R], loan: _Loan[T]) -> None:
    loan.since = time.monotonic()
    loan.futures.append(executor.submit(work, loan.task))


def _collect(
    executor: Executor,
    work: Callable[[T], R],
    loans: dict[T, _Loan[T]],
    lease: float,
    tries: int,
    ledger: Ledger | None,
) -> Iterator[tuple[T, R]]:
    """Wait a moment; yield finished tasks, and lease again those that failed or took too long."""
    wait([future for loan in loans.values() for future in loan.futures], _LOOK, FIRST_COMPLETED)
    for loan in list(loans.values()):
        done = next((f for f in loan.futures if f.done() and not f.cancelled() and f.exception() is None), None)
        if done is not None:
            del loans[loan.task]
            _take_back(loan)
            result = done.result()
            if ledger is None or ledger.commit(loan.task, result):
                yield loan.task, result
            continue
        _look_after(executor, work, loan, lease, tries)


def _look_after(executor: Executor, work: Callable[[T], R], loan: _Loan[T], lease: float, tries: int) -> None:
    for future in [future for future in loan.futures if future.done()]:
        loan.futures.remove(future)
        loan.failures += 1
        error = CancelledError() if future.cancelled() else future.exception()
        if isinstance(error, BrokenExecutor) or loan.failures >= tries:
            raise DistributedError(
                f"task {loan.task!r} failed {loan.failures} times, the last time with {error!r}"
            ) from error
    if not loan.futures or time.monotonic() - loan.since > lease:
        _lend(executor, work, loan)


def _take_back(loan: _Loan[T]) -> None:
    for future in loan.futures:
        future.cancel()


class Ledger:
    """Results in a folder, each in one file that appears atomically: a finished task is a committed one.

    Several dispatchers may share it, concurrently or one after the other; a task's first result is kept.
    Tasks are identified by their `repr`; results must be JSON values.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def _path(self, task: object) -> Path:
        return self._folder / f"{hashlib.sha256(repr(task).encode()).hexdigest()[:32]}.json"

    def has(self, task: object) -> bool:
        """Return whether a task is done."""
        return self._path(task).exists()

    def commit(self, task: object, result: object) -> bool:
        """Store a result; if the task is already done, keep the earlier result and return False."""
        path = self._path(task)
        draft = path.with_suffix(f".{os.getpid()}.{time.monotonic_ns()}")
        with draft.open("x") as file:
            json.dump({"task": repr(task), "result": result}, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # fails if the file exists, and never exposes a partial file
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        return True

    def results(self) -> dict[str, Any]:
        """Return the results of all tasks that are done, by the `repr` of the task."""
        found = [json.loads(path.read_text()) for path in sorted(self._folder.glob("*.json"))]
        return {one["task"]: one["result"] for one in found}
