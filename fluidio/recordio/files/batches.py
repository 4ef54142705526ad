"""Arrays without a program: whole files as columns, or a stream of NumPy batches at the speed of the blocks."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fluidio.errors import RecordIOError
from fluidio.flow.thread_pool import usual_threads
from fluidio.recordio.blocks.cut import cut_batches, passed_over, rebatch
from fluidio.recordio.blocks.engine import Engine
from fluidio.recordio.blocks.lane import Ahead
from fluidio.recordio.blocks.shared_files import SharedFiles
from fluidio.recordio.blocks.shuffle import permuted
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.spans import Part, gather
from fluidio.recordio.files import schema
from fluidio.recordio.files.index import build_index
from fluidio.recordio.files.named import names_of
from fluidio.recordio.files.notes import slots_of
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.ranges import after, chunk_tasks, count_batches, partition
from fluidio.recordio.files.resumable import Batches
from fluidio.recordio.files.source import is_url, opened
from fluidio.recordio.files.steady import replaced_since
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
    """Return all records of some files of tensor records: a tuple with one Column for each slot.

    Without any records there are the empty columns that a manifest describes, or none.

    Args:
        paths: a path, glob, URL, file object or Task, or a list of them.
        threads: number of threads that read ahead; None chooses, 0 reads only in the caller's thread.
        named: return a dict with the names from a manifest (else slot_0, ...).

    Example:
        >>> image, label = load("mnist-*.recordio")                                 # doctest: +SKIP
        >>> image.data.shape, label.data.dtype                                      # doctest: +SKIP
        ((60000, 784), dtype('int64'))
    """
    files = expand(paths)
    blocks = iter_blocks(files, on_error=on_error, verify_inner=verify_inner, threads=threads)
    columns = _all(blocks, files) or schema.empty_block(slots_of(files) or []).columns
    return columns if not named else names_of(files)(columns)


def _all(blocks: Iterator[RecordBlock], files: list[object]) -> tuple[Column, ...]:
    first = next(blocks, None)
    if first is None:
        return ()
    if not is_dense(first):
        return RecordBlock.concat([first, *blocks]).columns
    return _fill(first, blocks, _believable(files, first)).columns


def _believable(files: list[object], like: RecordBlock) -> int:
    """Return the number of records that headers announce, or a plausible number for such files if that is less.

    Headers have no checksum. Return 0 for streams, which can be read only once.
    """
    if not all(isinstance(file, (str, Task)) for file in files):
        return 0
    try:
        found = [_announced(file) for file in files]
    except (OSError, RecordIOError):
        return 0  # the reader reports the problem
    record = max(1, sum(column.data.nbytes for column in like.columns) // max(1, len(like)))
    usual = (1 << 26) + 4 * sum(size for _, size in found)
    return min(sum(count for count, _ in found), usual // record)


def _announced(file: object) -> tuple[int, int]:
    """Return how many records a file's headers announce, and the file's size in bytes."""
    if isinstance(file, Task):
        with opened(file.path) as source:
            return len(file), source.size
    index = build_index(file, partial=True)
    return index.num_records, int(index.ends[-1]) if index.num_chunks else 0


def _fill(first: RecordBlock, rest: Iterator[RecordBlock], expected: int) -> RecordBlock:
    """Return all blocks as one; dense ones are copied as they arrive, so that memory holds the data only once."""
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
    """Return the first `used` rows in an array with room for `rows`."""
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

    An item is the array of the batch, or (array, LoD) where the records carry a LoD. The arrays may be changed; a batch
    may keep the memory of its neighbours, so copy what is kept long if most is not. The order depends on the files,
    `seed` and `epoch`, never on `threads`. Another iterator resumes by passing this one's `state_dict()` to its
    `load_state_dict()`; a list with the states of all parts may be loaded into a different number of parts. `total`
    is the number of batches.

    Args:
        paths: a path, glob, URL, file object or Task, or a list of them.
        shuffle: a number of records permutes windows of that many; True also takes the chunks in random order.
        part: (i, n) reads part i of n, see `partition`.
        drop_last: drop a last batch that is not full.
        threads: number of threads that read ahead (with shuffle=True they decode); None chooses, 0 reads only in the
            caller's thread.
        named: yield dicts with the names from a manifest (else slot_0, ...), strings as lists of str or bytes.
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
            batch=0 if shuffle else batch_size,
        )
        if random is not None:
            parts = shuffled(parts, _DEFAULT_WINDOW if shuffle is True else shuffle, random)
        for batch in cut_batches(passed_over(parts, skip * batch_size), batch_size, buffers, drop_last=drop_last):
            items = tuple([(data, lod) if lod else data for data, lod in batch])
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
    for part in iter_parts(paths, buffers, on_error=on_error, verify_inner=verify_inner, threads=threads, batch=1):
        yield gather([part], buffers)


def iter_parts(
    paths: object,
    buffers: Pool,
    *,
    on_error: OnError = "raise",
    verify_inner: bool = False,
    threads: int | None = None,
    order: np.random.Generator | None = None,
    batch: int = 0,
) -> Iterator[Part]:
    """Yield the records of some files in order, or chunk by chunk in a random order drawn from `order`.

    Args:
        batch: how many consecutive records will be wanted together, 0 if that is not known.
    """
    files: list[Any] = expand(paths) if order is None else chunk_tasks(paths, on_error=on_error)
    if order is not None:
        files = [files[i] for i in order.permutation(len(files))]
        count = threads or 0
    else:
        count = usual_threads() if threads is None else threads
    opened = SharedFiles(buffers, on_error, verify_inner)
    remote = order is not None and any(is_url(task.path) for task in files)
    engine = Engine("recordio", count)
    engine.batch = batch
    check = replaced_since(files)
    try:
        engine.begin(
            [opened.lane(file, _ahead(file, threads, remote)) for file in files], 2 * count + 1 if remote else 1
        )
        while (part := engine.next()) is not None:
            yield part
        check()
    except RecordIOError:
        check()  # a chunk that is not where it was is no damage then
        raise
    finally:
        engine.stop()
        opened.close()


def _ahead(path: object, threads: int | None, remote: bool) -> Ahead:
    """Return how chunks of a file are read ahead."""
    if remote:
        return "one"
    return "worth" if threads is not None or _is_large(path) else "never"


def _is_large(path: object) -> bool:
    """Return whether threads are worth it: a local file of several chunks."""
    path = path.path if isinstance(path, Task) else path
    try:
        return isinstance(path, (str, os.PathLike)) and not is_url(path) and os.path.getsize(path) >= _LARGE_FILE
    except OSError:
        return False  # the reader reports the problem


def shuffled(parts: Iterable[Part], window: int, random: np.random.Generator) -> Iterator[Part]:
    """Yield the records in windows of `window`, each window permuted."""
    for group in rebatch(parts, window):
        count = sum(map(len, group))
        yield Part(permuted(group, random.permutation(count)), 0, count)
