"""Make batches of a map-style dataset, in this process or in worker processes.

Worker i mod n makes batch i, and each worker makes its batches in order: so batches arrive in the sampler's order
without sorting, and the random numbers of each are the same in every run. Arrays are passed in anonymous shared memory,
one block per batch: nothing has a name, so nothing is left behind when a process is killed.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import pickle
import random
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from fluidio.errors import ReaderError
from fluidio.flow import messages, processes
from fluidio.flow.threads import Channel, producing

__all__ = ["WorkerInfo", "get_worker_info", "iterate_batches"]

Collate = Callable[[list[Any]], Any]

_AHEAD = 2  # batches in flight per worker
_LIVENESS_POLL = 0.25  # seconds between checks of silent workers
_SHARED_FROM = 1 << 16  # bytes: smaller batches are faster through the pipe
_ALIGN = 64
_epochs = itertools.count()


@dataclass(frozen=True)
class WorkerInfo:
    """The identity of a worker process."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the identity of this worker process; None in the main process."""
    return _info


def iterate_batches(
    dataset: object,
    batch_sampler: Iterable[Sequence[int]],
    collate_fn: Collate | None,
    num_workers: int,
    *,
    use_shared_memory: bool = True,
    timeout: float = 0,
    worker_init_fn: Callable[[int], Any] | None = None,
) -> Iterator[Any]:
    """Yield `collate_fn([dataset[i] for i in indices])` for each list of indices, in the sampler's order.

    Args:
        collate_fn: converts a list of samples to a batch; None keeps the list.
        num_workers: worker processes; 0 reads in this one. Their `random` and `numpy.random` are seeded differently
            for each worker and epoch, and identically in each run of a program. Fluid: all had the parent's state.
        use_shared_memory: pass arrays without copying, where the system supports it.
        timeout: seconds to wait for a batch, 0 to wait forever.
        worker_init_fn: called in each worker with its number before the first batch.

    Raises:
        ReaderError: a worker raised (its exception is the `__cause__`), was killed, or took too long.
    """
    if num_workers < 0:
        raise ValueError(f"num_workers must not be negative, got {num_workers}")
    if timeout < 0:
        raise ValueError(f"timeout must not be negative, got {timeout}")
    if num_workers == 0:
        return (_make(dataset, indices, collate_fn) for indices in batch_sampler)
    job = _Job(dataset, collate_fn, worker_init_fn, num_workers, use_shared_memory and hasattr(os, "memfd_create"))
    return _in_workers(job, batch_sampler, timeout)


def _make(dataset: Any, indices: Sequence[int], collate_fn: Collate | None) -> Any:
    samples = []
    for index in indices:
        try:
            samples.append(dataset[index])
        except Exception as error:
            error.add_note(f"while reading dataset[{index}]")
            raise
    return samples if collate_fn is None else collate_fn(samples)


@dataclass(frozen=True)
class _Job:
    """The settings every worker needs."""

    dataset: Any
    collate_fn: Collate | None
    init: Callable[[int], Any] | None
    workers: int
    shared: bool


def _in_workers(job: _Job, batch_sampler: Iterable[Sequence[int]], timeout: float) -> Iterator[Any]:
    seed = _epoch_seed()
    home = os.getpid()
    workers: list[_Worker] = []
    try:
        with processes.uninterrupted():
            for number in range(job.workers):
                workers.append(_Worker(number, seed + number & 0xFFFFFFFF, job, workers))
        tasks = zip(itertools.cycle(workers), batch_sampler)
        under_way: list[_Worker] = []
        for worker, indices in itertools.islice(tasks, _AHEAD * job.workers):
            worker.give(indices)
            under_way.append(worker)
        while under_way:
            batch = under_way.pop(0).receive(workers, timeout)
            for worker, indices in itertools.islice(tasks, 1):
                worker.give(indices)
                under_way.append(worker)
            yield batch
    finally:
        for worker in workers:
            worker.connection.close()
        if os.getpid() == home:  # a fork may inherit this iterator and release it
            processes.stop([worker.process for worker in workers])


def _epoch_seed() -> int:
    """Return a seed derived from numpy's global state, which is not changed, and the epoch number."""
    state: Any = np.random.get_state()
    return zlib.crc32(state[1].tobytes() + str((state[2], next(_epochs))).encode())


class _Worker:
    """One worker process, seen from the parent."""

    def __init__(self, number: int, seed: int, job: _Job, elder: Sequence[_Worker]) -> None:
        self.number = number
        self.connection, far = processes.context().Pipe(duplex=True)
        foreign = [self.connection, *(worker.connection for worker in elder)]
        self.process = processes.start(_work, (number, seed, job, far), name="DataLoader", foreign=foreign)
        far.close()

    def give(self, indices: Sequence[int]) -> None:
        """Request a batch; `receive` reports a dead worker, after the batches it has finished."""
        with contextlib.suppress(ConnectionError):
            self.connection.send(list(indices))

    def receive(self, workers: Sequence[_Worker], timeout: float) -> Any:
        """Return this worker's next batch."""
        latest = time.monotonic() + timeout

        def check() -> None:
            for worker in workers:
                if not worker.process.is_alive():  # workers run until the parent ends them
                    raise worker.dead()
            if timeout and time.monotonic() > latest:
                raise ReaderError(
                    f"DataLoader: worker {self.number} (process {self.process.pid}) gave no batch for "
                    f"{timeout} s; raise timeout=, or find out what dataset[i] is waiting for"
                )

        try:
            return self._read(check, min(_LIVENESS_POLL, timeout or _LIVENESS_POLL))
        except (EOFError, ConnectionError):
            raise self.dead() from None

    def dead(self) -> ReaderError:
        return ReaderError(f"DataLoader: {processes.death_note(self.process)} (worker {self.number})")

    def _read(self, check: Callable[[], None], every: float) -> Any:
        kind, payload, sizes = pickle.loads(messages.receive(self.connection, check, every))
        if kind == "error":
            error = processes.unpack_error(payload)
            notes = [note for note in error.__notes__ if note.startswith("while reading")]
            raise ReaderError(
                f"DataLoader: worker {self.number} raised {type(error).__name__}: {error}"
                + "".join(f" ({note})" for note in notes)
            ) from error
        if kind == "plain":
            return pickle.loads(payload)
        messages.wait_for(self.connection, check, every)
        file = reduction.recv_handle(self.connection)
        try:
            memory = memoryview(mmap.mmap(file, sum(map(_aligned, sizes))))
        finally:
            os.close(file)
        starts = itertools.accumulate(map(_aligned, sizes), initial=0)
        return pickle.loads(payload, buffers=[memory[start : start + size] for start, size in zip(starts, sizes)])


def _aligned(size: int) -> int:
    return -(-max(size, 1) // _ALIGN) * _ALIGN


def _work(number: int, seed: int, job: _Job, connection: Connection) -> None:
    """Make batches in a worker process until the parent ends."""
    global _info
    _info = WorkerInfo(number, job.workers, seed, job.dataset)
    random.seed(seed)
    np.random.seed(seed)
    tasks: Channel[list[int]] = Channel("DataLoader", 0)
    # The parent must never wait for this process to take a task, or both could deadlock: a thread takes them all.
    with producing("DataLoader", [tasks], (partial(_listen, connection, tasks), tasks)):
        try:
            if job.init is not None:
                job.init(number)
            for indices in tasks:
                _send(connection, _make(job.dataset, indices, job.collate_fn), job.shared)
        except BrokenPipeError:
            os._exit(0)
        except BaseException as error:
            messages.send(connection, pickle.dumps(("error", processes.pack_error(error), [])))
            tasks.threads[0].join()  # the parent ends this process when it has read this


def _listen(connection: Connection, tasks: Channel[list[int]]) -> None:
    while True:
        try:
            tasks.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)  # the parent is gone, so end whatever the dataset is doing


def _send(connection: Connection, batch: object, shared: bool) -> None:
    buffers: list[pickle.PickleBuffer] = []
    payload = pickle.dumps(batch, 5, buffer_callback=buffers.append)
    raws = [buffer.raw() for buffer in buffers]
    sizes = [raw.nbytes for raw in raws]
    if not shared or sum(sizes) < _SHARED_FROM:
        payload = pickle.dumps(batch, 5) if buffers else payload
        messages.send(connection, pickle.dumps(("plain", payload, [])))
        return
    file = os.memfd_create("fluidio-batch")
    try:
        os.ftruncate(file, sum(map(_aligned, sizes)))
        for start, raw in zip(itertools.accumulate(map(_aligned, sizes), initial=0), raws):
            _write_at(file, raw, start)
        messages.send(connection, pickle.dumps(("shared", payload, sizes)))
        reduction.send_handle(connection, file, os.getppid())
    finally:
        os.close(file)


def _write_at(file: int, data: memoryview, start: int) -> None:
    while data:
        written = os.pwrite(file, data, start)
        data, start = data[written:], start + written
