"""Put new files into place together with the descriptions beside them: manifests and slots."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from fluidio.conversion import storage
from fluidio.conversion.new_set import listed_shards, refuse_strangers, shard_entry, sole_makers, write_manifest
from fluidio.flow.processes import uninterrupted
from fluidio.recordio.files import schema
from fluidio.recordio.files.notes import MANIFEST, SLOTS
from fluidio.recordio.files.part_files import temporary_folder
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.shard_sets import shard_of
from fluidio.recordio.files.source import is_url

__all__ = ["notes_beside", "place", "staging"]


@contextlib.contextmanager
def staging(targets: Sequence[str]) -> Iterator[list[str]]:
    """Yield where to write new files that `place` puts into place together: in a hidden folder beside their targets.

    A store gets each file as soon as it is complete; older shards of the same names are removed before.

    Raises:
        ConversionError: another process is making such a set, or there are shards of another one that no manifest
            lists.
    """
    with sole_makers(targets):
        refuse_strangers(targets)
        if not targets or is_url(targets[0]):
            _remove_shards(targets)
            yield list(targets)
            return
        with temporary_folder(storage.parent(targets[0])) as folder:
            yield [os.path.join(folder, storage.name_of(target)) for target in targets]


def place(staged: Sequence[str], targets: Sequence[str], counts: Sequence[int], slots: Sequence[Field] | None) -> None:
    """Put complete files into place, with the manifests of shards and the slots of all of them beside them.

    Shards of the same format that an earlier manifest lists are removed first, so that a killed process leaves an
    incomplete set, never a mixed one. Everything is written before, so that a full disk leaves what was there.
    """
    moves = {path: target for path, target in zip(staged, targets) if path != target}
    room = storage.parent(staged[0]) if moves else None
    sets: dict[str, list[dict[str, Any]]] = {}
    for path, target, count in zip(staged, targets, counts):
        shard = shard_of(target)
        if shard is not None:
            digest = storage.digest(path) if room is not None else (storage.size(path), None)
            sets.setdefault(shard.prefix, []).append(shard_entry(target, count, digest))
    older = [path for prefix, shards in sets.items() for path in _older(prefix, [shard["name"] for shard in shards])]
    moves = {**_describe(sets, targets, slots, room), **moves}
    with uninterrupted():
        if room is not None:
            _remove_shards(targets)
        for path in older:
            storage.remove(path)
        for path, target in moves.items():
            os.replace(path, target)


def _describe(
    sets: dict[str, list[dict[str, Any]]], targets: Sequence[str], slots: Sequence[Field] | None, room: str | None
) -> dict[str, str]:
    """Write manifests and slots, into the folder `room` if there is one, and return where to move them from there."""
    noted = schema.to_json(slots or [])
    moves: dict[str, str] = {}

    def where(path: str) -> str:
        return path if room is None else storage.join(room, storage.name_of(path))

    for prefix, shards in sets.items():
        manifest = {"records": sum(shard["records"] for shard in shards), "slots": noted}
        others = _others(prefix, [shard["name"] for shard in shards])
        write_manifest(where(prefix), {**manifest, "shards": shards + others})
        moves[where(prefix) + MANIFEST] = prefix + MANIFEST
    for folder in {storage.parent(path) for path in targets} if slots else ():
        path = storage.join(folder, SLOTS)
        storage.write(where(path), json.dumps(noted, indent=1).encode())
        moves[where(path)] = path
    return moves if room is not None else {}


def _remove_shards(targets: Sequence[str]) -> None:
    for target in targets:
        if shard_of(target) is not None:
            storage.remove(target)


def _others(prefix: str, names: list[str]) -> list[dict[str, Any]]:
    """Return a manifest's entries in formats other than that of some shards."""
    made = _suffixes(names)
    return [
        entry for name, entry in listed_shards(prefix).items() if name not in names and not _suffixes([name]) & made
    ]


def _older(prefix: str, names: list[str]) -> list[str]:
    """Return the files of a manifest in the format of some shards that are not among them."""
    made = _suffixes(names)
    older = [name for name in listed_shards(prefix) if name not in names and _suffixes([name]) & made]
    return [storage.join(storage.parent(prefix), name) for name in older]


def _suffixes(names: list[str]) -> set[str]:
    return {shard.suffix for shard in map(shard_of, names) if shard is not None}


def notes_beside(paths: Sequence[str]) -> list[str]:
    """Return the manifests and slot lists beside some files."""
    found: dict[str, None] = {}
    for path in paths:
        shard = shard_of(path)
        found[shard.prefix + MANIFEST if shard else storage.join(storage.parent(path), SLOTS)] = None
    return [path for path in found if path not in paths and storage.exists(path)]
