"""Write a shard set: it becomes visible only when complete, and nothing of an older set remains beside it.

Shards are written into a hidden folder. When all are complete, the old set is removed, then the manifest and the shards
are renamed into place: a process killed in between leaves an incomplete set, which is refused, never a mixed one. A
store gets each shard as soon as it is complete: under its own name, or a hidden one if it will replace a set.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fluidio.conversion import storage
from fluidio.errors import ConversionError
from fluidio.flow.processes import uninterrupted
from fluidio.recordio.files import schema
from fluidio.recordio.files.index import ChunkIndex
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
        self._folder = folder
        self._sent: dict[str, str] = {}
        self._digests: dict[str, tuple[int, str]] = {}
        self._indexes: dict[str, ChunkIndex] = {}
        self._remote = is_url(output)
        self._replaces = self._remote and bool(shards_there(output))  # maybe what the new set is made of

    def placed(self, index: int) -> None:
        """Send a complete shard to its store; on a disk it waits for the others."""
        staged, target = self.staged[index], self.targets[index]
        self._digests[target] = storage.digest(staged)
        if not self._remote:
            return
        self._indexes[target] = open_index(staged)
        self._sent[target] = _waiting(target) if self._replaces else target
        with storage.opened(self._sent[target], "wb") as out:
            storage.copy_file(staged, out)
        if not self._replaces:
            put_index(target, self._indexes[target])
        os.unlink(staged)

    def take_back(self) -> None:
        """Remove the shards already sent of a set that will not be finished."""
        for path in self._sent.values():
            storage.remove(path)
            storage.remove(sidecar_path(path))

    def finish(self, counts: Sequence[int], slots: Sequence[Field] | None) -> None:
        """Replace the old set with the new one; `records` gives the number of each shard."""
        shards = [shard_entry(path, count, self._digests[path]) for path, count in zip(self.targets, counts)]
        manifest = {"records": sum(counts), "slots": schema.to_json(slots or []), "shards": shards}
        if self._remote:
            remove_set(self.output)
            write_manifest(self.output, manifest)
            self._move()
            return
        for path in self.staged:
            _sync(path)
        noted = os.path.join(self._folder, storage.name_of(self.output))
        write_manifest(noted, manifest)  # find out about a full disk before the old set is gone
        with uninterrupted():
            remove_set(self.output)
            for path, target in zip([noted + MANIFEST, *self.staged], [self.output + MANIFEST, *self.targets]):
                os.replace(path, target)

    def _move(self) -> None:
        """Give shards in a store their names."""
        for target, path in list(self._sent.items()):
            if path != target:
                storage.move(path, target)
                self._sent[target] = target
                put_index(target, self._indexes[target])


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
                f"{output}: another process is writing this set: wait for it, or choose another output"
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
            f"{output}: there are already {len(strangers)} shards of another set, for example {strangers[0]}, "
            "that no manifest lists: remove them or choose another output"
        )


def shards_there(output: str, suffix: str = "") -> list[str]:
    """Return the names of all files named like shards of a prefix."""
    name = storage.name_of(output)
    try:
        found = storage.files_in(storage.parent(output))
    except FileNotFoundError:  # stores have no empty folders
        return []
    return [file for file in found if (shard := shard_of(file)) and (shard.prefix, shard.suffix) == (name, suffix)]


def listed_shards(output: str) -> dict[str, dict[str, Any]]:
    """Return a manifest's entries for shards of its own prefix, by name."""
    entries = [entry for entry in (read_manifest(output) or {}).get("shards", []) if isinstance(entry, dict)]
    named = {str(entry.get("name", "")): entry for entry in entries}
    ours = storage.name_of(output)
    return {name: entry for name, entry in named.items() if (shard := shard_of(name)) and shard.prefix == ours}


def remove_set(output: str, *, everything: bool = False) -> None:
    """Remove the shards that the manifest of a prefix lists (or all that are called so), and the manifest."""
    names = {*listed_shards(output), *(shards_there(output) if everything else ())}
    for name in sorted(names):
        path = storage.join(storage.parent(output), name)
        storage.remove(path)
        storage.remove(sidecar_path(path))
    storage.remove(output + MANIFEST)  # last: until then it identifies the owner of the shards


def shard_entry(path: str, records: int, digest: tuple[int, str | None]) -> dict[str, Any]:
    """Return a shard's entry for a manifest: readers compare the bytes, `fluidio check` everything."""
    size, sha256 = digest
    entry = {"name": storage.name_of(path), "records": records, "bytes": size}
    return entry if sha256 is None else {**entry, "sha256": sha256}


def _waiting(target: str) -> str:
    """Return the hidden name of a shard in a store that waits for the others."""
    return storage.join(storage.parent(target), f".{storage.name_of(target)}.waiting-{secrets.token_hex(4)}")


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
