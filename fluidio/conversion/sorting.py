"""Sort more records than fit in memory: sorted runs on disk, merged a few at a time."""

from __future__ import annotations

import heapq
import itertools
import os
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from fluidio.recordio import Writer
from fluidio.recordio.format.chunks import ChunkReader

__all__ = ["Keyed", "in_order"]

Keyed = tuple[Any, bytes]
"""What a record is sorted by, and the record."""

_AT_ONCE = 64  # runs merged at a time: as many files are open, and a chunk of each is in memory
_OVERHEAD = 200  # bytes that a record in memory takes besides its own


def in_order(records: Iterable[Keyed], folder: str, memory: int, *, reverse: bool = False) -> Iterator[bytes]:
    """Yield records by their keys; equal ones keep their order.

    Args:
        folder: for the runs.
        memory: bytes of records to hold at a time.
    """
    files = (os.path.join(folder, f"run-{number}") for number in itertools.count())
    chunk = max(1 << 12, min(1 << 20, memory // (4 * _AT_ONCE)))
    runs = [_written(run, next(files), chunk) for run in _sorted_runs(records, memory, reverse)]
    while len(runs) > _AT_ONCE:
        groups = [runs[start : start + _AT_ONCE] for start in range(0, len(runs), _AT_ONCE)]
        runs = [_written(_merged(group, reverse), next(files), chunk) for group in groups]
    for _, record in _merged(runs, reverse):
        yield record


def _sorted_runs(records: Iterable[Keyed], memory: int, reverse: bool) -> Iterator[list[Keyed]]:
    run: list[Keyed] = []
    size = 0
    for item in records:
        run.append(item)
        size += len(item[1]) + _OVERHEAD
        if size >= memory:
            run.sort(key=_key, reverse=reverse)
            yield run
            run, size = [], 0
    run.sort(key=_key, reverse=reverse)
    yield run


def _written(run: Iterable[Keyed], path: str, chunk: int) -> str:
    with Writer(path, "none", None, max_chunk_bytes=chunk) as writer:
        for item in run:
            writer.write(pickle.dumps(item))
    return path


def _merged(runs: list[str], reverse: bool) -> Iterator[Keyed]:
    """Yield the items of some runs, which are consecutive, in order, and remove their files."""
    yield from heapq.merge(*map(_read, runs), key=_key, reverse=reverse)
    for run in runs:
        os.unlink(run)


def _read(path: str) -> Iterator[Keyed]:
    with ChunkReader(path) as reader:
        for chunk in reader:
            yield from map(pickle.loads, chunk.records())


def _key(item: Keyed) -> Any:
    return item[0]
