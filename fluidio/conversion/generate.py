"""`generate`: run a template's tasks on an executor, join their parts into shards, write the manifest.

The shards depend on the template, its arguments and the number of partitions, never on which worker did the work.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import IO, Any

import numpy as np

from fluidio.conversion import pool, storage
from fluidio.conversion import template as templates
from fluidio.conversion.new_set import (
    FORMAT,
    named_prefix,
    remove_set,
    shards_there,
    sole_maker,
    write_manifest,
)
from fluidio.conversion.progress import Progress
from fluidio.conversion.shared_progress import SharedProgress
from fluidio.conversion.work import Job, Note, build_shard, read_note, run_task, shards_of, tasks_of
from fluidio.errors import ConversionError
from fluidio.recordio.files import schema
from fluidio.recordio.files.notes import MANIFEST, read_manifest
from fluidio.recordio.files.source import is_url

__all__ = ["generate"]

_GLANCE = 0.25  # seconds between checks of unfinished tasks
_DEATHS = 3  # worker deaths in a row without any finished task before giving up


def generate(
    template: str,
    output: str,
    partitions: int,
    *,
    workers: int | None = None,
    args: Iterable[str] = (),
    inputs: Iterable[str] = (),
    executor: Executor | str | None = None,
    compressor: str = "snappy",
    restart: bool = False,
    progress: IO[str] | None = None,
) -> dict[str, Any]:
    """Make RecordIO shards of the rows of a template and return the manifest.

    Task t writes into shard t % partitions, tasks of a shard in their order; with fewer tasks than partitions the rows
    of a task are distributed in turn over shards t, t + tasks, t + 2 tasks, ... Work finished by an earlier, killed run
    is checked and kept.

    Args:
        template: a script, a folder with `mr_api.py`, or a module, with `task_number()` and `dict_data(task_id)`.
        output: the prefix of the paths (or URLs) of the shards: `OUT/train` gives `OUT/train-00000-of-00003`;
            `OUT/` takes the template's name.
        workers: processes on this machine; one per processor by default.
        args: the template's `sys.argv[1:]`.
        inputs: files that the template reads (optional); earlier work is discarded if they have changed.
        executor: runs the tasks instead of local processes: an Executor, or "module:factory".
        restart: discard earlier work for this output.
        progress: a text stream for the progress line.

    Raises:
        ConversionError: a row or the template is wrong (with task and row), or other work is in the way.
    """
    if partitions < 1:
        raise ValueError(f"partitions must be at least 1, got {partitions}")
    found = templates.find(template, args)
    with templates.running(found) as functions:
        try:
            tasks = functions.task_number()
        except (Exception, SystemExit) as error:
            if isinstance(error, SystemExit) and not error.code:
                raise  # the template's own --help
            if isinstance(error, SystemExit) and error.code == 2:  # argparse has said why
                raise ConversionError(f"{found.name} does not take these arguments: {' '.join(args)}") from error
            raise ConversionError(f"{found.name}: task_number(): {type(error).__name__}: {error}") from error
    if isinstance(tasks, np.integer):
        tasks = int(tasks)
    if not isinstance(tasks, int) or tasks < 1:
        raise ConversionError(
            f"{found.name}: task_number() must return a whole number of at least 1, it returned {tasks!r}"
        )
    output = named_prefix(output, template)
    read = tuple(storage.identity(path) for path in inputs)
    output = output if is_url(output) else os.path.abspath(output)
    job = Job(found, output, tasks, partitions, compressor, inputs=read)
    storage.make_folder(storage.parent(job.output))
    with sole_maker(job.output):
        complete = _prepare(job, restart)
        if complete is not None:
            return complete
        shown = Progress(tasks + partitions, "tasks and shards", progress)
        try:
            notes = _run(job, workers or os.cpu_count() or 1, executor, shown)
        except BaseException:
            if executor is None and not is_url(job.output) and not _has_notes(job):
                storage.remove_folder(job.parts)  # nothing to keep: a corrected template may start over
            storage.tidy(job.parts)
            raise
        manifest = _manifest(job, notes)
        write_manifest(job.output, manifest, job.parts)
        storage.remove_folder(job.parts)
    shown.finish()
    return manifest


# -- before ------------------------------------------------------------------------------------------------------------


def _prepare(job: Job, restart: bool) -> dict[str, Any] | None:
    """Check earlier work; return its manifest if there is nothing left to do."""
    storage.tidy(storage.parent(job.output))
    storage.tidy(job.parts)
    if restart:
        remove_set(job.output, everything=True)
        storage.remove_folder(job.parts)
    manifest = read_manifest(job.output)
    if manifest is not None:
        if manifest.get("fingerprint") != job.fingerprint:
            raise ConversionError(
                f"{job.output}{MANIFEST}: the output already holds the result of another conversion (another "
                "script, other arguments, input files or partitions); choose another output, or pass "
                "--restart to replace it"
            )
        if all(_is_whole(job, number, note) for number, note in enumerate(manifest["shards"])):
            storage.remove_folder(job.parts)
            return manifest
        remove_set(job.output)
    _claim(job)
    for number in range(job.partitions):
        note = read_note(job, "shard", number)
        if note is not None and not _is_whole(job, number, note):
            storage.remove(job.note("shard", number))
    return None


def _is_whole(job: Job, number: int, note: Note) -> bool:
    path = job.shard(number)
    return storage.exists(path) and storage.digest(path) == (note["bytes"], note["sha256"])


def _has_notes(job: Job) -> bool:
    """Return whether a task or shard was finished."""
    return any(name.startswith(("task-", "shard-")) for name in storage.files_in(job.parts))


def _claim(job: Job) -> None:
    """Record which conversion owns these parts, or raise if they belong to another."""
    path = storage.join(job.parts, "job.json")
    if storage.exists(path):
        if json.loads(storage.read(path)).get("fingerprint") != job.fingerprint:
            raise ConversionError(
                f"{job.parts}: this is the unfinished work of another conversion (another script, other "
                "arguments, input files or partitions). If no other machine is working on it, pass --restart "
                "to discard it"
            )
        return
    strangers = shards_there(job.output)
    if strangers:
        raise ConversionError(
            f"{job.output}: there are already {len(strangers)} shards, for example {strangers[0]}, that no "
            "manifest lists; choose another output, or pass --restart to replace them"
        )
    storage.make_folder(job.parts)
    storage.write(path, json.dumps({"fingerprint": job.fingerprint, "template": job.template.name}).encode())


# -- work --------------------------------------------------------------------------------------------------------------


def _run(job: Job, workers: int, executor: Executor | str | None, progress: Progress) -> dict[str, list[Note]]:
    if executor is not None:
        with pool.from_name(executor) if isinstance(executor, str) else pool.given(executor) as given:
            return _Run(job, progress).on(given)
    run = _Run(job, progress)
    deaths = 0
    while True:
        before = len(run.tasks) + len(run.shards)
        try:
            shared = SharedProgress(job.tasks)
            with pool.local(min(workers, max(job.tasks, job.partitions)), shared) as processes:
                return run.on(processes, shared)
        except BrokenExecutor as error:
            deaths = deaths + 1 if len(run.tasks) + len(run.shards) == before else 0
            if deaths >= _DEATHS:
                raise ConversionError(
                    f"{job.template.name}: worker processes were killed {deaths} times in a row (out of "
                    "memory, or a crash in the template). Finished work is kept: run the same command again "
                    "to continue"
                ) from error


class _Run:
    """The work done so far; a new pool continues where a broken one stopped."""

    def __init__(self, job: Job, progress: Progress) -> None:
        self.job, self.progress = job, progress
        self.tasks: dict[int, Note] = {}
        self.shards: dict[int, Note] = {}
        self._missing = Counter({shard: len(tasks_of(job, shard)) for shard in range(job.partitions)})
        self._first: Note | None = None
        self._rows = 0

    def on(self, executor: Executor, shared: SharedProgress | None = None) -> dict[str, list[Note]]:
        """Submit everything that is left, shards as soon as their tasks are done, and wait for it.

        With `shared` the progress also advances within tasks.
        """
        work: dict[Future[Note], tuple[str, int]] = {}
        try:
            for task in range(self.job.tasks):
                if task not in self.tasks:
                    work[executor.submit(run_task, self.job, task)] = ("task", task)
            for shard in [s for s, missing in self._missing.items() if not missing and s not in self.shards]:
                work[executor.submit(build_shard, self.job, shard)] = ("shard", shard)
            while work:
                for future in wait(work, None if shared is None else _GLANCE, FIRST_COMPLETED).done:
                    kind, number = work.pop(future)
                    note = future.result()
                    if kind == "task" and shared is not None:
                        shared.clear(number)
                        self._look(shared)
                    ready = self._finish(kind, number, note)
                    work.update({executor.submit(build_shard, self.job, s): ("shard", s) for s in ready})
                if shared is not None:
                    self._look(shared)
                    self.progress.tell()
        except BaseException:
            for future in work:
                future.cancel()
            raise
        return {
            "tasks": [self.tasks[n] for n in range(self.job.tasks)],
            "shards": [self.shards[n] for n in range(self.job.partitions)],
        }

    def _look(self, shared: SharedProgress) -> None:
        """Estimate the progress of unfinished tasks, assuming they are as long as the finished ones."""
        self.progress.running(*shared.state(self._rows / len(self.tasks) if self.tasks else 0))

    def _finish(self, kind: str, number: int, note: Note) -> list[int]:
        """Record finished work and return the shards that can be joined now."""
        if kind == "shard":
            self.shards[number] = note
            self.progress.step()
            return []
        self._compare(note)
        self.tasks[number] = note
        self._rows += note["rows"]
        self.progress.step(note["rows"], sum(part["bytes"] for part in note["parts"]), kept=note["kept"])
        shards = shards_of(self.job, number)
        self._missing.subtract(shards)
        return [shard for shard in shards if not self._missing[shard]]

    def _compare(self, note: Note) -> None:
        if not note["slots"] or not note["rows"]:
            return  # the types of no rows are a guess
        first = self._first = self._first or note
        here, there = (each.get("where", f"task {each['task']}") for each in (note, first))
        ours, theirs = schema.from_json(note["slots"]), schema.from_json(first["slots"])
        if len(ours) != len(theirs) or not all(a.alike(b) and a.text == b.text for a, b in zip(ours, theirs)):
            raise ConversionError(
                f"{self.job.template.name}: the rows of {here} have {'; '.join(map(str, ours))}, but those of {there} "
                f"have {'; '.join(map(str, theirs))}: all tasks must yield the same names in the same order with "
                "the same types (a SCHEMA in the template fixes them)"
            )


def _manifest(job: Job, notes: dict[str, list[Note]]) -> dict[str, Any]:
    listed = sorted((note for note in notes["tasks"] if note["slots"]), key=lambda note: not note["rows"])
    slots: list[Note] = listed[0]["slots"] if listed else []
    return {
        "format": FORMAT,
        "fingerprint": job.fingerprint,
        "template": storage.name_of(job.template.name),
        "args": list(job.template.args),
        "tasks": job.tasks,
        "records": sum(note["records"] for note in notes["shards"]),
        "slots": slots,
        "shards": notes["shards"],
    }
