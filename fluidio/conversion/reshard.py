"""Rewrite the same records: split, shuffle, recompress. Records are copied as arbitrary bytes."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from os import PathLike
from typing import Any

import numpy as np

from fluidio.conversion import storage
from fluidio.conversion.new_set import NewSet, making, named_prefix
from fluidio.conversion.open_files import room_for_files
from fluidio.conversion.passing import place, staging
from fluidio.conversion.progress import note
from fluidio.errors import ConversionError
from fluidio.recordio import File, Writer, partition
from fluidio.recordio.files.notes import slots_of
from fluidio.recordio.files.part_files import temporary_folder
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.shard_sets import shard_name
from fluidio.recordio.files.source import is_url
from fluidio.recordio.files.steady import replaced_since, steadily
from fluidio.recordio.files.tasks import Task
from fluidio.recordio.format.chunk import Chunk
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.dialects import FLUID, Dialect

__all__ = ["recompress", "recompress_all", "shuffle", "split"]

_CHUNK = 4 << 20
_NOTED = 1000  # records between progress updates


def _chunks(paths: list[Any]) -> Iterator[Chunk]:
    for path in paths:
        with ChunkReader(path) as reader:
            yield from reader


def _dialect(paths: list[Any]) -> Dialect:
    """Return the dialect of the first chunk."""
    return next((chunk.dialect for chunk in _chunks(paths)), FLUID)


def _writer(target: object, dialect: Dialect | str, compressor: str) -> Writer:
    try:
        return Writer(target, compressor, 1000, dialect=dialect, max_chunk_bytes=_CHUNK)
    except ValueError as error:  # a compressor that the dialect does not have
        raise ConversionError(f"{error}: choose another compressor or dialect") from error


def _targets(output: str, shards: int, sources: list[Any]) -> list[str]:
    """Return the paths of new shards; none may be a source, because sources are read while shards are written."""
    targets = [shard_name(output, number, shards) for number in range(shards)]
    taken = {_place(path) for path in sources}
    for target in targets:
        if _place(target) in taken:
            raise ConversionError(f"{target} would be overwritten by itself: choose another output")
    return targets


def _place(path: str | PathLike[str]) -> Any:
    return os.path.realpath(path) if isinstance(path, str) and not is_url(path) else path


def split(sources: object, output: str, shards: int, *, compressor: str = "snappy") -> list[str]:
    """Write the records of some files into `output-00000-of-...`: consecutive ranges of nearly one size."""
    if shards < 1:
        raise ValueError(f"shards must be at least 1, got {shards}")
    paths = _sources(sources)
    output = named_prefix(output, paths[0] if isinstance(paths[0], str) else "data")
    targets = _targets(output, shards, paths)
    check = replaced_since(paths)
    dialect = _dialect(paths)
    tasks = partition(paths, 1, 0)
    with making(output, shards) as new:
        counts = _deal_out(_records(tasks), sum(map(len, tasks)), new, dialect, compressor)
        check()
        new.finish(counts, slots_of(paths))
    return targets


def _sources(sources: object) -> list[Any]:
    paths = expand(sources)
    if not paths:
        raise ConversionError("there are no files to read: name at least one")
    return paths


def _records(tasks: list[Task]) -> Iterator[bytes]:
    for task in tasks:
        with File(task) as records:
            for number, record in enumerate(records):
                if not number % _NOTED:
                    note(min(_NOTED, len(task) - number))
                yield record


def _deal_out(records: Iterator[bytes], count: int, new: NewSet, dialect: Dialect, compressor: str) -> list[int]:
    """Write `count` records into the shards of a set, consecutive ones into one; return how many each got."""
    shards = len(new.staged)
    counts = [count * (number + 1) // shards - count * number // shards for number in range(shards)]
    for number, staged in enumerate(new.staged):
        with _writer(staged, dialect, compressor) as writer:
            for record in itertools.islice(records, counts[number]):
                writer.write(record)
        new.placed(number)
    return counts


def recompress_all(
    paths: Sequence[str], targets: Sequence[str], compressor: str, *, dialect: str | None = None
) -> list[tuple[int, int]]:
    """Recompress files of one folder, all or none, and return the sizes of each before and after."""
    if len(set(targets)) != len(targets):
        raise ConversionError("two sources have the same name: recompress them into different folders")
    storage.make_folder(storage.parent(targets[0]))
    storage.tidy(storage.parent(targets[0]))
    with staging(targets) as staged:
        sources = zip(steadily(paths), staged, strict=True)
        done = [recompress(path, out, compressor, dialect=dialect) for path, out in sources]
        place(staged, targets, [records for _, _, records in done], slots_of(paths))
    return [(before, after) for before, after, _ in done]


def recompress(source: str, target: str, compressor: str, *, dialect: str | None = None) -> tuple[int, int, int]:
    """Write the records of a file with another compressor (or dialect); return both sizes and the number of records."""
    with ChunkReader(source) as reader, storage.writing(target) as file, ExitStack() as stack:
        writer: Writer | None = None
        for chunk in reader:
            if writer is None:
                wanted = chunk.dialect if dialect is None else dialect
                writer = stack.enter_context(_writer(file, wanted, compressor))
            records = chunk.records()
            note(len(records))
            for record in records:
                writer.write(record)
            writer.flush()  # chunks stay as they were
    return storage.size(source), storage.size(target), writer.num_records if writer is not None else 0


def shuffle(
    sources: object, output: str, shards: int, *, seed: int = 0, memory: int = 256 << 20, compressor: str = "snappy"
) -> list[str]:
    """Write the records of some files in random order into `output-00000-of-...`, in bounded memory.

    Every order is equally likely. Records first go to random buckets on disk, small enough for the memory; then each
    bucket is permuted. The result depends on the records, `seed`, `memory` and `shards`.

    Args:
        memory: bytes of records to hold at a time.
    """
    if shards < 1:
        raise ValueError(f"shards must be at least 1, got {shards}")
    if memory < 1 << 16:
        raise ValueError(f"memory must be at least 65536 bytes, got {memory}")
    paths = _sources(sources)
    output = named_prefix(output, paths[0] if isinstance(paths[0], str) else "data")
    targets = _targets(output, shards, paths)
    check = replaced_since(paths)
    dialect = _dialect(paths)
    total = sum(len(chunk.payload) for chunk in _chunks(paths))
    # A bucket in memory costs the records plus Python object overhead; a factor of two covers random variation.
    buckets = room_for_files(max(1, min(500, -(-2 * total // memory))))
    random = np.random.default_rng(seed)
    where = tempfile.gettempdir() if is_url(output) else storage.parent(output)
    with making(output, shards) as new:
        with temporary_folder(where) as folder, storage.naming(folder):
            names = [os.path.join(folder, str(number)) for number in range(buckets)]
            count = _scatter(paths, names, random)
            counts = _deal_out(_permuted(names, random), count, new, dialect, compressor)
        check()
        new.finish(counts, slots_of(paths))
    return targets


def _scatter(paths: list[Any], names: list[str], random: np.random.Generator) -> int:
    count = 0
    with ExitStack() as stack:
        room = max(1 << 14, min(1 << 20, (64 << 20) // len(names)))
        writers = [stack.enter_context(Writer(name, "none", room // 16, max_chunk_bytes=room)) for name in names]
        for chunk in _chunks(paths):
            records = chunk.records()
            count += len(records)
            note(len(records))
            for number, record in zip(random.integers(len(names), size=len(records)).tolist(), records):
                writers[number].write(record)
    return count


def _permuted(names: list[str], random: np.random.Generator) -> Iterator[bytes]:
    for name in names:
        records = [record for chunk in _chunks([name]) for record in chunk.records()]
        os.unlink(name)
        for number in random.permutation(len(records)).tolist():
            yield records[number]
