"""Write a shard set: it becomes visible only when complete, and nothing of an older set remains beside it.

Shards are written into a hidden folder. When all are complete, the old set is removed, then the manifest and the shards
are renamed into place: a process killed in between leaves an incomplete set, which is refused, never a mixed one. A
store gets each shard as soon as it is complete, after the old set is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fluidio.conversion import storage
from fluidio.errors import ConversionError
from fluidio.recordio.files import schema
from fluidio.recordio.files.notes import MANIFEST, read_manifest
from fluidio.recordio.files.part_files import claimed, temporary_folder
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.shard_sets import shard_name, shard_of
from fluidio.recordio.files.sidecar import open_index, put_index, sidecar_path
from fluidio.recordio.files.source import is_url

__all__ = [
    "NewSet",
    "listed_shards",
    "making",
    "named_prefix",
    "refuse_strangers",
    "remove_set",
    "shard_entry",
    "shards_there",
    "sole_maker",
    "sole_makers",
    "write_manifest",
]

FORMAT = "fluidio-manifest-1"


def named_prefix(output: str, source: str) -> str:
    """Return an output prefix; a folder (`OUT/`) gets the name of a source, without its extension."""
    if not output.endswith(("/", os.sep)):
        return output
    name = storage.name_of(source.rstrip("/" + os.sep))
    shard = shard_of(name)
    return storage.join(output, shard.prefix if shard else name.partition(".")[0] or "data")


class NewSet:
    """The shards of one set: write `staged[i]`, call `placed(i)`, and `finish` at the end."""

    def __init__(self, output: str, count: int, folder: str) -> None:
        self.output = output
        self.targets = [shard_name(output, index, count) for index in range(count)]
        self.staged = [os.path.join(folder, storage.name_of(target)) for target in self.targets]
        self._remote = is_url(output)
        self._sent: list[str] = []
        self._sizes: dict[str, int] = {}

    def placed(self, index: int) -> None:
        """Send a complete shard to its store; on a disk it waits for the others."""
        self._sizes[self.targets[index]] = os.path.getsize(self.staged[index])
        if not self._remote:
            return
        if not self._sent:
            remove_set(self.output)
        self._sent.append(self.targets[index])
        with storage.opened(self.targets[index], "wb") as out:
            storage.copy_file(self.staged[index], out)
        put_index(self.targets[index], open_index(self.staged[index]))
        os.unlink(self.staged[index])

    def take_back(self) -> None:
        """Remove the shards already sent of a set that will not be finished."""
        for target in self._sent:
            storage.remove(target)
            storage.remove(sidecar_path(target))

    def finish(self, counts: Sequence[int], slots: Sequence[Field] | None) -> None:
        """Replace the old set with the new one, whose shards have so many records."""
        if not self._remote:
            for path in self.staged:
                _sync(path)
            remove_set(self.output)
        shards = [shard_entry(path, count, self._sizes[path]) for path, count in zip(self.targets, counts)]
        noted = schema.to_json(slots or [])
        write_manifest(self.output, {"records": sum(counts), "slots": noted, "shards": shards})
        if not self._remote:
            for path, target in zip(self.staged, self.targets):
                os.replace(path, target)


@contextlib.contextmanager
def making(output: str, count: int) -> Iterator[NewSet]:
    """Yield a new set `output-00000-of-...` to write; an error leaves the old one unchanged.

    Raises:
        ConversionError: another process is writing it, or there are shards of another set that no manifest lists.
    """
    folder = storage.parent(output)
    storage.make_folder(folder)
    storage.tidy(folder)
    with sole_maker(output):
        _refuse_strangers(output, count)
        with temporary_folder(tempfile.gettempdir() if is_url(output) else folder) as staging, storage.naming(output):
            new = NewSet(output, count, staging)
            try:
                yield new
            except BaseException:
                new.take_back()
                raise


@contextlib.contextmanager
def sole_maker(output: str) -> Iterator[None]:
    """Lock a set for writing by this process for the duration of a block; a store has no locks."""
    if is_url(output):
        yield
        return
    with claimed(output) as ours:
        if not ours:
            raise ConversionError(
                f"{output}: another process is making this set: wait for it, or choose another output"
            )
        yield


@contextlib.contextmanager
def sole_makers(targets: Iterable[str]) -> Iterator[None]:
    """Lock the sets of some shards for writing by this process for the duration of a block."""
    with contextlib.ExitStack() as stack:
        for prefix in sorted({shard.prefix for target in targets if (shard := shard_of(target))}):
            stack.enter_context(sole_maker(prefix))
        yield


def refuse_strangers(targets: Iterable[str]) -> None:
    """Refuse to put shards beside unlisted ones of a different count, which may be a user's data."""
    for prefix, suffix, last in {(s.prefix, s.suffix, s.last) for s in map(shard_of, targets) if s}:
        _refuse_strangers(prefix, last + 1, suffix)


def _refuse_strangers(output: str, count: int, suffix: str = "") -> None:
    """Refuse to write beside unlisted shards of a different count, which may be a user's data."""
    listed = set(listed_shards(output))
    last = f"-of-{count - 1:05d}{suffix}"
    strangers = [name for name in shards_there(output, suffix) if name not in listed and not name.endswith(last)]
    if strangers:
        raise ConversionError(
            f"{output}: {len(strangers)} shards of another set are there, e.g. {strangers[0]}, and no manifest lists "
            "them: remove them or choose another output"
        )


def shards_there(output: str, suffix: str = "") -> list[str]:
    """Return the names of all files named like shards of a prefix."""
    name = storage.name_of(output)
    try:
        found = storage.files_in(storage.parent(output))
    except FileNotFoundError:  # stores have no empty folders
        return []
    return [file for file in found if (shard := shard_of(file)) and (shard.prefix, shard.suffix) == (name, suffix)]


def listed_shards(output: str) -> list[str]:
    """Return the names in a manifest that are shards of its own prefix."""
    manifest = read_manifest(output) or {}
    names = [str(shard.get("name", "")) for shard in manifest.get("shards", []) if isinstance(shard, dict)]
    return [name for name in names if (shard := shard_of(name)) and shard.prefix == storage.name_of(output)]


def remove_set(output: str, *, everything: bool = False) -> None:
    """Remove the shards that the manifest of a prefix lists (or all that are called so), and the manifest."""
    names = {*listed_shards(output), *(shards_there(output) if everything else ())}
    for name in sorted(names):
        path = storage.join(storage.parent(output), name)
        storage.remove(path)
        storage.remove(sidecar_path(path))
    storage.remove(output + MANIFEST)  # last: until then it identifies the owner of the shards


def shard_entry(path: str, records: int, size: int) -> dict[str, Any]:
    """Return what a manifest says of a shard: readers compare the bytes, `fluidio check` the records as well."""
    return {"name": storage.name_of(path), "records": records, "bytes": size}


def write_manifest(output: str, manifest: dict[str, Any], staging: str | None = None) -> None:
    """Put a manifest beside the shards of an output prefix."""
    with storage.writing(output + MANIFEST, staging) as file:
        file.write((json.dumps({"format": FORMAT, **manifest}, indent=1) + "\n").encode())


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
