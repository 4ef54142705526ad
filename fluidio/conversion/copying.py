"""`records cp`: copy shards to and from a store, in parallel and verified, skipping existing copies."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import IO, Any

from fluidio.conversion import resuming, storage, uploading
from fluidio.conversion.new_set import listed_shards, refuse_strangers, sole_makers
from fluidio.conversion.passing import notes_beside
from fluidio.conversion.progress import Progress
from fluidio.errors import ConversionError, RecordIOError
from fluidio.recordio.files.notes import MANIFEST, SLOTS
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.shard_sets import shard_of
from fluidio.recordio.files.sidecar import open_index, put_index
from fluidio.recordio.files.source import is_url
from fluidio.recordio.files.steady import replaced_since

__all__ = ["copy"]

_GLANCE = 0.25  # seconds between checks of unfinished copies


def copy(sources: Iterable[str], target: str, *, workers: int = 4, progress: IO[str] | None = None) -> list[str]:
    """Copy files into the folder `target` (paths or URLs on either side) and return the new paths.

    Each copy is read back and compared by SHA-256. Existing files with the same content are kept, so an interrupted
    copy resumes where it stopped: inside a large file if the target is a local folder or an S3 store, at the beginning
    of a file for other stores. Manifests are copied too, and first: the files they list belong to the set, even if the
    copy is killed. Shards of an older set of the same name are removed before the first new one arrives, so that sets
    are never mixed; those that the new manifest lists with the same SHA-256 stay, so a set may be copied in pieces.

    Raises:
        ConversionError: another process is writing such a set there, or there are shards that no manifest lists.
    """
    paths = expand(list(sources), notes=True)
    paths += notes_beside(paths)
    if folders := [path for path in paths if not is_url(path) and os.path.isdir(path)]:
        raise ConversionError(f"{folders[0]} is a folder: name its files, for example {folders[0].rstrip('/')}/*")
    folder = target.rstrip("/") or "/"
    names = [storage.name_of(path) for path in paths]
    if len(set(names)) != len(names):
        raise ConversionError("two sources have the same name: copy them to different folders")
    storage.make_folder(folder)
    storage.tidy(folder)
    shown = Progress(len(paths), "files", progress)
    check = replaced_since(paths)
    targets = [storage.join(folder, name) for name in names]
    under_way = _UnderWay()
    with sole_makers(targets), ThreadPoolExecutor(max(1, workers), "fluidio-copy") as pool:
        refuse_strangers(targets)
        try:
            there = pool.map(_is_there, paths, targets, itertools.repeat(under_way))
            same = _clear(list(there), paths, targets)
            for notes in (True, False):
                pairs = [(path, to) for path, to in zip(paths, targets) if _is_note(path) is notes]
                jobs = {pool.submit(_copy_one, path, to, to in same, under_way): path for path, to in pairs}
                _wait(jobs, under_way, shown)
            check()
        except BaseException as error:
            under_way.stopped = isinstance(error, KeyboardInterrupt)
            pool.shutdown(cancel_futures=True)
            raise
    shown.finish()
    return targets


class _UnderWay(dict[str, tuple[int, int]]):
    """The bytes copied and the sizes of unfinished copies; when it is `stopped`, they end."""

    stopped = False

    def check(self, count: int = 0) -> None:
        if self.stopped:
            raise KeyboardInterrupt

    def reporting(self, source: str, expected: int) -> Callable[[int], None]:
        """Return a function that takes the number of bytes of one copy."""

        def report(count: int) -> None:
            self.check()
            self[source] = count, expected

        return report


def _is_note(path: str) -> bool:
    return path.endswith((MANIFEST, SLOTS))


def _wait(jobs: dict[Future[tuple[int, bool]], str], under_way: _UnderWay, shown: Progress) -> None:
    """Show the progress of copies until all are done."""
    while jobs:
        for job in wait(jobs, _GLANCE, FIRST_COMPLETED).done:
            size, kept = job.result()
            under_way.pop(jobs.pop(job), None)
            shown.running(*_state(under_way))
            shown.step(0, size, kept=kept)
        shown.running(*_state(under_way))
        shown.tell()


def _state(under_way: _UnderWay) -> tuple[int, int, float]:
    """Return rows (none), bytes, and the unfinished copies' total in files."""
    states = list(under_way.values())
    return 0, sum(done for done, _ in states), sum(min(done / max(size, 1), 0.99) for done, size in states)


def _is_there(source: str, target: str, under_way: _UnderWay) -> bool | None:
    """Return whether a target has the content of its source; None if it does not exist."""
    if not storage.exists(target):
        return None
    if storage.size(target) != _size(source):
        return False
    return storage.digest(target, under_way.check) == storage.digest(source, under_way.check)


def _clear(there: list[bool | None], paths: list[str], targets: list[str]) -> set[str]:
    """Remove old shards that would mix with the new ones and return the targets that can stay."""
    sets = {
        to.prefix: of.prefix
        for path, target in zip(paths, targets)
        if (to := shard_of(target)) and (of := shard_of(path))
    }
    for prefix, source in sets.items():
        new = listed_shards(source)
        for name, entry in listed_shards(prefix).items():
            path = storage.join(storage.parent(prefix), name)
            if path not in targets and not ("sha256" in entry and entry == new.get(name)):
                storage.remove(path)
    for same, target in zip(there, targets):
        if same is False and shard_of(target):
            storage.remove(target)
    return {target for same, target in zip(there, targets) if same}


def _copy_one(source: str, target: str, kept: bool, under_way: _UnderWay) -> tuple[int, bool]:
    expected = _size(source)
    if kept:
        return expected, True

    report = under_way.reporting(source, expected)
    disk = storage.on_disk(target)
    if disk is not None and expected > resuming.CHECKPOINT:
        size, digest = resuming.copy_to_disk(source, disk, report)
    elif expected > uploading.PART and uploading.is_s3(target):
        size, digest = uploading.copy_to_s3(source, target, expected, report)
    else:
        size, digest = _copy_whole(source, target, report)
    if storage.digest(target, under_way.check) != (size, digest):
        storage.remove(target)
        raise ConversionError(f"{target}: the data read back differs from {source}; it was removed")
    if is_url(target) and not _is_note(target):
        _put_index(source, target)
    return size, False


def _put_index(source: str, target: str) -> None:
    """Put the index of RecordIO beside its copy in a store; other files have none."""
    with contextlib.suppress(RecordIOError):
        put_index(target, open_index(source))


def _size(source: str) -> int:
    """Return the size of a file; 0 if its server does not report it."""
    try:
        return storage.size(source)
    except TypeError:
        return 0


def _copy_whole(source: str, target: str, report: Callable[[int], object]) -> tuple[int, str]:
    found: Any = hashlib.sha256()
    with storage.writing(target) as out:
        size = storage.copy_file(source, out, found, _Meter(report))
    return size, found.hexdigest()


class _Meter:
    """Has the interface of a hash and counts the bytes."""

    def __init__(self, report: Callable[[int], object]) -> None:
        self._report, self._count = report, 0

    def update(self, data: bytes) -> None:
        self._count += len(data)
        self._report(self._count)
