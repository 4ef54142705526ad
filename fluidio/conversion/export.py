"""`export`: files of one format into files of another, one for one, in parallel."""

from __future__ import annotations

import dataclasses
import os
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import IO, Any

from fluidio.conversion import formats, pool, storage
from fluidio.conversion.passing import place, staging
from fluidio.conversion.progress import Progress
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files import schema
from fluidio.recordio.files.notes import MANIFEST, SLOTS, slots_beside
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.shard_sets import shard_of
from fluidio.recordio.files.steady import replaced_since

__all__ = ["SLOTS", "export"]

_UNREADABLE = (
    ConversionError,
    ValueError,
    KeyError,
    EOFError,
    NotImplementedError,
    tarfile.TarError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def export(
    sources: object,
    to: str,
    output: str,
    *,
    names: Sequence[str] | None = None,
    source_format: str | None = None,
    nulls: str | None = None,
    workers: int = 1,
    progress: IO[str] | None = None,
) -> list[str]:
    """Write each source file in another format into the folder `output` and return the new paths.

    Blocks are streamed: a file needs the memory of one chunk (npz: of the file). The slots' names come from `names`,
    else from the source (Parquet, Arrow, npz), its manifest or the `fluidio-slots.json` beside it, else they are
    slot_0, ...

    Args:
        sources: a path, glob or URL, or a list of them.
        to: "parquet", "arrow", "tfrecord", "webdataset", "npz" or "recordio".
        output: a folder, created if absent.
        source_format: the format of the sources; inferred from their names by default.
        nulls: how to handle nulls in Parquet and Arrow files: "drop" drops their rows, anything else is a value to
            replace them with. By default they are refused, because tensors have none.
        workers: processes.
    """
    target = formats.of_name(to)
    if names is not None and len(set(names)) != len(names):
        raise ConversionError(f"the same name appears twice in {', '.join(names)}: each slot needs its own name")
    source = formats.of_name(source_format) if source_format else None
    paths = [path for path in expand(sources) if not path.endswith((SLOTS, MANIFEST))]
    storage.make_folder(output)
    storage.tidy(output)
    outputs = [storage.join(output, _new_name(storage.name_of(path), target)) for path in paths]
    if len(set(outputs)) != len(outputs):
        raise ConversionError("two sources have the same name and would become the same file: export them separately")
    same = [path for path, out in zip(paths, outputs) if os.path.abspath(path) == os.path.abspath(out)]
    if same:
        raise ConversionError(f"{same[0]} would be overwritten by itself: choose another folder")
    found: list[Field] = []
    counts: dict[str, int] = {}
    shown = Progress(len(paths), "files", progress)
    beside = storage.join(output, SLOTS)
    check = replaced_since(paths)
    with staging(outputs) as staged:
        jobs: list[_Job] = []
        for path, out in zip(paths, staged):
            reading = _name_of(source or formats.of_path(path))
            jobs.append((path, reading, out, to, list(names) if names else None, nulls, beside))
        for (path, _, out, *_), (counts[out], listed) in _exported(jobs, min(workers, len(paths))):
            shown.step(counts[out], storage.size(path))
            slots = schema.from_json(listed)
            if not target.keeps_slots and slots:
                found = _of_all(path, found or slots, slots)
        check()
        place(staged, outputs, [counts[out] for out in staged], None if target.keeps_slots else found)
    shown.finish()
    return outputs


_Job = tuple[str, str, str, str, list[str] | None, str | None, str]


def _exported(jobs: Sequence[_Job], workers: int) -> Iterator[tuple[_Job, tuple[int, Any]]]:
    """Yield each job when it is done, with its result."""
    if workers < 2:  # in this thread, which an interrupt reaches
        for job in jobs:
            yield job, _export_one(*job)
        return
    with pool.local(workers) as executor:
        futures = {executor.submit(_export_one, *job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _name_of(wanted: formats.Format) -> str:
    return next(name for name, each in formats.FORMATS.items() if each is wanted)


def _new_name(name: str, target: formats.Format) -> str:
    """Return a file's name in another format; RecordIO shards have no extension, other RecordIO files do."""
    stem = formats.stem(name)
    return stem + (target.suffix or ("" if shard_of(stem) or stem == name else ".recordio"))


def _export_one(
    path: str, source: str, output: str, to: str, names: list[str] | None, nulls: str | None, beside: str
) -> tuple[int, Any]:
    """Convert one file and return the number of records and the slots."""
    varying: set[str] = set()
    try:
        while True:
            slots, blocks = _opened(path, formats.of_name(source), names, nulls)
            slots = [schema.without_rows(slot) if slot.name in varying else slot for slot in slots]
            try:
                return _written(slots, blocks, output, to, beside)
            except schema.RowsVaryError as error:  # the first records did not show it: once more, with lists
                if error.slot in varying:
                    raise
                varying.add(error.slot)
    except _UNREADABLE as error:
        text = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ConversionError(text if text.startswith(path) else f"{path}: {text}") from error


def _written(slots: list[Field], blocks: Iterable[RecordBlock], output: str, to: str, beside: str) -> tuple[int, Any]:
    target = formats.of_name(to)
    if not target.keeps_slots and slots and storage.exists(beside):
        _compare(slots, schema.from_json(storage.read(beside)), f"those of {beside}")
    count = 0
    found = slots

    def counted() -> Iterator[RecordBlock]:
        nonlocal count, found
        for block in blocks:
            count += len(block)
            found = schema.with_block(found, block)
            yield block

    target.write(output, slots, counted())
    return count, schema.to_json(found)


def _opened(path: str, reading: formats.Format, names: list[str] | None, nulls: str | None) -> tuple[list[Field], Any]:
    options = {"nulls": nulls} if nulls is not None and reading.has_nulls else {}
    slots, blocks = reading.read(path, None if reading.keeps_slots else slots_beside(path), **options)
    if names is not None:
        if len(names) != len(slots) and slots:
            raise ConversionError(f"{len(names)} names for {len(slots)} slots: {', '.join(names)}")
        slots = [dataclasses.replace(slot, name=name) for slot, name in zip(slots, names)]
    return slots, blocks


def _of_all(path: str, slots: list[Field], others: list[Field]) -> list[Field]:
    """Return the slots that describe all files so far and one more."""
    try:
        _compare(others, slots, "those of the other files")
    except ConversionError as error:
        raise ConversionError(f"{path}: {error}") from error
    return [schema.without_rows(a) if a.rows != b.rows else a for a, b in zip(slots, others)]


def _compare(slots: list[Field], others: list[Field], whose: str) -> None:
    """Raise for slots that one `fluidio-slots.json` cannot describe together with others."""
    if len(slots) != len(others) or not all(a.alike(b) for a, b in zip(slots, others)):
        raise ConversionError(
            f"its slots are {'; '.join(map(str, slots))}, but {whose} are {'; '.join(map(str, others))}: "
            "export each kind of file into its own folder"
        )
