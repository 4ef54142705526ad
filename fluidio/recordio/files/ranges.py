"""Cut files into tasks and parts from their indexes alone; no record is read."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

from fluidio.recordio.files.index import ChunkIndex
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.sidecar import open_index
from fluidio.recordio.files.tasks import Task
from fluidio.recordio.format.chunks import OnError

__all__ = ["after", "chunk_tasks", "count_batches", "partition", "tasks"]


def tasks(files: object, records_per_task: int, *, on_error: OnError = "raise") -> list[Task]:
    """Return ranges of at most `records_per_task` records, in order; none crosses the end of a file.

    Example:
        >>> tasks("part-*.recordio", 1000)                                          # doctest: +SKIP
        [Task(path='part-00000.recordio', start=0, stop=1000, ...), ...]
    """
    if records_per_task < 1:
        raise ValueError(f"records_per_task must be at least 1, got {records_per_task}")
    return [
        _task(path, index, at, min(at + records_per_task, stop))
        for path, index, start, stop in _whole(files, on_error)
        for at in range(start, stop, records_per_task)
    ]


def partition(files: object, n: int, i: int, *, on_error: OnError = "raise") -> list[Task]:
    """Return part `i` of `n`: consecutive records; sizes differ by at most one, and the parts cover all records."""
    if not 0 <= i < n:
        raise ValueError(f"there are {n} parts and no part {i}")
    wholes = list(_whole(files, on_error))
    total = sum(stop - start for _, _, start, stop in wholes)
    low, high = total * i // n, total * (i + 1) // n
    out = []
    before = 0
    for path, index, start, stop in wholes:
        first = max(start, start + low - before)
        last = min(stop, start + high - before)
        if first < last:
            out.append(_task(path, index, first, last))
        before += stop - start
    return out


def count_batches(
    files: object,
    batch_size: int,
    *,
    part: tuple[int, int] | None = None,
    drop_last: bool = False,
    on_error: OnError = "raise",
) -> int:
    """Return how many batches `iter_batches` yields for the same arguments, from indexes alone."""
    found = sum(stop - start for _, _, start, stop in _whole(files, on_error))
    if part is not None:
        found = found * (part[0] + 1) // part[1] - found * part[0] // part[1]
    return found // batch_size if drop_last else -(-found // batch_size)


def after(files: object, records: int, *, on_error: OnError = "raise") -> list[Task]:
    """Return what comes after the first `records` records."""
    out = []
    for path, index, start, stop in _whole(files, on_error):
        skipped = min(records, stop - start)
        records -= skipped
        if start + skipped < stop:
            out.append(_task(path, index, start + skipped, stop))
    return out


def chunk_tasks(files: object, *, on_error: OnError = "raise") -> list[Task]:
    """Return one task for each chunk."""
    out = []
    for path, index, start, stop in _whole(files, on_error):
        edges = index.first_records.tolist()
        for first, last in itertools.pairwise(edges):
            low, high = max(first, start), min(last, stop)
            if low < high:
                out.append(_task(path, index, low, high))
    return out


def _whole(files: object, on_error: OnError) -> Iterator[tuple[str, ChunkIndex, int, int]]:
    for item in expand(files):
        if isinstance(item, Task):
            yield item.path, open_index(item.path, on_error=on_error), item.start, item.stop
        elif isinstance(item, (str, os.PathLike)):
            path = os.fspath(item)
            index = open_index(path, on_error=on_error)
            yield path, index, 0, index.num_records
        else:
            raise TypeError(f"a range of records needs a path or URL, got {type(item).__name__}")


def _task(path: str, index: ChunkIndex, start: int, stop: int) -> Task:
    return Task(path, start, stop, index.place(start), index.place(stop))
