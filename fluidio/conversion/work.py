"""The work of a worker: run a task into part files, join part files into a shard.

The job and a number determine everything, so any worker on any machine produces the same bytes. A part file gets its
name when it is complete; the note of a task (`task-N.json`) is written after all its parts. So a worker killed at any
moment leaves tasks that are noted and complete, and tasks to be run again.

    .PREFIX.parts/job.json  task-00000.json  00000-of-00003.00000  ...  shard-00000.json
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from fluidio.conversion import storage
from fluidio.conversion import template as templates
from fluidio.conversion.columns import block_of, is_columns
from fluidio.conversion.rows import RowBuffer, slots_of, typical_row
from fluidio.conversion.shared_progress import telling
from fluidio.errors import ConversionError
from fluidio.recordio import RecordBlock, Writer
from fluidio.recordio.files import schema
from fluidio.recordio.files.index import ChunkIndex
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.shard_sets import shard_name
from fluidio.recordio.files.sidecar import put_index
from fluidio.recordio.files.source import is_url
from fluidio.recordio.format.dialects import FLUID

__all__ = ["Job", "build_shard", "run_task", "shards_of", "tasks_of"]

Note = dict[str, Any]
_STEP = 1 << 20


@dataclass(frozen=True)
class Job:
    """A conversion, as a plain value sent to workers.

    Attributes:
        output: the prefix of the shard paths.
        tasks, partitions: how many of each.
        inputs: values that change with the files that are read.
        chunk_records, chunk_bytes: when a chunk is full.
    """

    template: templates.Template
    output: str
    tasks: int
    partitions: int
    compressor: str = "snappy"
    chunk_records: int = 1000
    chunk_bytes: int = 8 << 20
    inputs: tuple[list[str | int], ...] = ()

    @property
    def parts(self) -> str:
        """Return the folder of unfinished work."""
        return storage.join(storage.parent(self.output), f".{storage.name_of(self.output)}.parts")

    @property
    def fingerprint(self) -> str:
        """Return the values that must be equal to reuse parts of an earlier run."""
        facts = [self.template.digest, list(self.template.args), self.tasks, self.partitions]
        facts += [self.compressor, self.chunk_records, self.chunk_bytes, *self.inputs]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def shard(self, index: int) -> str:
        """Return the path of a shard."""
        return shard_name(self.output, index, self.partitions)

    def part(self, shard: int, task: int) -> str:
        """Return the path of a task's part of a shard."""
        return storage.join(self.parts, f"{shard:05d}-of-{self.partitions - 1:05d}.{task:05d}")

    def note(self, kind: str, number: int) -> str:
        """Return the path of the note about a finished task or shard."""
        return storage.join(self.parts, f"{kind}-{number:05d}.json")


def shards_of(job: Job, task: int) -> list[int]:
    """Return the shards that a task's rows go to, in turn: one, unless there are more shards than tasks."""
    return list(range(task, job.partitions, job.tasks)) if job.tasks < job.partitions else [task % job.partitions]


def tasks_of(job: Job, shard: int) -> list[int]:
    """Return the tasks whose rows are in a shard, in shard order."""
    return list(range(shard, job.tasks, job.partitions)) if job.tasks >= job.partitions else [shard % job.tasks]


def read_note(job: Job, kind: str, number: int) -> Note | None:
    """Return the note about a finished task or shard."""
    path = job.note(kind, number)
    if not storage.exists(path):
        return None
    note: Note = json.loads(storage.read(path))
    return note


# -- tasks -------------------------------------------------------------------------------------------------------------


def run_task(job: Job, task: int) -> Note:
    """Run a task, unless it is already done, and return its note."""
    note = read_note(job, "task", task)
    if note is not None and all(_is_kept(job, part) for part in note["parts"]):
        return note | {"kept": True}
    row = _Counter(f"{job.template.name}: task {task}")
    try:
        with contextlib.ExitStack() as stack:
            functions = stack.enter_context(templates.running(job.template))
            row.where = functions.task_name(task) if functions.task_name is not None else row.where
            outputs = [_Part(job, task, shard, stack) for shard in shards_of(job, task)]
            stack.enter_context(telling(task, lambda: (row.reached, sum(part.size for part in outputs))))
            slots = _write_rows(job, task, functions, outputs, row)
    except (Exception, SystemExit) as error:
        if isinstance(error, ConversionError) and not row.started:
            raise
        raise ConversionError(f"{row.where}, row {row.number}: {_text(error)}") from error
    note = {
        "task": task,
        "where": row.where.removeprefix(f"{job.template.name}: "),
        "rows": sum(part.rows for part in outputs),
        "slots": schema.to_json(slots),
        "parts": [part.note() for part in outputs],
    }
    storage.write(job.note("task", task), json.dumps(note).encode())
    return note | {"kept": False}


class _Counter:
    """The number of the current row, for error texts and progress reports."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.number = 0
        self.started = False
        self._filling: tuple[int, RowBuffer] | None = None

    @property
    def reached(self) -> int:
        """The number, including rows a buffer is just taking; another thread may ask."""
        filling = self._filling
        return self.number if filling is None else max(self.number, filling[0] + filling[1].rows)

    @contextlib.contextmanager
    def filling(self, buffer: RowBuffer) -> Iterator[None]:
        """Count the rows that a buffer takes in this block."""
        start = self.number - buffer.rows
        self._filling = start, buffer
        try:
            yield
        finally:
            self.number = start + buffer.rows
            self._filling = None


def _text(error: BaseException) -> str:
    told = isinstance(error, ConversionError) or type(error) is ValueError or "Arrow" in type(error).__name__
    return str(error) if told else f"{type(error).__name__}: {error}"


def _is_kept(job: Job, part: Note) -> bool:
    """Return whether a task's output is complete: as a part, or inside a shard that was already checked."""
    path = job.part(part["shard"], part["task"])
    if storage.exists(path):
        return storage.digest(path) == (part["bytes"], part["sha256"])
    return storage.exists(job.note("shard", part["shard"]))


class _Part:
    """The rows of one task for one shard."""

    def __init__(self, job: Job, task: int, shard: int, stack: contextlib.ExitStack) -> None:
        self.task, self.shard, self.rows = task, shard, 0
        self._remote = is_url(job.output)
        self._file = Hashed(stack.enter_context(storage.writing(job.part(shard, task))))
        self._writer = Writer(self._file, job.compressor, job.chunk_records, max_chunk_bytes=2 * job.chunk_bytes)
        self.buffer: RowBuffer | None = None

    @property
    def size(self) -> int:
        """Return the bytes written so far."""
        return self._file.size

    def write(self) -> None:
        """End a chunk."""
        assert self.buffer is not None
        self.rows += self.buffer.rows
        self.buffer.write(self._writer)
        self._writer.flush()

    def write_columns(self, block: RecordBlock) -> None:
        """Write many rows, after those waiting in the buffer."""
        if self.buffer is not None and self.buffer.rows:
            self.write()
        self.rows += len(block)
        self._writer.write_block(block)

    def close(self) -> None:
        if self.buffer is not None and self.buffer.rows:
            self.write()
        self._writer.close()

    def note(self) -> Note:
        file = self._file
        note = {"task": self.task, "shard": self.shard, "rows": self.rows, "bytes": file.size, "sha256": file.digest}
        index = self._writer.chunk_index()
        chunks = [index.counts.tolist(), (index.ends - index.offsets).tolist()]
        return note | ({"chunks": chunks} if self._remote else {})


def _write_rows(
    job: Job, task: int, functions: templates.Functions, outputs: list[_Part], row: _Counter
) -> list[Field]:
    count = len(outputs)
    row.started = True
    rows = iter(functions.dict_data(task))
    slots: list[Field] = []
    example, rows = _example(rows, row, job.chunk_records) if functions.schema is None else ({}, rows)
    for values in _collected(rows, outputs, row):
        block = None
        if is_columns(values):
            found, block = block_of(values, functions.schema)
            _compare(slots or found, found)
        else:
            found = slots or slots_of(example or values, functions.schema)
        if not slots:
            slots = found
            for part in outputs if max(slot.lod_level for slot in slots) < 3 else ():
                part.buffer = RowBuffer(slots, job.chunk_records, job.chunk_bytes, for_writing=True)
        if block is not None:
            for number, part in enumerate(outputs):
                mine = range((number - row.number) % count, len(block), count)
                part.write_columns(block if count == 1 else block.take(mine))
            row.number += len(block)
            continue
        if not isinstance(values, Mapping):
            raise ConversionError(f"a row must be a dict of names and values, got {type(values).__name__}")
        part = outputs[row.number % count]
        if part.buffer is None:
            raise ConversionError("a row after columns of lists three levels deep: only columns can hold those")
        if part.buffer.add(values):
            part.write()
        row.number += 1
    for part in outputs:
        part.close()
    return slots


def _example(rows: Iterator[Any], row: _Counter, most: int) -> tuple[dict[str, Any], Iterator[Any]]:
    """Return a row that determines all types, and all rows; if the first has empty lists, later ones are used."""

    def reading(number: int) -> None:
        row.number = number

    return typical_row(rows, most, reading, lambda value: isinstance(value, Mapping) and not is_columns(value))


def _collected(rows: Iterator[Any], outputs: list[_Part], row: _Counter) -> Iterator[Any]:
    """Yield the first row and anything that is not a dict; if all rows go to one part, collect the others directly."""
    yield from itertools.islice(rows, 1)
    while len(outputs) == 1 and (buffer := outputs[0].buffer) is not None:
        with row.filling(buffer):
            more = buffer.fill(rows)
        if isinstance(more, tuple):
            yield more[0]
        elif more:
            outputs[0].write()
        else:
            return
    yield from rows


def _compare(slots: list[Field], found: list[Field]) -> None:
    if len(slots) != len(found) or not all(a.alike(b) and a.text == b.text for a, b in zip(slots, found)):
        raise ConversionError(
            f"these columns are {'; '.join(map(str, found))}, but the ones before were {'; '.join(map(str, slots))}"
        )


class Hashed:
    """A file object for writing that tracks the size and the SHA-256 of its data."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: Any) -> int:
        view = memoryview(data)
        for start in range(0, len(view), _STEP):  # larger writes need huge pages, see fluidio.recordio.write.sink
            piece = view[start : start + _STEP]
            self._file.write(piece)
            self._hash.update(piece)
        self.size += len(view)
        return len(view)

    def flush(self) -> None:
        """Do nothing: a part counts only when it is complete, and closing flushes it."""

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


# -- shards ------------------------------------------------------------------------------------------------------------


def build_shard(job: Job, shard: int) -> Note:
    """Join the parts of a shard, unless it already exists, and return its note."""
    note = read_note(job, "shard", shard)
    if note is not None:
        return note
    tasks = tasks_of(job, shard)
    notes = [read_note(job, "task", task) for task in tasks]
    found = [part for note in notes if note for part in note["parts"] if part["shard"] == shard]
    if len(found) != len(tasks):
        raise ConversionError(
            f"{job.parts}: notes about tasks disappeared while {job.shard(shard)} was being written: run the "
            "command again"
        )
    target = job.shard(shard)
    try:
        with storage.writing(target, job.parts) as file:
            out = Hashed(file)
            for part in found:
                storage.copy_file(job.part(shard, part["task"]), out)
    except OSError as error:
        raise ConversionError(
            f"{target} cannot be written: {error}. The work of its {len(tasks)} tasks is kept: run the command again"
        ) from error
    if out.size != sum(part["bytes"] for part in found):
        raise ConversionError(
            f"{target}: {out.size} bytes were joined, but its parts have another size: run the command again"
        )
    if is_url(target):
        _put_index(target, found)
    result = {
        "name": storage.name_of(target),
        "records": sum(part["rows"] for part in found),
        "bytes": out.size,
        "sha256": out.digest,
    }
    storage.write(job.note("shard", shard), json.dumps(result).encode())
    for part in found:
        storage.remove(job.part(shard, part["task"]))
    return result


def _put_index(target: str, parts: list[Note]) -> None:
    """Put the index of a shard in a store beside it, built from the notes of its parts."""
    tables = [part["chunks"] for part in parts if "chunks" in part]
    if len(tables) == len(parts):
        counts = np.array([n for counts, _ in tables for n in counts], np.int64)
        sizes = np.array([n for _, sizes in tables for n in sizes], np.int64)
        ends = np.cumsum(sizes)
        put_index(target, ChunkIndex(ends - sizes, counts, ends, FLUID))
