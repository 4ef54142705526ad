"""Arrays without a program: whole files as columns, or a stream of NumPy batches at the speed of the blocks."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from fluidio.errors import RecordIOError
from fluidio.flow.thread_pool import Job, ThreadPool
from fluidio.recordio.blocks.cut import rebatch
from fluidio.recordio.blocks.shuffle import permuted
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.decode.block_reader import BlockReader
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.spans import Part, gather
from fluidio.recordio.files.ahead import usual_threads
from fluidio.recordio.files.index import build_index
from fluidio.recordio.files.named import names_of
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.ranges import after, chunk_tasks, count_batches, partition
from fluidio.recordio.files.resumable import Batches
from fluidio.recordio.files.source import is_url, opened
from fluidio.recordio.files.tasks import Task
from fluidio.recordio.format.chunks import OnError
from fluidio.recordio.write.encode import is_dense
from fluidio.tensor.array import Array

__all__ = ["iter_batches", "iter_blocks", "iter_parts", "load"]

_DEFAULT_WINDOW = 16384
_LARGE_FILE = 1 << 22


def load(
    paths: object,
    *,
    on_error: OnError = "raise",
    verify_inner: bool = False,
    threads: int | None = None,
    named: bool = False,
) -> Any:
    """Return everything in some files of tensor records: a tuple with one Column for each slot.

    Args:
        paths: a path, glob, URL, file object or Task, or a list of them.
        threads: so many threads read ahead; None chooses, 0 reads in the caller's thread alone.
        named: return a dict with the names that a manifest tells (else slot_0, ...).

    Example:
        >>> image, label = load("mnist-*.recordio")                                 # doctest: +SKIP
        >>> image.data.shape, label.data.dtype                                      # doctest: +SKIP
        ((60000, 784), dtype('int64'))
    """
    files = expand(paths)
    blocks = iter_blocks(files, on_error=on_error, verify_inner=verify_inner, threads=threads)
    columns = _all(blocks, files)
    return columns if not named else names_of(files)(columns)


def _all(blocks: Iterator[RecordBlock], files: list[Any]) -> tuple[Column, ...]:
    first = next(blocks, None)
    if first is None:
        return ()
    if not is_dense(first):
        return RecordBlock.concat([first, *blocks]).columns
    return _fill(first, blocks, _believable(files, first)).columns


def _believable(files: list[Any], like: RecordBlock) -> int:
    """Return the number of records that headers announce, or as many as such files usually hold if that is less.

    Headers have no checksum. 0 for streams, which can be read only once.
    """
    if not all(isinstance(file, (str, Task)) for file in files):
        return 0
    try:
        found = [_announced(file) for file in files]
    except (OSError, RecordIOError):
        return 0  # the reader tells
    record = max(1, sum(column.data.nbytes for column in like.columns) // max(1, len(like)))
    usual = (1 << 26) + 4 * sum(size for _, size in found)
    return min(sum(count for count, _ in found), usual // record)


def _announced(file: object) -> tuple[int, int]:
    """Return how many records a file's headers announce, and how many bytes it has."""
    if isinstance(file, Task):
        with opened(file.path) as source:
            return len(file), source.size
    index = build_index(file, partial=True)
    return index.num_records, int(index.ends[-1]) if index.num_chunks else 0


def _fill(first: RecordBlock, rest: Iterator[RecordBlock], expected: int) -> RecordBlock:
    """Return all blocks as one; dense ones are copied as they come, so that memory holds the data once, not twice."""
    heights = [column.rows_per_record or 0 for column in first.columns]
    room = max(expected, len(first))
    columns = [np.empty((room * n, *c.data.shape[1:]), c.data.dtype) for n, c in zip(heights, first.columns)]
    done = 0
    others: list[RecordBlock] = []
    for block in itertools.chain([first], rest):
        alike = block.layout == first.layout and [c.rows_per_record for c in block.columns] == heights
        if others or not alike:
            others.append(block)
            continue
        if done + len(block) > room:
            room = done + len(block) + room // 2
            columns = [_moved(c, done * n, room * n) for n, c in zip(heights, columns)]
        for target, height, column in zip(columns, heights, block.columns):
            target[done * height : (done + len(block)) * height] = column.data
        done += len(block)
    filled = [Column(t[: done * n], num_records=done) for t, n in zip(columns, heights)]
    return RecordBlock.concat([RecordBlock(filled, done), *others])


def _moved(array: Array, used: int, rows: int) -> Array:
    """Return the `used` first rows in an array with room for `rows`."""
    larger = np.empty((rows, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


def iter_batches(
    paths: object,
    batch_size: int,
    *,
    shuffle: bool | int = False,
    seed: int = 0,
    epoch: int = 0,
    part: tuple[int, int] | None = None,
    drop_last: bool = False,
    on_error: OnError = "raise",
    verify_inner: bool = False,
    threads: int | None = None,
    named: bool = False,
) -> Batches:
    """Return an iterator of batches of `batch_size` records, as tuples with one item for each slot.

    An item is the array of the batch, or (array, LoD) where the records carry a LoD. The order depends on the files,
    `seed` and `epoch`, never on `threads`. What `state_dict()` of the iterator returns, `load_state_dict()` of another
    goes on from; a list with the states of all parts may be loaded into another number of parts. `total` is how many
    batches there are.

    Args:
        paths: a path, glob, URL, file object or Task, or a list of them.
        shuffle: a number of records permutes windows of that many; True also takes the chunks in random order.
        part: (i, n) reads part i of n, see `partition`.
        drop_last: leave out a last batch that is not full.
        threads: so many threads read ahead (with shuffle=True they decode); None chooses, 0 reads in the caller's
            thread alone.
        named: yield dicts with the names that a manifest tells (else slot_0, ...), strings as lists of str or bytes.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    files = expand(paths)

    def make(place: tuple[int, int] | None, skip: int) -> Iterator[Any]:
        names = names_of(files) if named else None
        found = partition(files, place[1], place[0], on_error=on_error) if place is not None else files
        if skip and not shuffle and all(isinstance(each, (str, Task)) for each in found):
            found, skip = after(found, skip * batch_size, on_error=on_error), 0
        random = np.random.default_rng([seed, epoch]) if shuffle else None  # importing numpy.random takes 10 ms
        buffers = Pool()
        parts = iter_parts(
            found,
            buffers,
            on_error=on_error,
            verify_inner=verify_inner,
            threads=threads,
            order=random if shuffle is True else None,
        )
        if random is not None:
            parts = shuffled(parts, _DEFAULT_WINDOW if shuffle is True else shuffle, random)
        for group in itertools.islice(rebatch(parts, batch_size, drop_last=drop_last), skip, None):
            batch = gather(group, buffers)
            items = tuple([(c.data, c.lod) if c.lod else c.data for c in batch.columns])
            yield items if names is None else names(items)

    facts = {"batch_size": batch_size, "shuffle": shuffle, "seed": seed, "epoch": epoch, "files": len(files)}

    def count(place: tuple[int, int] | None) -> int:
        return count_batches(files, batch_size, part=place, drop_last=drop_last, on_error=on_error)

    return Batches(make, facts | {"drop_last": drop_last}, part, count)


def iter_blocks(
    paths: object, *, on_error: OnError = "raise", verify_inner: bool = False, threads: int | None = None
) -> Iterator[RecordBlock]:
    """Yield the blocks of some files in order."""
    buffers = Pool()
    for part in iter_parts(paths, buffers, on_error=on_error, verify_inner=verify_inner, threads=threads):
        yield gather([part], buffers)


def iter_parts(
    paths: object,
    buffers: Pool,
    *,
    on_error: OnError = "raise",
    verify_inner: bool = False,
    threads: int | None = None,
    order: np.random.Generator | None = None,
) -> Iterator[Part]:
    """Yield the records of some files in order, or chunk by chunk in a random order drawn from `order`."""
    if order is not None:
        work = chunk_tasks(paths, on_error=on_error)
        work = [work[i] for i in order.permutation(len(work))]
        yield from _chunk_by_chunk(work, _Readers(buffers, on_error, verify_inner), threads or 0)
        return
    count = usual_threads() if threads is None else threads
    helpers: ThreadPool[Any] = ThreadPool("recordio-ahead", count)  # threads start when there is work for them
    try:
        for path in expand(paths):
            with BlockReader(
                path,
                on_error=on_error,
                verify_inner=verify_inner,
                buffers=buffers,
                helpers=helpers if count > 0 and (threads is not None or _is_large(path)) else None,
            ) as reader:
                while (part := reader.locate()) is not None:
                    yield part
    finally:
        helpers.stop()


def _is_large(path: str | PathLike[str]) -> bool:
    """Tell whether threads are worth it: a local file of several chunks."""
    path = path.path if isinstance(path, Task) else path
    try:
        return isinstance(path, (str, os.PathLike)) and not is_url(path) and os.path.getsize(path) >= _LARGE_FILE
    except OSError:
        return False  # the reader tells


def _chunk_by_chunk(work: list[Task], readers: _Readers, threads: int) -> Iterator[Part]:
    """Yield the records of chunks in this order, read on threads if there are any."""
    try:
        if threads < 1:
            for task in work:
                yield from readers.read(task)
        else:
            yield from _ahead(readers, work, threads)
    finally:
        readers.close()


class _Readers:
    """One reader for each thread and file."""

    def __init__(self, buffers: Pool, on_error: OnError, verify_inner: bool) -> None:
        self._buffers = buffers
        self._on_error: OnError = on_error
        self._verify_inner = verify_inner
        self._local = threading.local()
        self._all: list[BlockReader] = []

    def read(self, task: Task) -> list[Part]:
        reader: BlockReader | None = getattr(self._local, "reader", None)
        if reader is None or self._local.path != task.path:
            if reader is not None:
                reader.close()
            reader = BlockReader(task, on_error=self._on_error, verify_inner=self._verify_inner, buffers=self._buffers)
            self._local.reader, self._local.path = reader, task.path
            self._all.append(reader)
        else:
            reader.seek(task.first, task.last)
        found = []
        while (part := reader.locate()) is not None:
            found.append(part)
        return found

    def close(self) -> None:
        for reader in self._all:
            reader.close()


def _ahead(readers: _Readers, work: list[Task], threads: int) -> Iterator[Part]:
    """Read chunks on a pool, a few ahead of the consumer, and yield them in their order."""
    pool: ThreadPool[list[Part]] = ThreadPool("recordio-decode", threads)
    pending: deque[Job[list[Part]]] = deque()
    try:
        for task in work:
            pending.append(pool.submit(partial(readers.read, task)))
            if len(pending) > 2 * threads:
                yield from pool.result(pending.popleft())
        while pending:
            yield from pool.result(pending.popleft())
    finally:
        pool.stop()


def shuffled(parts: Iterable[Part], window: int, random: np.random.Generator) -> Iterator[Part]:
    """Yield the records in windows of `window`, each window permuted."""
    for group in rebatch(parts, window):
        count = sum(map(len, group))
        yield Part(permuted(group, random.permutation(count)), 0, count)
